import type { Readable } from 'node:stream'
import type { JsonObject } from '../base/json.ts'
import { withoutEnd } from '../base/text.ts'
import type { Activity, ModelCall } from '../observe/activity.ts'
import type { StreamFacts } from './usage.ts'
import type { CallerSignal } from '../runtime/deadline.ts'
import type { Frame } from './frame.ts'
import type { ModelRequest } from './model-request.ts'

export interface Answers {
  readonly chat: ModelReply
  /** Bytes to pass on. Resolves at the first event, so that an earlier failure rejects, as with `chat`. */
  readonly stream: ModelStream
  readonly frames: FrameStream
  readonly embeddings: ModelReply
}

export type OperationKind = keyof Answers

export interface Operation<Kind extends OperationKind, Options extends CallOptions = CallOptions> {
  readonly kind: Kind
  readonly request: ModelRequest
  readonly call: Options
}

/** @throws UpstreamRefusal; LLM_UPSTREAM, LLM_RATE_LIMITED, LLM_AUTH, LLM_BUSY, MODEL_NOT_FOUND; the signal's reason when the caller left */
export type Ask = <Kind extends OperationKind>(operation: Operation<Kind>) => Promise<Answers[Kind]>

export type AskByKind = { readonly [Kind in OperationKind]: (operation: Operation<Kind>) => Promise<Answers[Kind]> }

export type Layer = (ask: Ask) => Ask

export interface ModelUpstream {
  readonly ask: Ask
  /** Ends the connections, within a bounded time. Running calls fail. */
  close (): Promise<void>
}

export interface ModelClient extends ModelUpstream {
  /** Asked where a request names no model. */
  readonly defaultModel?: string | undefined
  models (): readonly ModelDescription[]
}

export interface ModelDescription {
  readonly id: string
  readonly provider: string
}

export interface CallOptions {
  /** Aborts when nobody waits any more: the call ends at once and is never retried. */
  readonly signal: CallerSignal
  /** Sent to the API as `x-request-id`, and logged. */
  readonly requestId: string
  /** Replace the configured fallbacks. Only a `ModelClient` reads them. */
  readonly fallbacks?: readonly string[] | undefined
  /** On the clock of `performance.now()`, in ms; only matters if earlier than the configured total time. */
  readonly deadline?: number | undefined
  readonly tally?: AttemptCount | undefined
  /** Whether an API that refuses `response_format` is asked again without it. */
  readonly optionalFormat?: boolean | undefined
  readonly activity?: Activity | undefined
  readonly watch?: ModelCall | undefined
}

/** Written out, since a spread takes V8 two microseconds, and reading its copy as long again. */
export function withOptions (
  call: CallOptions,
  { deadline = call.deadline, tally = call.tally, watch = call.watch }: Pick<CallOptions, 'deadline' | 'tally' | 'watch'>
): CallOptions {
  const { signal, requestId, fallbacks, optionalFormat, activity } = call
  return { signal, requestId, fallbacks, deadline, tally, optionalFormat, activity, watch }
}

export interface AttemptCount {
  attempts: number
  /** Attempts that were sent and not answered with an error status: the API can bill each, even if nobody waited. */
  taken: number
}

export function beginTally (): AttemptCount {
  return { attempts: 0, taken: 0 }
}

export interface ModelReply {
  readonly body: Buffer
  /** Its numbers are doubles that may have lost digits, so callers' answers are made from `body`. */
  readonly value: JsonObject
}

export interface ModelStream {
  /** Never errors: ends with `[DONE]` when whole, else with one error event. Destroying it aborts the call of the API at once. */
  readonly events: Readable
  /** Never rejects. */
  readonly ended: Promise<StreamEnd>
}

export interface FrameStream {
  /** Lists of frames that arrived together, the last a `done` or `error`. Leaving the loop aborts the call. */
  readonly frames: AsyncIterable<readonly Frame[]>
  /** Never rejects. */
  readonly ended: Promise<StreamEnd>
}

export async function holdUntilOver<T extends Answers[OperationKind]> (asking: () => Promise<T>, release: () => void): Promise<T> {
  try {
    const answer = await asking()
    if ('ended' in answer) void answer.ended.then(release)
    else release()
    return answer
  } catch (error) {
    release()
    throw error
  }
}

export interface StreamEnd extends StreamFacts {
  readonly error?: Error
}

/** In ms. */
export interface ModelTimeouts {
  readonly connect: number
  /** Until the first byte of a body, or the first event of a stream. */
  readonly firstByte: number
  /** Between two pieces, or two events of a stream; a comment is no event. */
  readonly idle: number
  /** All attempts and the waits between them, up to the last byte. */
  readonly total: number
}

export const DEFAULT_TIMEOUTS: ModelTimeouts = { connect: 5000, firstByte: 120_000, idle: 60_000, total: 600_000 }

/** Of calls of one API at a time, and of those that may wait. */
export const DEFAULT_LIMITS = { concurrency: 1000, queue: 100 } as const

/** In bytes. */
export const DEFAULT_MAX_REPLY_BYTES = 32 * 1024 * 1024

/** In bytes; large, because providers send images in one event. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024

export const ECHO_URL = 'builtin:echo'

export const SCRIPT_URL = 'builtin:script'

export function isBuiltin (url: string): boolean {
  return url === ECHO_URL || url === SCRIPT_URL
}

export interface UpstreamAddress {
  /** The scheme, host and port: `https://api.openai.com`. */
  readonly origin: string
  pathOf (endpoint: string): string
  readonly query: string
}

/** A query, such as Azure's `?api-version=`, is added to every path. @throws TypeError that says what is wrong with the URL */
export function parseBaseUrl (baseUrl: string): UpstreamAddress {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('expected an http or https URL such as https://api.openai.com/v1')
  if (url.username !== '' || url.password !== '') throw new TypeError('expected a URL without credentials; the key belongs into LLM_API_KEY')
  const base = withoutEnd(url.pathname, '/')
  return { origin: url.origin, pathOf: endpoint => `${base}${endpoint}`, query: url.search }
}
