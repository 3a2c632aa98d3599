import type {
  FastifyBaseLogger, FastifyInstance, FastifyRequest, FastifyTypeProvider, RawReplyDefaultExpression, RawRequestDefaultExpression, RawServerDefault
} from 'fastify'
import type { Caller, Role } from '../access/caller.ts'
import type { ErrorCode } from '../base/error-codes.ts'
import type { Static, TSchema } from '../base/schema-builder.ts'
import type { Generation } from '../registry/generation.ts'
import type { Activity } from '../runtime/telemetry.ts'
import type { UsageCounter } from '../service/chat/models.ts'

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

/** The receiver of facts about requests, from which logs, metrics and traces are made. */
export interface RequestObserver {
  /** Begins the record of a request that has arrived, once its route is known. */
  begin (request: FastifyRequest): RequestActivity
  /** Counts a request that was refused during an overload, before Fastify saw it. */
  refused (): void
}

/** The record of one request: which prompt it rendered, and how long renders, tools and models have taken so far. */
export interface RequestActivity extends Activity {
  /**
   * The W3C trace id that the caller sent or, if the caller sent none, the id of the trace that begins with this request; `undefined` when
   * the caller sent none and traces are not exported.
   */
  readonly traceId: string | undefined
  /** The id of the registered prompt that the request rendered; `undefined` when it rendered none. */
  readonly prompt: string | undefined
  readonly promptRevision: string | undefined
  /** The version of the prompt and the label that chose it; `undefined` for a prompt without versions or labels. */
  readonly promptVersion: number | undefined
  readonly promptLabel: string | undefined
  /** How long all renders took, including the tools that templates called, in ms of wall time; `undefined` when nothing was rendered. */
  readonly renderMs: number | undefined
  /** The wall time in which at least one tool was being called, in ms; `undefined` when none was called. */
  readonly toolsMs: number | undefined
  /** The wall time in which a model was being asked, in ms; `undefined` when none was asked. */
  readonly modelMs: number | undefined
  /** Whether the record has been ended by `end`. */
  readonly isOver: boolean
  /**
   * Ends the record: the reply is complete, or the client has left. @param route the pattern of the route; `undefined` when none matched
   */
  end (method: string, route: string | undefined, status: number, milliseconds: number): void
}
