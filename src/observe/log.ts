import { pino, type Logger } from 'pino'

/** Places that may hold secrets; pino writes [Redacted] instead. */
const SECRETS = ['req.headers.authorization', 'req.headers.cookie', 'headers.authorization', '*.apiKey', '*.password']

/** The service's log: JSON lines, or readable text on a terminal. */
export function createLog (level: string): Logger {
  const isTerminal = process.stdout.isTTY
  return pino({
    level,
    redact: SECRETS,
    ...(isTerminal ? { transport: { target: 'pino-pretty', options: { translateTime: 'HH:MM:ss.l', ignore: 'pid,hostname' } } } : {})
  })
}
