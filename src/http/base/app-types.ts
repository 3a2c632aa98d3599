import { type Caller } from '../../access/caller.ts'
import { type ErrorCode } from '../../base/error-codes.ts'
import {
  type FastifyBaseLogger, type FastifyInstance, type FastifyTypeProvider, type RawReplyDefaultExpression, type RawRequestDefaultExpression,
  type RawServerDefault
} from 'fastify'
import { type Static, type TSchema } from '../../base/schema-builder.ts'
import { type Role } from '../../access/role.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type UsageCounter } from '../../service/chat/usage-counter.ts'
import { type RequestActivity } from './request-observer.ts'

/**
 * The values that a handler may send where a schema declares `T`: read-only lists and objects too, and `undefined` for an
 * optional member, since JSON leaves such a member out.
 */
type Sendable<T> = T extends ReadonlyArray<infer Item> ? ReadonlyArray<Sendable<Item>> : T extends object ? {
  readonly [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? Sendable<T[Name]> | undefined : Sendable<T[Name]>
} : T

/** Derives the types of requests and replies from the schemas of a route, so that the compiler checks what its handler sends. */
export interface SchemaTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  readonly serializer: this['schema'] extends TSchema ? Sendable<Static<this['schema']>> : unknown
}

/** The type of the Fastify instance on which routes are registered. It checks each handler against the schemas of its route. */
export type App = FastifyInstance<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, FastifyBaseLogger, SchemaTypes>

/** Response headers that only some routes send, and only with a success. */
export type ReplyHeader = 'etag' | 'link' | 'x-prompt-revision' | 'x-prompt-version' | 'x-prompt-label' | 'x-tool-defaults'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The role that the route requires of its caller; a route without a role is open to all. */
    role?: Role
    /** A second role that opens the route: the caller needs `role` or this one. */
    orRole?: Role
    /**
     * The errors that the route answers with, beside those that all routes share, which `openapi.ts` lists. The statuses and
     * examples of errors in the API's description follow from this list.
     */
    fails?: readonly ErrorCode[]
    /** The headers that the route sends with a success, beside `x-request-id`. */
    headers?: readonly ReplyHeader[]
    /** Whether the route's `id` names a prompt. If that prompt is not loaded, the service looks for it in the store before the route runs. */
    seeksPrompt?: boolean
  }
  interface FastifyInstance {
    /** Counts the calls of models, and their tokens, since the service started. */
    usage: UsageCounter
  }
  interface FastifyRequest {
    /** The sender of the request; the access hook sets it before other hooks run. */
    caller: Caller
    /**
     * Looks up the request's token again, and gives the caller with the rights that the token has now. Used by connections that stay open for
     * long, since the token may have been changed or revoked meanwhile.
     * @throws TOKEN_UNKNOWN, ROLE_MISSING
     */
    callerNow (): Caller
    /**
     * The snapshot of all entries (the registry's generation) that was current when the request arrived, without what is hidden from its
     * caller. The whole request uses it.
     */
    generation: Generation
    /** The record of the request for logs, metrics and traces. */
    activity: RequestActivity
    /** The time when the whole body had arrived, in ms of `performance.now()`; `undefined` for a request without a body. */
    arrivedAt?: number
  }
}
