import { type FastifyRequest } from 'fastify'
import { ANYONE, type Caller } from '../access/caller.ts'
import { visibleGeneration } from '../access/generation-view.ts'
import { type Role } from '../access/role.ts'
import { type FindCaller } from '../access/tokens.ts'
import { roleMissing, tokenRequired, tokenUnknown } from '../base/errors.ts'
import { type App } from './app-types.ts'
import { checkHost, checkLocalWrite, checkOrigin, type OpenAccess } from './browser-guard.ts'

/** Who is let in: those with a token, or everyone who can reach the service. */
export type Access =
  | { readonly mode: 'tokens', readonly findCaller: FindCaller }
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
 * request knows its `caller`, and its `generation` holds what that one may see. Routes without a role are open to all.
 * @throws TOKEN_REQUIRED, TOKEN_UNKNOWN, ROLE_MISSING, ORIGIN_FOREIGN, WRITE_NOT_LOCAL
 */
export function guardAccess (app: App, access: Access): void {
  app.decorateRequest('caller')
  app.addHook('onRequest', (request, _reply, done) => {
    request.caller = ANYONE
    const { role } = request.routeOptions.config
    if (role === undefined || request.is404) return done()
    try {
      request.caller = access.mode === 'tokens' ? callerWith(request, role, access.findCaller) : anyone(request, role, access)
      request.generation = visibleGeneration(request.generation, request.caller)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
}

function callerWith (request: FastifyRequest, role: Role, findCaller: FindCaller): Caller {
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (token === undefined) throw tokenRequired()
  const caller = findCaller(token)
  if (caller === undefined) throw tokenUnknown()
  if (!caller.roles.has(role)) throw roleMissing(caller.name, role, [...caller.roles])
  return caller
}

/** Without tokens, what a browser can be made to send by any page it has open must not pass for the user's own doing. */
function anyone ({ headers, method, socket }: FastifyRequest, role: Role, access: OpenAccess): Caller {
  if (method !== 'GET' && method !== 'HEAD') checkOrigin(headers, access)
  if (role === 'write') checkLocalWrite(socket.remoteAddress, headers)
  return ANYONE
}
