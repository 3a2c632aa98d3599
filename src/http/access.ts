import type { IncomingHttpHeaders } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { ANYONE, type Caller, isUnlimited, NOBODY, type Role, ROLES, withoutRoles } from '../access/caller.ts'
import { visibleGeneration } from '../access/views.ts'
import { parseTokens, TokenFile, type TokenHolders } from '../access/token-table.ts'
import { hostNotAllowed, originForeign, roleMissing, tokenRequired, tokenUnknown, writeNotLocal } from '../base/errors.ts'
import type { Log } from '../runtime/telemetry.ts'
import { Type } from '../schema/builder.ts'
import { type Config, ConfigError } from '../config/config.ts'
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
  | { readonly mode: 'tokens', /** Stops following the token file. */ readonly close?: () => void } & TokenHolders
  | { readonly mode: 'open' } & OpenAccess

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

/** Before anything else is said of its path. @throws TOKEN_REQUIRED, TOKEN_UNKNOWN */
export function guardUpgrades (app: App, access: Access): void {
  if (access.mode !== 'tokens') return
  app.addHook('onRequest', (request, _reply, done) => {
    const token = request.ws === true ? tokenOf(request) : undefined
    if (request.ws !== true || (token !== undefined && access.findCaller(token) !== undefined)) done()
    else done(token === undefined ? tokenRequired() : tokenUnknown())
  })
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
    return access.mode === 'tokens' ? callerWith(this, this.routeOptions.config, access.findCaller) : requireCaller(this, access)
  })
  app.addHook('onRequest', (request, reply, done) => {
    const config: Pick<FastifyContextConfig, 'role' | 'orRoles'> = request.is404 ? {} : request.routeOptions.config
    try {
      request.caller = access.mode === 'tokens' ? callerWith(request, config, access.findCaller) : anyone(request, config.role, access)
      if (config.role !== undefined && isUnlimited(request.caller)) reply.header('x-registry-revision', request.generation.revision)
      request.generation = visibleGeneration(request.generation, request.caller)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

function callerWith (
  request: FastifyRequest, { role, orRoles = [] }: Pick<FastifyContextConfig, 'role' | 'orRoles'>, findCaller: TokenHolders['findCaller']
): Caller {
  const token = tokenOf(request)
  const caller = token === undefined ? undefined : findCaller(token)
  if (role === undefined) return caller ?? NOBODY
  if (token === undefined) throw tokenRequired()
  if (caller === undefined) throw tokenUnknown()
  if (![role, ...orRoles].some(each => caller.roles.has(each))) throw roleMissing(caller.name, role, [...caller.roles])
  return caller
}

function tokenOf ({ headers, ws }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? (ws === true ? subprotocolToken(headers) : undefined)
}

/** Whatever its roles; without tokens, a caller on another machine loses those that change something. @throws TOKEN_REQUIRED, TOKEN_UNKNOWN */
function requireCaller ({ caller, headers, socket }: FastifyRequest, access: Access): Caller {
  if (access.mode === 'tokens') {
    if (caller === NOBODY) throw headers.authorization === undefined ? tokenRequired() : tokenUnknown()
    return caller
  }
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
  const { API_TOKENS: tokens, API_TOKENS_FILE: path } = config
  const defaults = { requests: config.RATE_LIMIT_REQUESTS || undefined, tokens: config.RATE_LIMIT_TOKENS || undefined }
  try {
    if (tokens !== '') return { mode: 'tokens', ...parseTokens(tokens, defaults) }
    if (path !== '') return openFile(await TokenFile.open({ path, defaults, log }))
  } catch (error) {
    throw new ConfigError(`${tokens === '' ? 'API_TOKENS_FILE' : 'API_TOKENS'}: ${(error as Error).message}`)
  }
  return { mode: 'open', hosts: hostNames(allowedHosts(config)), origins: new Set(corsOrigins(config)) }
}

function openFile (file: TokenFile): Access {
  return {
    mode: 'tokens',
    findCaller: token => file.find(token),
    callerNamed: name => file.named(name),
    names: () => file.names(),
    close: () => { file.close() }
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
  name: Type.String({ description: 'Of the token; empty where none is asked for' }),
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
    config: { fails: ['TOKEN_REQUIRED', 'TOKEN_UNKNOWN'] },
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
