import { execSync } from 'node:child_process'
import { CliError, EXIT, usageError } from '../exit-codes.ts'
import { type Profile, readProfiles } from './profiles.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The address of the service when none is given. */
export const DEFAULT_URL = 'http://127.0.0.1:8080'

/** How long a command may take to print a token, in ms: some ask a person first. */
const TOKEN_PATIENCE = 60_000

/** Options that say which service is meant. */
export interface AddressOptions {
  readonly url?: string
  /** The name of a profile. */
  readonly at?: string
}

/** A service, and how it is asked. */
export interface Address {
  readonly url: string
  /** Whether an option, a variable or a profile gave the address. */
  readonly isGiven: boolean
  /** The profile that gave the address; left out where none did. */
  readonly profile?: Profile
  /** Finds the token; `''` for none. @throws CliError */
  token (): string
}

/**
 * The address of the service: options go before variables, variables before the user's own file. A profile's token goes to its own address only.
 * @throws CliError for a profile that is not there
 */
export function addressOf ({ url, at: profile }: AddressOptions, environment: Environment): Address {
  if (url !== undefined && profile !== undefined) throw usageError('--url and --at both say where the service is: give one of them')
  const ofVariable = () => environment['APS_TOKEN'] ?? ''
  const said = url ?? (profile === undefined ? environment['APS_URL'] || undefined : undefined)
  if (said !== undefined) return { url: said, isGiven: true, token: ofVariable }
  const profiles = readProfiles(environment)
  const name = profile ?? (environment['APS_PROFILE'] || profiles.current)
  if (name === undefined) return { url: DEFAULT_URL, isGiven: false, token: ofVariable }
  const chosen = profiles.named.get(name)
  if (chosen === undefined) {
    const known = [...profiles.named.keys()]
    throw usageError(`there is no profile "${name}"${known.length === 0 ? '; aps login makes one' : `: expected one of ${known.join(', ')}`}`)
  }
  // The token of a profile named by an option goes before `APS_TOKEN`, which may be the token of another service.
  const token = profile === undefined ? () => ofVariable() || tokenOf(chosen) : () => tokenOf(chosen) || ofVariable()
  return { url: chosen.url || DEFAULT_URL, isGiven: true, profile: chosen, token }
}

/** The token of a profile; `''` for none. @throws CliError when its command fails */
export function tokenOf ({ token = '', tokenCommand }: Profile): string {
  if (tokenCommand === undefined) return token
  try {
    return execSync(tokenCommand, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], timeout: TOKEN_PATIENCE }).trim()
  } catch {
    throw new CliError(EXIT.TOKEN, 'the profile\'s tokenCommand has failed')
  }
}
