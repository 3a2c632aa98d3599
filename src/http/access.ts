import type { IncomingHttpHeaders } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { dirname, resolve } from 'node:path'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { ANYONE, type Caller, type CallerLimits, isUnlimited, NOBODY, type Role, ROLES, withoutRoles } from '../access/caller.ts'
import { visibleGeneration } from '../access/views.ts'
import type { Identities } from '../access/identities.ts'
import { FollowedFile, type Owners, parseTokenFile, parseTokens, type TokenHolders } from '../access/token-table.ts'
import { hostNotAllowed, originForeign, roleMissing, tokenRequired, tokenUnknown, writeNotLocal } from '../base/errors.ts'
import type { Log } from '../runtime/telemetry.ts'
import { Type } from '../schema/builder.ts'
import { asksForTokens, type Config, ConfigError } from '../config/config.ts'
import { listIn } from '../base/text.ts'
import type { App } from './app.ts'
import { oneOf } from './schemas.ts'
import { subprotocolToken } from './connections.ts'

const EXPOSED = ['etag', 'link', 'retry-after', 'x-prompt-label', 'x-prompt-revision', 'x-prompt-version', 'x-registry-revision', 'x-request-id',
  'x-cost', 'x-should-retry', 'x-usage-estimate',
  ...['requests', 'tokens'].flatMap(rated => [`x-ratelimit-limit-${rated}`, `x-ratelimit-remaining-${rated}`, `x-ratelimit-reset-${rated}`])]

/** Never with cookies; any header, as OpenAI's client adds a dozen. See https://github.com/fastify/fastify-cors */
export async function allowOrigins (app: App, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const { default: cors } = await import('@fastify/cors')
  await app.register(cors, {
    origin: [...origins],
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED,
    // An OPTIONS request that is no preflight is not an error.
    strictPreflight: false,
    maxAge: 600
  })
}

/** For replies sent before Fastify has the request. */
export function corsHeaders (origins: readonly string[], origin: string | undefined): Readonly<Record<string, string>> {
  if (origin === undefined || !origins.includes(origin)) return {}
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED.join(', '), vary: 'Origin' }
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/** Keeps foreign pages from using a service without tokens through a user's browser. */
interface OpenAccess {
  readonly hosts: HostNames
  readonly origins: ReadonlySet<string>
}

/** A foreign name made to point here would show its page all answers (DNS rebinding); browsers always send Host. @throws HOST_NOT_ALLOWED */
function checkHost ({ host }: IncomingHttpHeaders, { hosts }: OpenAccess): void {
  if (host !== undefined && !hosts.allow(host)) throw hostNotAllowed(host)
}

/** @throws ORIGIN_FOREIGN */
export function checkOrigin ({ origin, host }: IncomingHttpHeaders, { origins }: Pick<OpenAccess, 'origins'>): void {
  if (origin === undefined || origins.has(origin)) return
  if (URL.canParse(origin) && new URL(origin).host === host) return
  throw originForeign(origin)
}

/** Proxies are refused too: they may pass on requests from anywhere. @throws WRITE_NOT_LOCAL */
function checkLocalWrite (address: string | undefined, headers: IncomingHttpHeaders): void {
  if (!isLocal(address)) throw writeNotLocal(`the request came from ${address ?? 'an unknown address'}`)
  const header = FORWARDED.find(name => headers[name] !== undefined)
  if (header !== undefined) throw writeNotLocal(`the request came through a proxy (it has ${header})`)
}

function isLocal (address: string | undefined): boolean {
  return address !== undefined && (address === '::1' || /^(?:::ffff:)?127\./.test(address))
}

const HOST = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/

interface HostNames {
  allow (host: string): boolean
}

/** IPs and names below `localhost`, never looked up (https://www.rfc-editor.org/rfc/rfc6761#section-6.3), cannot be a stranger's domain. */
export function hostNames (names: readonly string[]): HostNames {
  const given = new Set(names.map(name => name.toLowerCase()))
  // Nearly every request names the same host, and parsing it takes a hundredth of a render.
  let last: string | undefined
  return {
    allow (host) {
      if (host === last) return true
      const name = nameOf(host)
      const isAllowed = name !== undefined && (isAddress(name) || name === 'localhost' || name.endsWith('.localhost') || given.has(name))
      if (isAllowed) last = host
      return isAllowed
    }
  }
}

function nameOf (host: string): string | undefined {
  return HOST.exec(host)?.[1]?.toLowerCase().replace(/\.$/, '')
}

/** IPv6 stands in brackets: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2 */
function isAddress (name: string): boolean {
  return isIPv4(name) || (name.startsWith('[') && isIPv6(name.slice(1, -1)))
}

/** In a service without tokens, only requests from this machine have these roles. */
const GUARDED: ReadonlySet<Role> = new Set<Role>(['write', 'run', 'approve', 'admin', 'terminal'])

/** With `tokens` every caller needs a token; with `open` everyone who can reach the service is let in. */
export type Access =
  | { readonly mode: 'tokens', readonly identities?: SignIn | undefined, /** Stops following files and keys. */ close? (): void } & TokenHolders & Owners
  | { readonly mode: 'open' } & OpenAccess

/** What clients are told of the provider whose JWTs are let in: https://www.rfc-editor.org/rfc/rfc9728 */
export interface SignIn {
  readonly holders: Identities
  readonly issuer: string
  /** The audience that is an address, if one is. */
  readonly resource: string | undefined
  /** Where MCP clients read of it. */
  readonly metadata: string | undefined
  readonly client: string
  readonly scopes: readonly string[]
}

/** Without tokens only: stops pages whose domain name points here (DNS rebinding); they have no token. @throws HOST_NOT_ALLOWED */
export function guardHosts (app: App, access: Access): void {
  if (access.mode !== 'open') return
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    try {
      checkHost(headers, access)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

/** Three parts between dots: https://www.rfc-editor.org/rfc/rfc7515#section-3.1 */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Before the guards, which cannot wait: the signature of a JWT that is none of the tokens is checked. */
export function checkIdentities (app: App, access: Access): void {
  app.decorateRequest('identity')
  if (access.mode !== 'tokens' || access.identities === undefined) return
  const { identities: { holders }, findCaller } = access
  app.addHook('onRequest', (request, _reply, done) => {
    const token = tokenOf(request)
    if (token === undefined || !JWT.test(token) || findCaller(token) !== undefined) return done()
    holders.verify(token).then(identity => {
      request.identity = identity
      done()
    }, done)
  })
}

/** Before anything else is said of its path. @throws TOKEN_REQUIRED, TOKEN_UNKNOWN */
export function guardUpgrades (app: App, access: Access): void {
  if (access.mode !== 'tokens') return
  app.addHook('onRequest', (request, _reply, done) => {
    try {
      if (request.ws === true) holderOf(request, access)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

type TokenAccess = Extract<Access, { mode: 'tokens' }>

/** @throws TOKEN_REQUIRED, TOKEN_UNKNOWN, IDENTITY_UNLISTED, IDENTITY_PROVIDER_AWAY */
function holderOf (request: FastifyRequest, { findCaller, identities }: TokenAccess): Caller {
  const token = tokenOf(request)
  if (token === undefined) throw tokenRequired(identities?.metadata)
  const caller = request.identity?.() ?? findCaller(token)
  if (caller === undefined) throw tokenUnknown(identities?.metadata)
  return caller
}

/**
 * Adds the check who calls and whether the caller has the role that the route requires, before a body is read. From then on the request has
 * its `caller`, and its `generation` (the snapshot of all entries) shows only what is visible to that caller. Routes without a role are open
 * to all; there, an unknown token counts as no token. The reply names the revision of the snapshot, unless entries are hidden from the
 * caller: a new revision would reveal that one of these has changed.
 * @throws TOKEN_REQUIRED, TOKEN_UNKNOWN, ROLE_MISSING, ORIGIN_FOREIGN, WRITE_NOT_LOCAL
 */
export function guardAccess (app: App, access: Access): void {
  app.decorateRequest('caller')
  app.decorateRequest('callerNow', function (this: FastifyRequest) {
    return access.mode === 'tokens' ? callerWith(this, this.routeOptions.config, access) : requireCaller(this, access)
  })
  app.addHook('onRequest', (request, reply, done) => {
    const config: Pick<FastifyContextConfig, 'role' | 'orRoles'> = request.is404 ? {} : request.routeOptions.config
    try {
      request.caller = access.mode === 'tokens' ? callerWith(request, config, access) : anyone(request, config.role, access)
      if (config.role !== undefined && isUnlimited(request.caller)) reply.header('x-registry-revision', request.generation.revision)
      request.generation = visibleGeneration(request.generation, request.caller)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

function callerWith (request: FastifyRequest, { role, orRoles = [] }: Pick<FastifyContextConfig, 'role' | 'orRoles'>, access: TokenAccess): Caller {
  if (role === undefined) {
    if (tokenOf(request) === undefined) return NOBODY
    try {
      return holderOf(request, access)
    } catch {
      return NOBODY
    }
  }
  const caller = holderOf(request, access)
  if (![role, ...orRoles].some(each => caller.roles.has(each))) throw roleMissing(caller.name, role, [...caller.roles])
  return caller
}

function tokenOf ({ headers, ws }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? (ws === true ? subprotocolToken(headers) : undefined)
}

/** Whatever its roles; without tokens, a caller on another machine loses those that change something. @throws TOKEN_REQUIRED, TOKEN_UNKNOWN */
function requireCaller (request: FastifyRequest, access: Access): Caller {
  if (access.mode === 'tokens') return holderOf(request, access)
  const { caller, headers, socket } = request
  try {
    checkLocalWrite(socket.remoteAddress, headers)
    return caller
  } catch {
    return withoutRoles(caller, GUARDED)
  }
}

/** A foreign page could use a browser's rights: writes from pages of other hosts are refused. */
function anyone ({ headers, method, socket }: FastifyRequest, role: Role | undefined, access: OpenAccess): Caller {
  if (role !== undefined && method !== 'GET' && method !== 'HEAD') checkOrigin(headers, access)
  if (role !== undefined && GUARDED.has(role)) checkLocalWrite(socket.remoteAddress, headers)
  return ANYONE
}

/** @throws ConfigError that names the wrong variable, and shows no hash of a token */
export async function accessFrom (config: Config, log: Log): Promise<Access> {
  if (!asksForTokens(config)) return { mode: 'open', hosts: hostNames(allowedHosts(config)), origins: new Set(corsOrigins(config)) }
  const defaults = { requests: config.RATE_LIMIT_REQUESTS || undefined, tokens: config.RATE_LIMIT_TOKENS || undefined }
  const { API_TOKENS: tokens, API_TOKENS_FILE: path } = config
  const file = path === ''
    ? undefined
    : await told('API_TOKENS_FILE', () => FollowedFile.open(path, { variable: 'API_TOKENS_FILE', what: 'tokens' }, text => parseTokenFile(text, defaults), log))
  const fixed = await told('API_TOKENS', () => parseTokens(tokens, defaults))
  const holders = (): TokenHolders => file?.value ?? fixed
  const byToken: TokenHolders = {
    findCaller: token => holders().findCaller(token),
    callerNamed: name => holders().callerNamed(name),
    names: () => holders().names()
  }
  if (config.AUTH_ISSUER === '') return { mode: 'tokens', ...byToken, close: () => { file?.close() } }
  const { identities, close } = await openIdentities(config, defaults, log)
  return {
    mode: 'tokens',
    findCaller: byToken.findCaller,
    callerNamed: name => byToken.callerNamed(name) ?? identities.holders.callerNamed(name),
    names: () => [...byToken.names(), ...identities.holders.names()],
    seek: name => identities.holders.seek(name),
    attach: store => identities.holders.attach(store),
    identities,
    close () {
      file?.close()
      close()
    }
  }
}

/** @throws ConfigError for any other error */
async function told<T> (variable: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new ConfigError(`${variable}: ${(error as Error).message}`)
  }
}

/** Loads what it needs only here: most services know tokens alone. @throws ConfigError */
async function openIdentities (config: Config, defaults: CallerLimits, log: Log): Promise<{ readonly identities: SignIn, close (): void }> {
  const { AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience, AUTH_CLIENT_ID: client, AUTH_SCOPE: scope, AUTH_GRACE_MS: grace, OPERATOR_FILE: path } = config
  const [{ Identities, parseIdentities }, { parseOperator }] = await Promise.all([import('../access/identities.ts'), import('../config/operator.ts')])
  const parse = (text: string) => parseIdentities(parseOperator(text, dirname(resolve(path))).identities ?? [], defaults)
  const words = { variable: 'OPERATOR_FILE', what: 'identities (and nothing else of it before a restart)' }
  const file = await told('OPERATOR_FILE', () => FollowedFile.open(path, words, parse, log))
  const audiences = listIn(audience)
  const resource = audiences.find(each => URL.canParse(each) && /^https?:$/.test(new URL(each).protocol))
  const metadata = resource === undefined ? undefined : `${new URL(resource).origin}${metadataPath(resource)}`
  const holders = new Identities({ issuer, audiences, grace, rows: () => file.value, metadata, log })
  const close = (): void => {
    file.close()
    holders.close()
  }
  return { identities: { holders, issuer, resource, metadata, client, scopes: scope.match(/\S+/g) ?? [] }, close }
}

const METADATA = '/.well-known/oauth-protected-resource'

/** The path of the resource comes behind it: https://www.rfc-editor.org/rfc/rfc9728#section-3.1 */
function metadataPath (resource: string): string {
  return `${METADATA}${new URL(resource).pathname.replace(/\/$/, '')}`
}

/** What OpenID Connect itself defines says nothing of what may be done here. */
const OWN_SCOPES = ['openid', 'profile', 'email', 'offline_access']

/** For MCP clients: whose tokens are taken here. The service is no authorization server. */
export function resourceRoutes (app: App, access: Access): void {
  if (access.mode !== 'tokens' || access.identities?.resource === undefined) return
  const { resource, issuer, scopes } = access.identities
  const own = scopes.filter(each => !OWN_SCOPES.includes(each))
  const metadata = {
    resource,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    resource_name: 'ai-prompt-shell',
    ...own.length === 0 ? {} : { scopes_supported: own }
  }
  for (const url of new Set([METADATA, metadataPath(resource)])) {
    app.get(url, { schema: { hide: true } }, (_request, reply) => reply.header('cache-control', 'max-age=300').send(metadata))
  }
}

/** @throws ConfigError when `CORS_ORIGINS` has anything but origins */
export function corsOrigins ({ CORS_ORIGINS: text }: Config): readonly string[] {
  const origins = listIn(text)
  const wrong = origins.find(origin => !URL.canParse(origin) || new URL(origin).origin !== origin)
  if (wrong !== undefined) throw new ConfigError(`CORS_ORIGINS: expected origins such as https://console.example.com, got "${wrong}"`)
  return origins
}

function allowedHosts ({ ALLOWED_HOSTS: text }: Config): readonly string[] {
  const names = listIn(text)
  const wrong = names.find(name => !/^[\w-]+(?:\.[\w-]+)*$/.test(name))
  if (wrong !== undefined) throw new ConfigError(`ALLOWED_HOSTS: expected names such as prompts.example.com, without a port, got "${wrong}"`)
  return names
}

const patterns = (description: string) => Type.Optional(Type.Array(Type.String(), { description: `${description}; left out: all` }))

const CallerReply = Type.Object({
  name: Type.String({ description: 'Of the token; of a JWT its issuer and its subject; empty where none is asked for' }),
  roles: Type.Array(oneOf([...ROLES] as [typeof ROLES[number], ...Array<typeof ROLES[number]>]), { description: 'With all that they imply' }),
  prompts: patterns('Prompts that exist for the caller, as names and patterns'),
  environs: patterns('Shared variables that do'),
  runs: patterns('What sessions may be started of'),
  targets: patterns('Targets and workspaces that sessions may use'),
  labels: Type.Optional(Type.Array(Type.String(), { description: 'Protected labels that the token may move, beside what `admin` may' })),
  serve: Type.Optional(Type.String({ description: 'The label of prompts that is served where a request says none' })),
  defaultLabel: Type.Optional(Type.String({ description: 'The label that is served where neither a request nor `serve` says one; left out for latest' })),
  mode: oneOf(['tokens', 'open'], { description: 'Whether tokens are asked for' })
})

export function callerRoutes (app: App, access: Access, defaultLabel: string | undefined): void {
  app.get('/api/caller', {
    config: { fails: ['TOKEN_REQUIRED', 'TOKEN_UNKNOWN', 'IDENTITY_UNLISTED', 'IDENTITY_PROVIDER_AWAY'] },
    schema: { tags: ['Status'], operationId: 'getCaller', summary: 'Who asks, and what may be done', description: 'For every role.', response: { 200: CallerReply } }
  }, request => ({ ...describe(requireCaller(request, access)), mode: access.mode, defaultLabel: defaultLabel || undefined }))
}

function describe ({ name, roles, prompts, environs, runs, targets, labels, serve }: Caller) {
  return {
    name,
    roles: ROLES.filter(role => roles.has(role)),
    ...Object.fromEntries(
      Object.entries({ prompts, environs, runs, targets }).flatMap(([member, value]) => value === undefined ? [] : [[member, value.written]])
    ),
    labels: labels === undefined ? undefined : [...labels],
    serve
  }
}
