import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Log } from '../runtime/telemetry.ts'
import { isLabel, LATEST } from '../registry/kinds/release-record.ts'
import { type Caller, type CallerLimits, impliedRoles, isRole, NamePatterns, type Role, ROLES } from './caller.ts'

/** In ms; a token that is removed from the file is refused within about that time. */
const INTERVAL = 1000

/** A bad file keeps what was read last, to lock nobody out. Read by time: watchers miss Kubernetes' links, mtimes quick changes. */
export class FollowedFile<T> {
  readonly #path: string
  readonly #words: FollowedWords
  readonly #parse: (text: string) => T
  readonly #log: Log
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #text: string
  #value: T
  #problem: string | undefined

  /** @throws Error when the file cannot be used; its message gives the reason and quotes no hash */
  static async open<T> (path: string, words: FollowedWords, parse: (text: string) => T, log: Log): Promise<FollowedFile<T>> {
    const text = await readFile(path, 'utf8')
    return new FollowedFile(path, words, parse, log, text)
  }

  private constructor (path: string, words: FollowedWords, parse: (text: string) => T, log: Log, text: string) {
    this.#path = path
    this.#words = words
    this.#parse = parse
    this.#log = log
    this.#text = text
    this.#value = parse(text)
    this.#schedule()
  }

  get value (): T {
    return this.#value
  }

  async refresh (): Promise<void> {
    const { variable, what } = this.#words
    try {
      const text = await readFile(this.#path, 'utf8')
      if (text !== this.#text) {
        this.#value = this.#parse(text)
        this.#text = text
        this.#log.info({}, `${variable} has changed: its ${what} are in force`)
      } else if (this.#problem !== undefined) {
        this.#log.info({}, `${variable} is as it was before`)
      }
      this.#problem = undefined
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#problem) {
        this.#log.error({ reason: message }, `${variable} cannot be used: the ${what} of before stay in force, and those that it should revoke`)
      }
      this.#problem = message
    }
  }

  close (): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** Only after the last read has ended, so that reads never overlap on a slow disk. */
  #schedule (): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => { void this.refresh().then(() => { this.#schedule() }) }, INTERVAL).unref()
  }
}

interface FollowedWords {
  readonly variable: string
  /** In the plural. */
  readonly what: string
}

/** An empty file is refused: it is more likely half written than meant to lock everybody out. */
export function parseTokenFile (text: string, defaults: CallerLimits): TokenHolders {
  if (text.trim() === '') throw new Error('expected at least one token, and the file is empty')
  return parseTokens(text, defaults)
}

export interface TokenHolders {
  findCaller (token: string): Caller | undefined
  /** Of several tokens with one name the last one counts. */
  callerNamed (name: string): Caller | undefined
  names (): readonly string[]
}

/** For sessions, which keep only the name of their owner, and run on when no request brings a token. */
export interface Owners extends Pick<TokenHolders, 'callerNamed' | 'names'> {
  /** Asks the store once more, for an owner whom perhaps another process has met. */
  seek? (name: string): Promise<Caller | undefined>
  /** Called before the first session runs. */
  attach? (store: OwnerStore): Promise<void>
}

/** Where sessions are kept: what is known of owners who have no line in a file. */
export interface OwnerStore {
  /** `undefined` forgets the owner. */
  keepOwner (name: string, text: string | undefined): Promise<void>
  keptOwners (): Promise<ReadonlyMap<string, string>>
}

export type Extra = 'prompts' | 'environs' | 'runs' | 'targets' | 'labels' | 'serve' | 'requests' | 'tokens' | 'running'

/** Plain tokens do not belong in `API_TOKENS`: the line with the hash, which `aps token` prints below the token, does. */
const TOKEN = /^aps_[\w-]{16,}/

/** In characters; a longer text may be a secret that was put in the wrong place. */
const LONGEST_SHOWN = 16

export const EXTRAS: readonly Extra[] = ['prompts', 'environs', 'runs', 'targets', 'labels', 'serve', 'requests', 'tokens', 'running']

/**
 * Reads `API_TOKENS`: one token a line, or several separated by commas. Each is `name:role+role:sha256`, followed, without a space, by
 * `[:prompts=pattern|pattern][:environs=pattern|pattern][:runs=pattern|pattern]`
 * `[:targets=pattern|pattern][:labels=label|label][:serve=label][:requests=600][:tokens=100000][:running=8]`. Two entries may have the same name, so that
 * a token can be replaced while both are in use.
 * @param defaults the limits of callers whose tokens name none of their own
 * @throws Error that names the entry and what was expected, and quotes neither a hash nor a text that may be a token
 */
export function parseTokens (text: string, defaults: CallerLimits): TokenHolders {
  const callers = new Map<string, Caller>()
  const names = new Map<string, Caller>()
  for (const [index, line] of text.split(/[\s,]+/).filter(line => line !== '').entries()) {
    const { digest, caller } = parseLine(line, index + 1, defaults)
    if (callers.has(digest)) throw new Error(`entry ${index + 1} has the hash of another entry`)
    callers.set(digest, caller)
    names.set(caller.name, caller)
  }
  // Timing depends on the presented token's hash, which no attacker can choose digit by digit, so it reveals nothing.
  return { findCaller: token => callers.get(hashToken(token)), callerNamed: name => names.get(name), names: () => [...names.keys()] }
}

/** A fast hash is safe here, because tokens are random, have 256 bits, and cannot be guessed. */
export function hashToken (token: string): string {
  return hash('sha256', token, 'hex')
}

function parseLine (line: string, number: number, defaults: CallerLimits): { digest: string, caller: Caller } {
  const [name = '', roleNames = '', digest = '', ...extras] = line.split(':')
  const isShown = name.length <= LONGEST_SHOWN && isName(name) && !name.startsWith('aps_')
  const fail = (reason: string): never => { throw new Error(`entry ${number}${isShown ? ` ("${name}")` : ''}: ${reason}`) }
  if (TOKEN.test(name)) fail('this is a token, which is for its caller; the line that npx ai-prompt-shell token prints below it is meant')
  if (!isName(name)) fail('expected a name of letters, digits, ".", "_" and "-" before the first ":"')
  const { given, ...rights } = parseRights(roleNames, extras, defaults, fail)
  if (!/^[0-9a-f]{64}$/i.test(digest)) fail('expected the SHA-256 of the token in 64 hex digits; npx ai-prompt-shell token makes one')
  return { digest: digest.toLowerCase(), caller: { name, facts: { name, roles: given }, ...rights } }
}

/** What a caller may do, whoever it is. */
export interface Rights extends Omit<Caller, 'name' | 'facts'> {
  /** As they are written, sorted. */
  readonly given: Role[]
}

/** @param extras such as `prompts=team.*` */
export function parseRights (roleNames: string, extras: readonly string[], defaults: CallerLimits, fail: (reason: string) => never): Rights {
  const roles = roleNames.split('+')
  if (!roles.every(isRole)) return fail(`expected roles out of ${ROLES.join(', ')}, joined by "+"`)
  const given = parseExtras(extras, fail)
  const patterns = (extra: 'prompts' | 'environs' | 'runs' | 'targets') => {
    try {
      return given[extra] === undefined ? undefined : new NamePatterns(given[extra].split('|'))
    } catch (error) {
      return fail((error as Error).message)
    }
  }
  const count = (extra: 'requests' | 'tokens' | 'running') => {
    const what = extra === 'running' ? 'of sessions' : 'a minute'
    if (given[extra] !== undefined && !/^[1-9]\d{0,11}$/.test(given[extra])) fail(`expected ${extra}= with a number ${what}, 1 or more`)
    return given[extra] === undefined ? defaults[extra] : Number(given[extra])
  }
  const label = (text: string) => isLabel(text) ? text : fail(`labels=: "${text}" is no name of a label`)
  return {
    given: [...new Set(roles)].sort(),
    roles: impliedRoles(roles),
    prompts: patterns('prompts'),
    environs: patterns('environs'),
    runs: patterns('runs'),
    targets: patterns('targets'),
    labels: given.labels === undefined ? undefined : new Set(given.labels.split('|').map(label)),
    serve: given.serve === undefined || isLabel(given.serve) || given.serve === LATEST ? given.serve : fail(`serve=: "${given.serve}" is no name of a label`),
    limits: { requests: count('requests'), tokens: count('tokens'), running: count('running') }
  }
}

function isName (text: string): boolean {
  return /^[\w.-]{1,64}$/.test(text)
}

function parseExtras (extras: readonly string[], fail: (reason: string) => never): Partial<Record<Extra, string>> {
  const given: Partial<Record<Extra, string>> = {}
  for (const extra of extras) {
    const [, key = '', value = ''] = /^([a-z]+)=(.+)$/.exec(extra) ?? []
    if (!EXTRAS.some(each => each === key)) fail(`expected ${EXTRAS.map(each => `${each}=`).join(', ')}, got another word`)
    if (Object.hasOwn(given, key)) fail(`${key}= is there twice`)
    given[key as Extra] = value
  }
  return given
}
