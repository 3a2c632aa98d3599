import { type FastifyRequest } from 'fastify'
import { type Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { type Generation } from '../../registry/generation/generation.ts'

/** The owner of a socket, as he is at each moment. His token may lose rights, or be removed, while the socket is open. */
export interface Client {
  /** @throws TOKEN_UNKNOWN, ROLE_MISSING */
  caller (): Caller
  /** What is registered now, as the caller may see it. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  generation (): Generation
  /** Of the request that has opened the socket. */
  readonly requestId: string
}

/** @param registry whose generation changes while the socket is open */
export function clientOf (request: FastifyRequest, registry: { readonly generation: Generation }): Client {
  return {
    caller: () => request.callerNow(),
    generation: () => visibleGeneration(registry.generation, request.callerNow()),
    requestId: request.id
  }
}
