import { type IncomingHttpHeaders } from 'node:http'

/**
 * How long a model API asks to wait, in ms: by `retry-after-ms` (Azure and OpenAI), otherwise by `Retry-After` in seconds or as a date (RFC 9110,
 * 10.2.3). `undefined` when neither header exists and can be read.
 * @param now the clock, in ms since 1970
 */
export function parseRetryAfter (headers: IncomingHttpHeaders, now: number): number | undefined {
  const milliseconds = decimal(headers['retry-after-ms'])
  if (milliseconds !== undefined) return Math.ceil(milliseconds)
  const seconds = decimal(headers['retry-after'])
  if (seconds !== undefined) return Math.ceil(seconds * 1000)
  const date = Date.parse(headers['retry-after'] ?? '')
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function decimal (text: string | string[] | undefined): number | undefined {
  return typeof text === 'string' && /^\s*\d{1,12}(\.\d{1,6})?\s*$/.test(text) ? Number(text) : undefined
}
