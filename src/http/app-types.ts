import { type Caller } from '../access/caller.ts'
import { type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type FastifyBaseLogger, type FastifyInstance, type RawReplyDefaultExpression, type RawRequestDefaultExpression, type RawServerDefault } from 'fastify'
import { type Role } from '../access/role.ts'
import { type Generation } from '../registry/generation.ts'
import { type UsageCounter } from '../service/chat/usage-counter.ts'
import { type RequestActivity } from './request-observer.ts'

/** The Fastify instance as routes see it: request types come from the TypeBox schemas. */
export type App = FastifyInstance<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, FastifyBaseLogger, TypeBoxTypeProvider>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route asks of its caller; a route without one is open to all. */
    role?: Role
    /** Another role that will do. */
    orRole?: Role
    /** Whether the route's `id` is that of a prompt, which the store is asked for before it is missing. */
    seeksPrompt?: boolean
  }
  interface FastifyInstance {
    /** What models have been used for since the start. */
    usage: UsageCounter
  }
  interface FastifyRequest {
    /** Who asks; known from the first hook on. */
    caller: Caller
    /**
     * Who the holder of the request's token is by now, for what lasts longer than a request.
     * @throws TOKEN_UNKNOWN, ROLE_MISSING
     */
    callerNow (): Caller
    /** The registry's generation when the request arrived, as its caller may see it; the whole request uses it. */
    generation: Generation
    /** What logs, metrics and traces know of the request. */
    activity: RequestActivity
    /** When the body was there in full, on the clock of `performance.now()`; `undefined` without one. */
    arrivedAt?: number
  }
}
