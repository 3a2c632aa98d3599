import { type FastifyRequest } from 'fastify'
import { type Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { type Generation } from '../../registry/generation/generation.ts'

/**
 * The client at the other end of a WebSocket. Its rights are looked up at each use, since its token may lose rights or be removed while the
 * socket is open.
 */
export interface Client {
  /** Looks up the client's token again, and gives the caller with the rights that the token has now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  caller (): Caller
  /** The entries (the current snapshot) that the client may see now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  generation (): Generation
  /** The id of the request that opened the socket. */
  readonly requestId: string
}

/** Makes the client of a WebSocket from the request that opened it. @param registry gives the current snapshot of entries */
export function clientOf (request: FastifyRequest, registry: { readonly generation: Generation }): Client {
  return {
    caller: () => request.callerNow(),
    generation: () => visibleGeneration(registry.generation, request.callerNow()),
    requestId: request.id
  }
}
