import { execSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { ROLES } from '../access/caller.ts'
import { type Extra, EXTRAS, hashToken, parseTokens } from '../access/token-table.ts'
import { type JsonObject, objectOf, parseJson, textOf } from '../base/json.ts'
import type { Environment } from '../base/text.ts'
import { yamlToJson } from '../store/decode-value.ts'
import type { Cli } from './context.ts'
import { CliError, EXIT, usageError } from './output.ts'

interface Profile {
  readonly url: string
  readonly token?: string
  /** For users who keep it in a password manager. */
  readonly tokenCommand?: string
}

interface Profiles {
  readonly current: string | undefined
  readonly named: ReadonlyMap<string, Profile>
}

const NONE: Profiles = { current: undefined, named: new Map() }

/** `undefined` if no home folder is known. */
function profilesFile ({ XDG_CONFIG_HOME: folder, HOME: home, USERPROFILE: windows }: Environment): string | undefined {
  const above = folder || (home || windows ? join(home || windows || '', '.config') : '')
  return above === '' ? undefined : join(above, 'ai-prompt-shell', 'config.yaml')
}

/** @returns an empty list without a file @throws CliError if it is wrong, or other users of the machine may read it */
function readProfiles (environment: Environment): Profiles {
  const file = profilesFile(environment)
  if (file === undefined) return NONE
  const text = readPrivate(file)
  if (text === undefined || text.trim() === '') return NONE
  const read = yamlToJson(text)
  if (read.kind !== 'text') throw usageError(`${file} ${read.kind === 'bad' ? read.reason : 'is gone'}`)
  const { profile, profiles } = objectOf(parseJson(read.text))
  return {
    current: textOf(profile) === '' ? undefined : textOf(profile),
    named: new Map(Object.entries(objectOf(profiles)).map(([name, value]) => [name, profileIn(objectOf(value))]))
  }
}

async function writeProfile (environment: Environment, name: string, profile: Profile): Promise<string> {
  const file = profilesFile(environment)
  if (file === undefined) throw usageError('there is no home to keep a profile in: set HOME or XDG_CONFIG_HOME')
  const { named } = readProfiles(environment)
  const content = stringify({ profile: name, profiles: Object.fromEntries(new Map([...named, [name, profile]])) })
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}`
  await writeFile(temporary, content, { mode: 0o600 })
  await chmod(temporary, 0o600)
  await rename(temporary, file)
  return file
}

function readPrivate (file: string): string | undefined {
  try {
    const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0
    if (isOpen) throw usageError(`${file} may be read by others, and tokens are in it: chmod 600 ${file}`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw (error as NodeJS.ErrnoException).code === undefined ? error : usageError(`${file} cannot be read: ${(error as Error).message}`)
  }
}

function profileIn ({ url, token, tokenCommand }: JsonObject): Profile {
  return {
    url: textOf(url),
    token: textOf(token) || undefined,
    tokenCommand: textOf(tokenCommand) || undefined
  }
}

export const DEFAULT_URL = 'http://127.0.0.1:8080'

/** In ms; some commands ask a person first. */
const TOKEN_PATIENCE = 60_000

export interface AddressOptions {
  readonly url?: string
  readonly at?: string
}

interface ServiceAddress {
  readonly url: string
  readonly profile?: Profile
  /** `''` for none. @throws CliError */
  token (): string
}

/** Options, environment, profiles, then `.env`. A profile's token goes only to its address. @throws CliError for an unknown profile */
export function addressOf ({ url, at: profile }: AddressOptions, environment: Environment): ServiceAddress {
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

/** Anybody may have written `.env`: the user's token goes to this machine only, to others only the token that `.env` has. */
function addressHere (environment: Environment): ServiceAddress {
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
function tokenOf ({ token = '', tokenCommand }: Profile, environment: Environment): string {
  if (tokenCommand === undefined) return token
  try {
    return execSync(tokenCommand, { encoding: 'utf8', env: environment, stdio: ['ignore', 'pipe', 'inherit'], timeout: TOKEN_PATIENCE }).trim()
  } catch {
    throw new CliError(EXIT.TOKEN, 'the profile\'s tokenCommand has failed')
  }
}

/** Saves a profile once the service has accepted the token. */
export function addLoginCommand (program: Command, cli: Cli): void {
  program.command('login').description('keep the address and the token of a service as a profile, which is asked from then on')
    .option('--token-stdin', 'the token is what stdin has')
    .option('--token-command <command>', 'in place of the token, a command of the shell that prints it')
    .action(async (_options: object, command: Command) => {
      const { output } = cli.open(command)
      const options = command.optsWithGlobals<AddressOptions & { readonly tokenStdin?: true, readonly tokenCommand?: string }>()
      const { url: given, at: name = cli.environment['APS_PROFILE'] || 'default', tokenStdin, tokenCommand } = options
      if (tokenStdin === true && tokenCommand !== undefined) throw usageError('--token-stdin and --token-command both say what the token is: give one of them')
      const url = given ?? (cli.environment['APS_URL'] || readProfiles(cli.environment).named.get(name)?.url || DEFAULT_URL)
      const token = tokenStdin === true ? (await text(addAbortSignal(cli.signal, cli.stdin))).trim() : undefined
      if (token === '') throw usageError('--token-stdin: expected a token, and stdin was empty')
      const profile = { url, token, tokenCommand }
      const caller = await cli.connect(url, tokenOf(profile, cli.environment)).ask('get', '/api/caller', {})
      const file = await writeProfile(cli.environment, name, profile)
      if (output.wantsJson) return await output.json(caller)
      const who = caller.mode === 'open' ? 'which asks for no token' : `as ${caller.name} (${caller.roles.join(', ')})`
      await output.words(`${url} is asked from now on, ${who}; profile "${name}" in ${file}`)
    })
}

export function addStatusCommand (program: Command, cli: Cli): void {
  program.command('status').description('show what a service serves, and what is wrong with what is registered')
    .action(async (_options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const ready = await api.ask('get', '/readyz', {})
      // Needs the role `read`: without it the command ends here with an error.
      const problems = await api.list('/api/status/entries', { limit: '200' })
      if (output.wantsJson) return await output.json({ ...ready, problems })
      await output.words(`${ready.status}: ${ready.store.variant}, changes are ${ready.store.changes}`)
      const kinds = Object.entries(ready.kinds).map(([name, { entries = '', revision = '', held }]) => [name, String(entries), revision, held ? 'held' : ''])
      await output.rows(['kind', 'entries', 'revision', 'state'], kinds)
      for (const { key, cursor, diagnostics } of problems) {
        for (const { severity, code, message, line, column } of diagnostics) {
          await output.words(`${key || cursor}:${line}:${column}: ${severity}: ${message} (${code})`)
        }
      }
    })
}

const LIMITS: Readonly<Record<Extra, string>> = {
  prompts: '<pattern|pattern>',
  environs: '<pattern|pattern>',
  runs: '<pattern|pattern>',
  targets: '<pattern|pattern>',
  labels: '<label|label>',
  serve: '<label>',
  requests: '<count>',
  tokens: '<count>',
  running: '<count>'
}

/** The token is shown once and kept nowhere. */
export function addTokenCommand (program: Command, cli: Cli): void {
  const command = program.command('token').description('make a token, and the line of API_TOKENS by which a service knows it')
    .argument('<role...>', `what its caller may do: ${ROLES.join(', ')}`)
    .option('--name <name>', 'the name of its caller in logs and audits (the roles, where none is given)')
  for (const limit of EXTRAS) command.option(`--${limit} ${LIMITS[limit]}`, `as ${limit}= in API_TOKENS`)
  command.action(async (given: readonly string[], { name, ...limits }: Readonly<Record<string, string>>, used: Command) => {
    const { output } = cli.open(used)
    const roles = given.flatMap(each => each.split(/[+,]/))
    const wrong = [name, ...Object.values(limits)].find(value => value !== undefined && /[\s,:]/.test(value))
    if (wrong !== undefined) throw usageError(`"${wrong}" has a blank, a comma or a colon; several names have "|" between them`)
    const token = `aps_${randomBytes(32).toString('base64url')}`
    const extras = EXTRAS.flatMap(limit => limits[limit] === undefined ? [] : [`${limit}=${limits[limit]}`])
    const line = [name ?? roles.join('-'), roles.join('+'), hashToken(token), ...extras].join(':')
    checkLine(line)
    if (output.wantsJson) return await output.json({ token, line })
    await output.text(`Token, for the caller:\n  ${token}\nLine, for API_TOKENS:\n  ${line}`)
  })
}

/** In the service's words. */
function checkLine (line: string): void {
  try {
    parseTokens(line, { requests: undefined, tokens: undefined })
  } catch (error) {
    throw usageError((error as Error).message.replace(/^entry 1(?: \("[^"]*"\))?: /, ''))
  }
}
