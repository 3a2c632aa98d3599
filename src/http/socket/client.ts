import { type FastifyRequest } from 'fastify'
import { type Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { type Generation } from '../../registry/generation/generation.ts'

/** The client of a socket. Its rights are looked up each time, since its token may lose rights or be removed meanwhile. */
export interface Client {
  /** Looks the client's token up again. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  caller (): Caller
  /** The caller's view of the registry as it is now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  generation (): Generation
  /** The id of the request that opened the socket. */
  readonly requestId: string
}

/** Makes the client of a socket from its upgrade request. @param registry gives the current generation */
export function clientOf (request: FastifyRequest, registry: { readonly generation: Generation }): Client {
  return {
    caller: () => request.callerNow(),
    generation: () => visibleGeneration(registry.generation, request.callerNow()),
    requestId: request.id
  }
}
