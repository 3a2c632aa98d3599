import type { Readable } from 'node:stream'
import type { JsonObject } from '../base/json.ts'
import { withoutEnd } from '../base/text.ts'
import type { Activity, ModelWatch, StreamFacts } from '../runtime/telemetry.ts'
import type { CallerSignal } from '../runtime/deadline.ts'
import type { Frame } from './frame.ts'

/** The kinds of requests to a model, each with the type of its answer. */
export interface Answers {
  /** A chat completion as a whole. */
  readonly chat: ModelReply
  /**
   * A chat completion as a stream of bytes to pass on. The promise resolves when the first event has come, so that a failure before that event
   * rejects the promise, as with `chat`.
   */
  readonly stream: ModelStream
  /** A chat completion as a stream of parsed events. */
  readonly frames: FrameStream
  readonly embeddings: ModelReply
}

export type OperationKind = keyof Answers

/** One request to a model, with its kind. */
export interface Operation<Kind extends OperationKind, Options extends CallOptions = CallOptions> {
  readonly kind: Kind
  readonly request: ModelRequest
  readonly call: Options
}

/**
 * Asks a model. Unknown fields of the request are passed on to it.
 * @throws UpstreamRefusal for a 4xx that concerns the caller; LLM_UPSTREAM, LLM_RATE_LIMITED, LLM_AUTH, LLM_BUSY, MODEL_NOT_FOUND; the signal's
 * reason when the caller has left
 */
export type Ask = <Kind extends OperationKind>(operation: Operation<Kind>) => Promise<Answers[Kind]>

/** The functions that ask a model, one for each kind of request. */
export type AskByKind = { readonly [Kind in OperationKind]: (operation: Operation<Kind>) => Promise<Answers[Kind]> }

/** A layer between a caller and a model: it wraps the function that asks, for example to retry. */
export type Layer = (ask: Ask) => Ask

/** The upstream of a call: one API in OpenAI's format, or a builtin model. */
export interface ModelUpstream {
  readonly ask: Ask
  /** Ends the connections, within a bounded time. Calls that still run fail. */
  close (): Promise<void>
}

/** The client for all models that the service offers. It chooses a model API by the request's `model`, and asks other models when one fails. */
export interface ModelClient extends ModelUpstream {
  /** The models and aliases that are known by name, in the order of the configuration. */
  models (): readonly ModelDescription[]
}

/** A model, or an alias for one, with the name of its API. */
export interface ModelDescription {
  readonly id: string
  readonly provider: string
}

/** The body of a request to a model. It need not have the field `model`. */
export type ModelRequest = JsonObject

/** The options of a call: for whom it is made, and how long it may take. */
export interface CallOptions {
  /** Aborts when nobody waits for the answer any more. The call of the model is then aborted at once and never retried. */
  readonly signal: CallerSignal
  /** The id of the request, which is sent to the model's API as `x-request-id`, and logged. */
  readonly requestId: string
  /** The models to ask when the first one fails, in this order. They replace the configured fallbacks. Only a `ModelClient` reads them. */
  readonly fallbacks?: readonly string[] | undefined
  /** The latest end of the call, on the clock of `performance.now()`, in ms, if that is earlier than the configured total time. */
  readonly deadline?: number | undefined
  /** Counts the attempts of this call at all model APIs together. A `ModelClient` makes the counter if the caller gives none. */
  readonly tally?: Tally | undefined
  /** Whether `response_format` is only a wish: an API that refuses it is asked again without it. */
  readonly optionalFormat?: boolean | undefined
  /** The observer of the request to the service for which this call is made. The layer `observe` reports every call of a model API to it. */
  readonly activity?: Activity | undefined
  /** The observer of this one call of one model API, which learns of its attempts and its end. The layer `observe` makes it from `activity`. */
  readonly watch?: ModelWatch | undefined
}

/**
 * A copy of a call's options with some of them changed. The members are written out: a copy by spread takes V8 two microseconds, and reading that
 * copy takes as long again.
 */
export function withOptions (
  call: CallOptions,
  { deadline = call.deadline, tally = call.tally, watch = call.watch }: Pick<CallOptions, 'deadline' | 'tally' | 'watch'>
): CallOptions {
  const { signal, requestId, fallbacks, optionalFormat, activity } = call
  return { signal, requestId, fallbacks, deadline, tally, optionalFormat, activity, watch }
}

/** Counts how often model APIs have been asked for one call. */
export interface Tally {
  attempts: number
  /**
   * The attempts that were sent, and that the API has not answered with an error status. The API can bill each of them, even if nobody has waited
   * for the answer.
   */
  taken: number
}

export function beginTally (): Tally {
  return { attempts: 0, taken: 0 }
}

/** A whole reply of a model. */
export interface ModelReply {
  /** The reply as the API sent it, byte for byte. */
  readonly body: Buffer
  /** The reply as parsed JSON. Its numbers are doubles and have perhaps lost digits, so answers to callers are made from `body`. */
  readonly value: JsonObject
}

/** A reply of a model that is still being written, as a stream of bytes. */
export interface ModelStream {
  /**
   * The server-sent events, byte for byte as the API sends them. The stream always ends: with `data: [DONE]` when the answer is whole, with one error
   * event when it is not. The stream itself never errors. Destroy the stream when the client leaves: the call of the API is then aborted at once.
   */
  readonly events: Readable
  /** The outcome of the stream; never rejects. */
  readonly ended: Promise<StreamEnd>
}

/** A reply of a model that is still being written, as a stream of parsed events (frames). */
export interface FrameStream {
  /**
   * The frames, in lists of those that arrived together. The last frame is of the kind `done` or `error`, and its bytes are an event for the client.
   * Leave the loop over the frames to abort the call of the API.
   */
  readonly frames: AsyncIterable<readonly Frame[]>
  /** The outcome of the stream; never rejects. */
  readonly ended: Promise<StreamEnd>
}

/** Makes a call, and runs `release` when the call is over: when it has failed, when a whole reply has come, or at the end of a stream. */
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

/** The outcome of a stream. */
export interface StreamEnd extends StreamFacts {
  /** The reason why the stream has failed. */
  readonly error?: Error
}

/** The longest times that the parts of a call of a model can take, in ms. */
export interface ModelTimeouts {
  /** The longest time until a connection is made. */
  readonly connect: number
  /** The longest time from the request to the first byte of a reply's body, or to the first event of a stream. */
  readonly firstByte: number
  /** The longest time between two pieces of a reply, or between two events of a stream. A comment is no event. */
  readonly idle: number
  /** The longest time for all attempts and the waits between them, up to the last byte of the reply. */
  readonly total: number
}

export const DEFAULT_TIMEOUTS: ModelTimeouts = { connect: 5000, firstByte: 120_000, idle: 60_000, total: 600_000 }

/** The greatest size of a reply, in bytes, unless the options say otherwise. */
export const DEFAULT_MAX_REPLY_BYTES = 32 * 1024 * 1024

/** The greatest size of one event of a stream, in bytes. It is large, because providers send images in one event. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024

/** The base URL of the builtin model that repeats what it is told. */
export const ECHO_URL = 'builtin:echo'

/** The base URL of the builtin model that answers from a file of replies. */
export const SCRIPT_URL = 'builtin:script'

/** Whether a base URL names a builtin model, which runs in the service itself and needs no network. */
export function isBuiltin (url: string): boolean {
  return url === ECHO_URL || url === SCRIPT_URL
}

/** The address of a model API (the upstream). */
export interface UpstreamAddress {
  /** The scheme, host and port: `https://api.openai.com`. */
  readonly origin: string
  /** The path of an endpoint below the base URL: `/v1/chat/completions`. */
  pathOf (endpoint: string): string
  /** The query, with its `?`, that follows every path; `''` for none. */
  readonly query: string
}

/**
 * Parses a base URL such as `https://api.openai.com/v1`, with or without a slash at its end. A query, such as Azure's `?api-version=`, is added to
 * every path.
 * @throws TypeError that says what is wrong with the URL
 */
export function parseBaseUrl (baseUrl: string): UpstreamAddress {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('expected an http or https URL such as https://api.openai.com/v1')
  if (url.username !== '' || url.password !== '') throw new TypeError('expected a URL without credentials; the key belongs into LLM_API_KEY')
  const base = withoutEnd(url.pathname, '/')
  return { origin: url.origin, pathOf: endpoint => `${base}${endpoint}`, query: url.search }
}

/** Fields of a request that mean the same: a provider refuses a request that has both. */
const LIMITS = ['max_completion_tokens', 'max_tokens'] as const

/** Lays a caller's fields over those of a prompt. The caller's limit of tokens also replaces one that the prompt gives under the other name. */
export function mergeFields (defaults: JsonObject, fields: JsonObject): JsonObject {
  const [rival] = LIMITS.filter(name => !isThere(fields, name))
  const merged = { ...defaults, ...fields }
  if (rival === undefined || !isThere(merged, rival) || !LIMITS.some(name => isThere(fields, name))) return merged
  const { [rival]: _, ...rest } = merged
  return rest
}

/** A request without fields that providers refuse beside, or without, another: a second limit of tokens, and what is of tools or of a stream that is none. */
export function withoutConflicts (request: JsonObject): JsonObject {
  const { tools, stream } = request
  const hasTools = Array.isArray(tools) && tools.length > 0
  const wrong = [
    ...(isThere(request, LIMITS[0]) && isThere(request, LIMITS[1]) ? [LIMITS[1]] : []),
    ...(hasTools ? [] : ['tool_choice', 'parallel_tool_calls', 'tools']),
    ...(stream === true ? [] : ['stream_options'])
  ].filter(name => Object.hasOwn(request, name))
  return wrong.length === 0 ? request : Object.fromEntries(Object.entries(request).filter(([name]) => !wrong.includes(name)))
}

function isThere (request: JsonObject, name: string): boolean {
  return Object.hasOwn(request, name) && request[name] !== null
}
