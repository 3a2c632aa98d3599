import { readFileSync } from 'node:fs'
import { type Config, ConfigError } from './config.ts'

/** The shortest allowed secret, in characters. Shorter ones could be guessed. */
const MIN_LENGTH = 32

/**
 * Reads the secrets with which the logs of sessions are sealed (signed), so that nobody else can write to the logs. New seals are made with the
 * first secret. Seals made with a second secret are still accepted, so that the secret can be changed without losing sessions. The list is empty
 * when none is configured.
 * @throws ConfigError that shows no part of the secrets
 */
export function readSessionSecrets ({
  SESSION_SECRET: given,
  SESSION_SECRET_FILE: path
}: Pick<Config, 'SESSION_SECRET' | 'SESSION_SECRET_FILE'>): readonly string[] {
  if (given !== '' && path !== '') throw new ConfigError('SESSION_SECRET and SESSION_SECRET_FILE: expected one of them, got both')
  if (given === '' && path === '') return []
  const name = path === '' ? 'SESSION_SECRET' : 'SESSION_SECRET_FILE'
  const secrets = (path === '' ? given : readFile(path)).split(/[,\s]+/).filter(secret => secret !== '')
  if (secrets.length < 1 || secrets.length > 2) {
    throw new ConfigError(`${name}: expected one secret, or the new one and the old one, got ${secrets.length}`)
  }
  if (secrets.some(secret => secret.length < MIN_LENGTH)) {
    throw new ConfigError(`${name}: expected secrets of at least ${MIN_LENGTH} characters, as openssl rand -hex 32 makes them`)
  }
  return secrets
}

function readFile (path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`SESSION_SECRET_FILE: ${(error as Error).message}`)
  }
}
