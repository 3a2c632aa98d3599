import { createLocalJWKSet, errors, type JWK, type JWSHeaderParameters, type JWTPayload, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { identityProviderAway, identityUnlisted, ServiceError, tokenUnknown } from '../base/errors.ts'
import { type Json, type JsonObject, listOf, objectOf, ownField, textIn, textOf } from '../base/json.ts'
import { isSafeAddress } from '../config/config.ts'
import type { IdentityRow } from '../config/operator.ts'
import type { Log } from '../runtime/telemetry.ts'
import { type Caller, type CallerLimits, NamePatterns } from './caller.ts'
import { hashToken, type OwnerStore, parseRights, type Rights } from './token-table.ts'

/**
 * Callers who come with a JWT of an OpenID provider. What they may do is always looked up in the operator's rows as they are now: a row that goes, a key
 * that the provider withdraws, and a token that expires end open connections and running sessions as a token does that is taken out of its file.
 */

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']

/** Clocks may differ by so much, in s. */
const SKEW = 60

/** In characters; common ones have 1 to 3 KiB. */
const MAX_TOKEN = 8192

const [MAX_VERIFIED, MAX_SEEN] = [1000, 10_000]

/** A record that another process has written is known here after so many ms. */
const SHARE_AFTER = 5000

export interface IdentityRights extends Rights, Pick<IdentityRow, 'claim' | 'value'> {}

/** @throws Error that names the row */
export function parseIdentities (rows: readonly IdentityRow[], defaults: CallerLimits): readonly IdentityRights[] {
  if (rows.length === 0) throw new Error('identities: expected at least one row, since without one nobody gets in with a JWT')
  return rows.map(({ claim, value, gives }, index) => {
    const [roles = '', ...extras] = gives.split(':')
    const fail = (reason: string): never => { throw new Error(`identities: row ${index + 1} (${claim} ${JSON.stringify(value)}): ${reason}`) }
    return { claim, value, ...parseRights(roles, extras, defaults, fail) }
  })
}

interface Verified {
  readonly name: string
  readonly claims: JWTPayload
  /** In ms since 1970. */
  readonly until: number
  readonly kid: string | undefined
  /** The provider's keys of that name, when it was verified. */
  readonly keys: string
}

/** What outlasts requests; what the matched rows give is not kept. */
interface Seen {
  /** In the form of `rowName`. */
  readonly rows: readonly string[]
  /** Of the newest token, in s since 1970. */
  readonly issued: number
  /** In ms since 1970, of the token that lasts longest. */
  readonly until: number
}

export interface IdentityOptions {
  readonly issuer: string
  readonly audiences: readonly string[]
  /** In ms. */
  readonly grace: number
  readonly rows: () => readonly IdentityRights[]
  /** The address of what the service tells MCP clients, if it does. */
  readonly metadata: string | undefined
  readonly log: Log
}

export class Identities {
  readonly provider: Provider
  readonly #options: IdentityOptions
  readonly #verified = new LRUCache<string, Verified>({ max: MAX_VERIFIED })
  readonly #seen = new LRUCache<string, Seen>({ max: MAX_SEEN })
  /** Valid for the rows with which they were made. */
  readonly #callers = new WeakMap<Verified | Seen, { readonly rows: readonly IdentityRights[], readonly caller: Caller | undefined }>()
  #store: OwnerStore | undefined
  #timer: NodeJS.Timeout | undefined

  constructor (options: IdentityOptions) {
    this.#options = options
    this.provider = new Provider(options.issuer, options.log)
    void this.provider.load()
  }

  /** @returns who the token's holder is whenever it is called; throws TOKEN_UNKNOWN, IDENTITY_UNLISTED, IDENTITY_PROVIDER_AWAY */
  async verify (token: string): Promise<() => Caller> {
    const place = hashToken(token)
    let verified = this.#verified.get(place)
    if (verified === undefined || !this.#isValid(verified)) {
      try {
        verified = await this.#check(token)
      } catch (error) {
        const refusal = error instanceof ServiceError ? error : tokenUnknown(this.#options.metadata, this.#reasonOf(error))
        return () => { throw refusal }
      }
      this.#verified.set(place, verified)
      await this.#remember(verified)
    }
    const holder = verified
    return () => {
      if (!this.#isValid(holder)) throw tokenUnknown(this.#options.metadata, 'it has expired, or the provider has withdrawn its key')
      const caller = this.#callerOf(holder, holder.name, row => valuesOf(holder.claims as JsonObject, row.claim).includes(row.value))
      if (caller === undefined) throw identityUnlisted(holder.name, [...new Set(this.#options.rows().map(({ claim }) => claim))])
      return caller
    }
  }

  callerNamed (name: string): Caller | undefined {
    const seen = this.#seen.get(name)
    if (seen === undefined || seen.until + this.#options.grace <= Date.now()) return undefined
    return this.#callerOf(seen, name, row => seen.rows.includes(rowName(row)))
  }

  names (): readonly string[] {
    return [...this.#seen.keys()].filter(name => this.callerNamed(name) !== undefined)
  }

  async seek (name: string): Promise<Caller | undefined> {
    if (name.startsWith(`${this.#options.issuer}#`)) await this.#share()
    return this.callerNamed(name)
  }

  async attach (store: OwnerStore): Promise<void> {
    this.#store = store
    this.#timer = setInterval(() => { void this.#share() }, SHARE_AFTER).unref()
    await this.#share()
  }

  close (): void {
    clearInterval(this.#timer)
    this.#store = undefined
    this.provider.close()
  }

  async #check (token: string): Promise<Verified> {
    if (token.length > MAX_TOKEN) throw new errors.JWTInvalid(`it is longer than ${MAX_TOKEN} characters`)
    const { issuer, audiences: audience } = this.#options
    const { payload: claims, protectedHeader: { kid, typ = 'JWT' } } = await jwtVerify(token, this.provider.keyOf, {
      issuer, audience: [...audience], algorithms: ALGORITHMS, clockTolerance: SKEW, requiredClaims: ['exp', 'sub']
    })
    // Logout and event tokens have the same signer: https://www.rfc-editor.org/rfc/rfc8725#section-3.11
    if (!/^(?:application\/)?(?:at\+)?jwt$/i.test(typ)) throw new errors.JWTInvalid(`expected the type JWT or at+jwt, got ${typ.slice(0, 100)}`)
    // It belongs to a key whose possession nobody proves here: https://www.rfc-editor.org/rfc/rfc9449#section-7.1
    if (claims['cnf'] !== undefined) throw new errors.JWTInvalid('it is bound to a key, and not for use as a bearer token')
    const { sub, exp = 0 } = claims
    const isName = typeof sub === 'string' && sub !== '' && sub.length <= 255 && sub.isWellFormed()
    if (!isName) throw new errors.JWTInvalid('expected a subject of 1 to 255 characters')
    // No name of a token has a "/", and no issuer a "#", so no two callers share a name.
    return { name: `${issuer}#${encodeURIComponent(sub)}`, claims, until: (exp + SKEW) * 1000, kid, keys: this.provider.keysNamed(kid) }
  }

  #isValid ({ until, kid, keys }: Verified): boolean {
    return until > Date.now() && this.provider.keysNamed(kid) === keys
  }

  #callerOf (holder: Verified | Seen, name: string, isMatch: (row: IdentityRights) => boolean): Caller | undefined {
    const rows = this.#options.rows()
    const known = this.#callers.get(holder)
    if (known?.rows === rows) return known.caller
    const matching = rows.filter(isMatch)
    const caller = matching.length === 0 ? undefined : unite(name, matching)
    this.#callers.set(holder, { rows, caller })
    return caller
  }

  /** Only of those who can own sessions. */
  async #remember ({ name, claims, until }: Verified): Promise<void> {
    const rows = this.#options.rows().filter(({ claim, value }) => valuesOf(claims as JsonObject, claim).includes(value))
    if (!rows.some(({ roles }) => roles.has('run') || roles.has('terminal'))) return
    const before = this.#seen.get(name)
    const issued = claims.iat ?? 0
    const newest = before !== undefined && before.issued > issued ? before : { rows: rows.map(rowName), issued }
    const seen = { ...newest, until: Math.max(until, before?.until ?? 0) }
    this.#seen.set(name, seen)
    await this.#keep(name, seen)
  }

  async #keep (name: string, seen: Seen | undefined): Promise<void> {
    // A store that is away says so itself, and gets the record with the next look.
    await this.#store?.keepOwner(name, seen && JSON.stringify(seen)).catch(() => {})
  }

  /** Takes what other processes know that is newer, and gives what is newer here. */
  async #share (): Promise<void> {
    const kept = await this.#store?.keptOwners().catch(() => undefined)
    if (kept === undefined) return
    for (const [name, text] of kept) {
      const [theirs, ours] = [JSON.parse(text) as Seen, this.#seen.peek(name)]
      if (theirs.until + this.#options.grace <= Date.now()) await this.#keep(name, undefined)
      else if (ours === undefined || theirs.issued > ours.issued || (theirs.issued === ours.issued && theirs.until > ours.until)) this.#seen.set(name, theirs)
    }
    for (const [name, ours] of this.#seen.entries()) {
      const theirs = kept.get(name)
      if (ours.until + this.#options.grace <= Date.now()) this.#seen.delete(name)
      else if (theirs === undefined || (JSON.parse(theirs) as Seen).until < ours.until) await this.#keep(name, ours)
    }
  }

  #reasonOf (error: unknown): string {
    const { audiences, issuer } = this.#options
    if (error instanceof errors.JWTExpired) return 'it has expired'
    if (error instanceof errors.JWTClaimValidationFailed) {
      if (error.claim === 'aud') return `expected the audience ${audiences.join(' or ')}`
      if (error.claim === 'iss') return `expected the issuer ${issuer}`
    }
    if (error instanceof errors.JOSEAlgNotAllowed) return `expected the algorithm ${ALGORITHMS.join(', ')}`
    if (error instanceof errors.JWKSNoMatchingKey) return 'it is signed by none of the provider\'s keys'
    return error instanceof errors.JOSEError ? error.message.slice(0, 200) : 'it cannot be read'
  }
}

function rowName ({ claim, value }: Pick<IdentityRow, 'claim' | 'value'>): string {
  return JSON.stringify([claim, value])
}

/** The claim itself, or a member of an object: `realm_access.roles`. */
function valuesOf (claims: JsonObject, claim: string): readonly Json[] {
  // An address that nobody has confirmed can be anybody's.
  if (claim === 'email' && claims['email_verified'] !== true) return []
  const value = ownField(claims, claim) ?? claim.split('.').reduce<Json | undefined>((object, name) => ownField(object, name), claims)
  if (Array.isArray(value)) return value as readonly Json[]
  return claim === 'scope' ? textOf(value).split(' ') : value === undefined ? [] : [value]
}

/** All that any of the rows gives; where one has no patterns, nothing is hidden. */
function unite (name: string, rows: readonly IdentityRights[]): Caller {
  const patterns = (of: 'prompts' | 'environs' | 'runs' | 'targets'): NamePatterns | undefined => {
    const given = rows.map(row => row[of]).filter(each => each !== undefined)
    return given.length < rows.length ? undefined : new NamePatterns(given.flatMap(({ written }) => written))
  }
  const most = (of: keyof CallerLimits): number | undefined => {
    const given = rows.map(({ limits }) => limits[of]).filter(each => each !== undefined)
    return given.length < rows.length ? undefined : Math.max(...given)
  }
  const labels = rows.flatMap(row => [...row.labels ?? []])
  return {
    name,
    facts: { name, roles: [...new Set(rows.flatMap(({ given }) => given))].sort() },
    roles: new Set(rows.flatMap(({ roles }) => [...roles])),
    prompts: patterns('prompts'),
    environs: patterns('environs'),
    runs: patterns('runs'),
    targets: patterns('targets'),
    labels: labels.length === 0 ? undefined : new Set(labels),
    serve: rows.find(({ serve }) => serve !== undefined)?.serve,
    limits: { requests: most('requests'), tokens: most('tokens'), running: most('running') } satisfies Record<keyof CallerLimits, number | undefined>
  }
}

/** In ms: when the keys are read again, after a failure too; and the least time between two looks for a key that nobody knows. */
const [REREAD, RETRY, COOLDOWN] = [300_000, 5000, 5000]

/** In ms, and in characters. */
const [PATIENCE, MAX_REPLY] = [5000, 256 * 1024]

/** The provider's addresses and keys. While it is away, the keys that are known stay in force: jose's own remote set would forget them. */
class Provider {
  readonly #issuer: string
  readonly #log: Log
  #addresses: JsonObject | undefined
  #keys: ReturnType<typeof createLocalJWKSet> | undefined
  /** By `kid`, and all under `undefined`. */
  #texts: ReadonlyMap<string | undefined, string> = new Map()
  #problem: string | undefined
  #loading: Promise<void> | undefined
  /** As `performance.now()`. */
  #loaded = -Infinity
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor (issuer: string, log: Log) {
    this.#issuer = issuer
    this.#log = log
  }

  /** Why the keys could not be read the last time. */
  get problem (): string | undefined {
    return this.#problem ?? (this.#keys === undefined ? 'its keys have not been read yet' : undefined)
  }

  /** As the provider tells it: `authorization_endpoint`, …; `''` while that is not known, or not safe. */
  address (name: string): string {
    const address = textOf(this.#addresses?.[name])
    return isSafeAddress(address) ? address : ''
  }

  /** To see whether a key is still what it was. */
  keysNamed (kid: string | undefined): string {
    return this.#texts.get(kid) ?? ''
  }

  /** @throws IDENTITY_PROVIDER_AWAY, JOSEError */
  readonly keyOf = async (header: JWSHeaderParameters): ReturnType<ReturnType<typeof createLocalJWKSet>> => {
    if (this.#keys === undefined) await this.#loading
    const keys = this.#keys
    if (keys === undefined) throw identityProviderAway(this.#issuer)
    try {
      return await keys(header)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      if (this.#loading === undefined && performance.now() - this.#loaded < COOLDOWN) throw error
      await this.load()
      if (this.#problem !== undefined) throw identityProviderAway(this.#issuer)
      return await (this.#keys ?? keys)(header)
    }
  }

  /** Never rejects. */
  async load (): Promise<void> {
    await (this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
      this.#loaded = performance.now()
      clearTimeout(this.#timer)
      if (!this.#isClosed) this.#timer = setTimeout(() => { void this.load() }, this.#problem === undefined ? REREAD : RETRY).unref()
    }))
  }

  close (): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #read (): Promise<void> {
    try {
      const addresses = await readJson(`${this.#issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
      if (addresses['issuer'] !== this.#issuer) throw new Error(`expected the issuer ${this.#issuer}, got ${textOf(addresses['issuer']).slice(0, 256)}`)
      const keys = await readJson(textOf(addresses['jwks_uri']))
      // The set checks its form.
      this.#keys = createLocalJWKSet(keys as { keys: JWK[] })
      this.#texts = new Map([[undefined, JSON.stringify(keys)], ...listOf(keys['keys']).map(key => [textIn(key, 'kid'), JSON.stringify(key)] as const)])
      this.#addresses = addresses
      if (this.#problem !== undefined) this.#log.info({ issuer: this.#issuer }, 'the identity provider tells its keys again')
      this.#problem = undefined
    } catch (error) {
      const { message, cause } = error as Error
      const problem = cause instanceof Error ? `${message}: ${cause.message}` : message
      const meaning = this.#keys === undefined ? 'nobody gets in with a JWT until then' : 'those that are known stay in force'
      if (problem !== this.#problem && !this.#isClosed) {
        this.#log.error({ issuer: this.#issuer, reason: problem }, `the identity provider does not tell its keys: ${meaning}`)
      }
      this.#problem = problem
    }
  }
}

/** Follows no redirect. @throws Error for another answer than JSON of a size that can be */
async function readJson (address: string): Promise<JsonObject> {
  if (!isSafeAddress(address)) throw new Error(`expected an https address of the provider, got "${address.slice(0, 256)}"`)
  const { status, body } = await fetch(address, { redirect: 'manual', headers: { accept: 'application/json' }, signal: AbortSignal.timeout(PATIENCE) })
  if (status !== 200 || body === null) {
    await body?.cancel()
    throw new Error(`${address} answered ${status}`)
  }
  let text = ''
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part
    if (text.length > MAX_REPLY) throw new Error(`${address} answered more than ${MAX_REPLY} characters`)
  }
  try {
    return objectOf(JSON.parse(text) as Json)
  } catch {
    throw new Error(`${address} answered no JSON`)
  }
}
