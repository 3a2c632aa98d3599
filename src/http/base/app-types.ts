import { type Caller } from '../../access/caller.ts'
import { type ErrorCode } from '../../base/error-codes.ts'
import { type FastifyBaseLogger, type FastifyInstance, type FastifyTypeProvider, type RawReplyDefaultExpression, type RawRequestDefaultExpression, type RawServerDefault } from 'fastify'
import { type Static, type TSchema } from '../../base/schema-builder.ts'
import { type Role } from '../../access/role.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type UsageCounter } from '../../service/chat/usage-counter.ts'
import { type RequestActivity } from './request-observer.ts'

/** What may be sent where a type is declared: lists and objects that nobody changes, and `undefined` for a member that may be left out, as JSON leaves it out. */
type Sendable<T> = T extends ReadonlyArray<infer Item> ? ReadonlyArray<Sendable<Item>> : T extends object ? { readonly [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? Sendable<T[Name]> | undefined : Sendable<T[Name]> } : T

/** The types of requests and replies come from the schemas of a route: what it sends is held to them by the compiler. */
export interface SchemaTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  readonly serializer: this['schema'] extends TSchema ? Sendable<Static<this['schema']>> : unknown
}

/** The Fastify instance as routes see it. */
export type App = FastifyInstance<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, FastifyBaseLogger, SchemaTypes>

/** Headers that only some routes send with a success. */
export type ReplyHeader = 'etag' | 'link' | 'x-prompt-revision' | 'x-prompt-version' | 'x-prompt-label' | 'x-tool-defaults'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route asks of its caller; a route without one is open to all. */
    role?: Role
    /** Another role that will do. */
    orRole?: Role
    /**
     * The errors that it answers with beside those that every route shares, which `openapi.ts` lists. Their statuses and
     * examples in the API's description follow from them.
     */
    fails?: readonly ErrorCode[]
    /** The headers of its success beside `x-request-id`. */
    headers?: readonly ReplyHeader[]
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
