import { type FastifyRequest } from 'fastify'
import { ANYONE, type Caller, NOBODY, withoutRoles } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { type Role } from '../../access/role.ts'
import { type TokenHolders } from '../../access/tokens.ts'
import { roleMissing, tokenRequired, tokenUnknown } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'
import { subprotocolToken } from '../base/protocol.ts'
import { checkHost, checkLocalWrite, checkOrigin, type OpenAccess } from './browser-guard.ts'

/** Roles that change something: without tokens they are this machine's only. */
const GUARDED: ReadonlySet<Role> = new Set<Role>(['write', 'run', 'approve', 'admin', 'terminal'])

/** Who is let in: those with a token, or everyone who can reach the service. */
export type Access =
  | { readonly mode: 'tokens', /** Where the tokens are followed. */ readonly close?: () => void } & TokenHolders
  | { readonly mode: 'open' } & OpenAccess

/**
 * Refuses requests under a name that is not the service's own, on every route, where no token is asked for: with tokens, a
 * page that the browser takes for us has none, and learns from the open routes what they tell anybody.
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
 * Finds out who makes a request and whether its route is for him, before anything else is read of it. From then on the
 * request knows its `caller`, and its `generation` holds what that one may see. Routes without a role are open to all, and
 * a token that is not right is none there. The reply says which generation answers, unless a part of it is hidden: that it
 * has changed tells of the rest, too.
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
      if (role !== undefined && request.caller.prompts === undefined) reply.header('x-registry-revision', request.generation.revision)
      request.generation = visibleGeneration(request.generation, request.caller)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

function callerWith (request: FastifyRequest, [role, orRole]: readonly [Role | undefined, Role | undefined], findCaller: TokenHolders['findCaller']): Caller {
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? (request.ws === true ? subprotocolToken(request.headers) : undefined)
  const caller = token === undefined ? undefined : findCaller(token)
  if (role === undefined) return caller ?? NOBODY
  if (token === undefined) throw tokenRequired()
  if (caller === undefined) throw tokenUnknown()
  if (!caller.roles.has(role) && (orRole === undefined || !caller.roles.has(orRole))) throw roleMissing(caller.name, role, [...caller.roles])
  return caller
}

/**
 * Who makes a request to a route that is for everybody who is let in, whatever his roles.
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

/** Without tokens, what a browser can be made to send by any page it has open must not pass for the user's own doing. */
function anyone ({ headers, method, socket }: FastifyRequest, role: Role | undefined, access: OpenAccess): Caller {
  if (role !== undefined && method !== 'GET' && method !== 'HEAD') checkOrigin(headers, access)
  if (role !== undefined && GUARDED.has(role)) checkLocalWrite(socket.remoteAddress, headers)
  return ANYONE
}
