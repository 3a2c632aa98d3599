import type {
  FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawReplyDefaultExpression, RawRequestDefaultExpression, RawServerDefault
} from 'fastify'
import type { Caller, Role } from '../access/caller.ts'
import type { ErrorCode } from '../base/errors.ts'
import type { Static, TSchema } from '../schema/builder.ts'
import type { Generation } from '../registry/generation.ts'
import type { RequestActivity } from '../observe/activity.ts'
import type { RequestBytes } from '../llm/model-request.ts'

/** `undefined` may be sent for an optional member, since JSON leaves it out. */
type Sendable<T> = T extends ReadonlyArray<infer Item> ? ReadonlyArray<Sendable<Item>> : T extends object ? {
  readonly [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? Sendable<T[Name]> | undefined : Sendable<T[Name]>
} : T

/** Derives request and reply types from a route's schemas, so that the compiler checks what handlers send. */
export interface SchemaTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  readonly serializer: this['schema'] extends TSchema ? Sendable<Static<this['schema']>> : unknown
}

export type App = FastifyInstance<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, FastifyBaseLogger, SchemaTypes>

export type ReplyHeader = 'etag' | 'link' | 'x-prompt-revision' | 'x-prompt-version' | 'x-prompt-label' | 'x-tool-defaults'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route without a role is open to all. */
    role?: Role
    /** Any of these will do in place of the role. */
    orRoles?: readonly Role[]
    /** Beside the errors that all routes share; the statuses and examples in the API's description follow from this list. */
    fails?: readonly ErrorCode[]
    headers?: readonly ReplyHeader[]
    /** Whether a prompt `id` that is not loaded is sought in the store before the route runs. */
    seeksPrompt?: boolean
    /** Whether `bodyText` is set, for error messages with lines and columns of that text. */
    keepsText?: boolean
    /** Whether a body goes on to a model as the bytes that came; else it is parsed and checked. */
    passesOn?: (body: RequestBytes) => boolean
  }
  interface FastifyRequest {
    /** Set by the access hook, before other hooks run. */
    caller: Caller
    /** The holder of a JWT as of now; `undefined` for all other tokens. @throws TOKEN_UNKNOWN, IDENTITY_UNLISTED, IDENTITY_PROVIDER_AWAY */
    identity: (() => Caller) | undefined
    /** For long connections: the token may have been changed or revoked meanwhile. @throws TOKEN_UNKNOWN, ROLE_MISSING */
    callerNow (): Caller
    /** The entries as they were when the request arrived, without those hidden from its caller; used for the whole request. */
    generation: Generation
    activity: RequestActivity
    /** When the whole body had arrived, in ms of `performance.now()`; `undefined` without a body. */
    arrivedAt?: number
    bodyText: string | undefined
    /** Gives room for other bodies back, all but so many bytes. */
    keepRoom: ((bytes: number) => void) | undefined
    /** Of an entry that is published. */
    entryText: string
  }
}
