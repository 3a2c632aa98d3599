import { type FastifyRequest } from 'fastify'
import { ANYONE, type Caller, isUnlimited, NOBODY, withoutRoles } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { type Role } from '../../access/role.ts'
import { type TokenHolders } from '../../access/tokens.ts'
import { roleMissing, tokenRequired, tokenUnknown } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'
import { subprotocolToken } from '../base/protocol.ts'
import { checkHost, checkLocalWrite, checkOrigin, type OpenAccess } from './browser-guard.ts'

/** The roles that may change entries or run sessions. In a service without tokens, only requests from this machine have these roles. */
const GUARDED: ReadonlySet<Role> = new Set<Role>(['write', 'run', 'approve', 'admin', 'terminal'])

/**
 * The rules of access. In the mode `tokens` every caller needs a token; in the mode `open` everyone who can reach the service is let in.
 */
export type Access =
  | { readonly mode: 'tokens', /** Stops following the token file. */ readonly close?: () => void } & TokenHolders
  | { readonly mode: 'open' } & OpenAccess

/**
 * Adds a check of the Host header to every route, if the service asks for no tokens: a request that names another host is refused. The
 * check stops pages that point their own domain name at this service, so that the browser lets them read its answers (DNS rebinding). With
 * tokens it is not needed, as such a page has no token.
 * @throws HOST_NOT_ALLOWED
 */
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

/**
 * Refuses an upgrade to a WebSocket without a token, before anything else is said of its path.
 * @throws TOKEN_REQUIRED, TOKEN_UNKNOWN
 */
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
    const { role, orRole } = this.routeOptions.config
    return access.mode === 'tokens' ? callerWith(this, [role, orRole], access.findCaller) : this.caller
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { role, orRole } = request.is404 ? {} : request.routeOptions.config
    try {
      request.caller = access.mode === 'tokens' ? callerWith(request, [role, orRole], access.findCaller) : anyone(request, role, access)
      if (role !== undefined && isUnlimited(request.caller)) reply.header('x-registry-revision', request.generation.revision)
      request.generation = visibleGeneration(request.generation, request.caller)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

function callerWith (request: FastifyRequest, [role, orRole]: readonly [Role | undefined, Role | undefined], findCaller: TokenHolders['findCaller']): Caller {
  const token = tokenOf(request)
  const caller = token === undefined ? undefined : findCaller(token)
  if (role === undefined) return caller ?? NOBODY
  if (token === undefined) throw tokenRequired()
  if (caller === undefined) throw tokenUnknown()
  if (!caller.roles.has(role) && (orRole === undefined || !caller.roles.has(orRole))) throw roleMissing(caller.name, role, [...caller.roles])
  return caller
}

function tokenOf ({ headers, ws }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? (ws === true ? subprotocolToken(headers) : undefined)
}

/**
 * The caller of a request to a route that every caller with a token may use, whatever its roles. In a service without tokens, a
 * caller on another machine loses the roles that change something.
 * @throws TOKEN_REQUIRED, TOKEN_UNKNOWN
 */
export function requireCaller ({ caller, headers, socket }: FastifyRequest, access: Access): Caller {
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

/**
 * Checks a request to a service that asks for no tokens, and gives its caller. A foreign page could make a user's browser send a request
 * with the user's rights, so requests other than GET and HEAD are refused when a page of another host sends them.
 */
function anyone ({ headers, method, socket }: FastifyRequest, role: Role | undefined, access: OpenAccess): Caller {
  if (role !== undefined && method !== 'GET' && method !== 'HEAD') checkOrigin(headers, access)
  if (role !== undefined && GUARDED.has(role)) checkLocalWrite(socket.remoteAddress, headers)
  return ANYONE
}
