import { execSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { type Profile, readProfiles } from './profiles.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The address of the service when no option, variable or profile gives one. */
export const DEFAULT_URL = 'http://127.0.0.1:8080'

/** The longest time, in ms, that the `tokenCommand` of a profile can take to print a token: some such commands ask a person first. */
const TOKEN_PATIENCE = 60_000

/** The options that say which service a command talks to. */
export interface AddressOptions {
  readonly url?: string
  /** The name of a profile: an address and a token that `aps login` has saved. */
  readonly at?: string
}

/** The address of a service, and the token for it. */
export interface Address {
  readonly url: string
  /** The profile that gave the address; left out where none did. */
  readonly profile?: Profile
  /** Finds the token; `''` for none. @throws CliError */
  token (): string
}

/**
 * Finds the address of the service. Options come before environment variables, these before profiles (what `aps login` has saved), and these
 * before the file `.env` of the folder, which also configures the service there. The token of a profile is sent only to the address of that
 * profile.
 * @throws CliError for the name of a profile that does not exist
 */
export function addressOf ({ url, at: profile }: AddressOptions, environment: Environment): Address {
  if (url !== undefined && profile !== undefined) throw usageError('--url and --at both say where the service is: give one of them')
  const ofVariable = () => environment['APS_TOKEN'] ?? ''
  const said = url ?? (profile === undefined ? environment['APS_URL'] || undefined : undefined)
  if (said !== undefined) return { url: said, token: ofVariable }
  const profiles = readProfiles(environment)
  const name = profile ?? (environment['APS_PROFILE'] || profiles.current)
  if (name === undefined) return addressHere(environment)
  const chosen = profiles.named.get(name)
  if (chosen === undefined) {
    const known = [...profiles.named.keys()]
    throw usageError(`there is no profile "${name}"${known.length === 0 ? '; aps login makes one' : `: expected one of ${known.join(', ')}`}`)
  }
  // The token of a profile that an option names comes before `APS_TOKEN`, which may be for another service.
  const token = profile === undefined ? () => ofVariable() || tokenOf(chosen, environment) : () => tokenOf(chosen, environment) || ofVariable()
  return { url: chosen.url || DEFAULT_URL, profile: chosen, token }
}

/**
 * The address by the file `.env` of the folder: its `APS_URL`, or this machine with the `PORT` of the service. Anybody can have written a folder's
 * file, so the user's own token goes to this machine only, and to another one only the token that stands in the file.
 */
function addressHere (environment: Environment): Address {
  const { APS_URL: url, APS_TOKEN: token, PORT: port = '' } = parseEnv(readHere('.env'))
  if (url) return { url, token: () => token ?? '' }
  const isPort = /^\d{1,5}$/.test(port) && Number(port) > 0
  return { url: isPort ? `http://127.0.0.1:${port}` : DEFAULT_URL, token: () => environment['APS_TOKEN'] ?? token ?? '' }
}

function readHere (file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : ''
  } catch (error) {
    throw usageError(`${file} cannot be read: ${(error as Error).message}`)
  }
}

/** The token of a profile; `''` for none. @throws CliError when the command that prints it fails */
export function tokenOf ({ token = '', tokenCommand }: Profile, environment: Environment): string {
  if (tokenCommand === undefined) return token
  try {
    return execSync(tokenCommand, { encoding: 'utf8', env: environment, stdio: ['ignore', 'pipe', 'inherit'], timeout: TOKEN_PATIENCE }).trim()
  } catch {
    throw new CliError(EXIT.TOKEN, 'the profile\'s tokenCommand has failed')
  }
}
