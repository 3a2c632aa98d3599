import { type Readable } from 'node:stream'
import { type Activity, type ModelWatch, type StreamFacts } from '../runtime/activity.ts'
import { type JsonObject } from '../base/json.ts'
import { type CallerSignal } from '../runtime/caller-signal.ts'
import { type Frame } from './stream/frame.ts'

/** What a model can be asked for, and what it answers. */
export interface Answers {
  /** A chat completion. */
  readonly chat: ModelReply
  /**
   * Asks for a chat completion as a stream, to be passed on. The promise resolves with the first event, so that a failure
   * before that event is an error like those of `chat`.
   */
  readonly stream: ModelStream
  /** The same, to be read along. */
  readonly frames: FrameStream
  readonly embeddings: ModelReply
}

export type OperationKind = keyof Answers

/** One thing that a model is asked for. */
export interface Operation<Kind extends OperationKind, Options extends CallOptions = CallOptions> {
  readonly kind: Kind
  readonly request: ModelRequest
  readonly call: Options
}

/**
 * Asks a model. Unknown fields of the request pass through.
 * @throws UpstreamRefusal for a 4xx that concerns the caller; LLM_UPSTREAM, LLM_RATE_LIMITED, LLM_AUTH, LLM_BUSY,
 * MODEL_NOT_FOUND; the signal's reason when the caller has left
 */
export type Ask = <Kind extends OperationKind>(operation: Operation<Kind>) => Promise<Answers[Kind]>

/** A way to ask for each kind. */
export type AskByKind = { readonly [Kind in OperationKind]: (operation: Operation<Kind>) => Promise<Answers[Kind]> }

/** A part of the way between a caller and a model. */
export type Layer = (ask: Ask) => Ask

/** One API in the format of OpenAI's, or a model that is built in. */
export interface ModelUpstream {
  readonly ask: Ask
  /** Ends connections, within a bounded time; calls that still run fail. */
  close (): Promise<void>
}

/** All models that the service offers: routes a request by its `model`, and falls back to others. */
export interface ModelClient extends ModelUpstream {
  /** The models and aliases that are known by name, in the order of their registration. */
  models (): readonly ModelDescription[]
}

/** A model, or an alias of one. */
export interface ModelDescription {
  readonly id: string
  readonly provider: string
}

/** The body of a request; `model` may be left out. */
export type ModelRequest = JsonObject

/** Who calls, and for how long. */
export interface CallOptions {
  /** Aborts when nobody waits any more: the upstream call is aborted at once and never retried. */
  readonly signal: CallerSignal
  /** Sent to the upstream as `x-request-id`, and logged. */
  readonly requestId: string
  /** Models to ask when the first one fails, in this order. They replace the configured fallbacks. Only a `ModelClient` reads them. */
  readonly fallbacks?: readonly string[] | undefined
  /** The latest end of the call, on the clock of `performance.now()`, in ms, if that is sooner than the total time allows. */
  readonly deadline?: number | undefined
  /** Of the attempts over all providers; a `ModelClient` makes one where it is left out. */
  readonly tally?: Tally | undefined
  /** Whether `response_format` is a wish: an upstream that refuses it is asked again without it. */
  readonly optionalFormat?: boolean | undefined
  /** Every call of a provider is reported to it. */
  readonly activity?: Activity | undefined
  /** Who watches this call of this provider; `observe` sets it. */
  readonly watch?: ModelWatch | undefined
}

/**
 * The same call with options of its own. The members are written out: a copy by spread takes V8 two microseconds, and reading
 * that copy takes as long again.
 */
export function withOptions (
  call: CallOptions,
  { deadline = call.deadline, tally = call.tally, watch = call.watch }: Pick<CallOptions, 'deadline' | 'tally' | 'watch'>
): CallOptions {
  const { signal, requestId, fallbacks, optionalFormat, activity } = call
  return { signal, requestId, fallbacks, deadline, tally, optionalFormat, activity, watch }
}

/** How often providers have been asked for one call. */
export interface Tally {
  attempts: number
  /** Attempts that were sent and not refused with a status. A provider may bill each of them, even when nobody waited for its answer. */
  taken: number
}

export function beginTally (): Tally {
  return { attempts: 0, taken: 0 }
}

/** A whole reply of the model. */
export interface ModelReply {
  /** The reply as the upstream sent it, byte for byte. */
  readonly body: Buffer
  /** The same, parsed for reading: numbers are doubles, so answer with `body`. */
  readonly value: JsonObject
}

/** A reply of the model as it is being written. */
export interface ModelStream {
  /**
   * Server-sent events, byte for byte the upstream's own. The stream always ends: with `data: [DONE]` when the answer is
   * whole, with one error event when it is not. The stream itself never errors. Destroy it when the client leaves: the
   * upstream is then aborted at once.
   */
  readonly events: Readable
  /** What became of it; never rejects. */
  readonly ended: Promise<StreamEnd>
}

/** The same, parsed. */
export interface FrameStream {
  /**
   * The frames, in lists of those that arrived together. The last frame is of kind `done` or `error`, and its bytes are an
   * event for the client. Leave the loop over the frames to abort the upstream.
   */
  readonly frames: AsyncIterable<readonly Frame[]>
  /** What became of it; never rejects. */
  readonly ended: Promise<StreamEnd>
}

/** Runs a call, and `release` when the call is over: when it has failed, when a whole reply is there, or at the end of a stream. */
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

/** What became of a stream. */
export interface StreamEnd extends StreamFacts {
  /** Why it has failed. */
  readonly error?: Error
}

/** How long a call may take, in ms. */
export interface ModelTimeouts {
  /** Until the connection stands. */
  readonly connect: number
  /** From the request to the first byte of a reply's body, or the first event of a stream. */
  readonly firstByte: number
  /** Between two pieces of a reply, or two events of a stream; a comment is none. */
  readonly idle: number
  /** Over all attempts and waits, up to the last byte. */
  readonly total: number
}

export const DEFAULT_TIMEOUTS: ModelTimeouts = { connect: 5000, firstByte: 120_000, idle: 60_000, total: 600_000 }

/** Replies above this size are refused, in bytes. */
export const DEFAULT_MAX_REPLY_BYTES = 32 * 1024 * 1024

/** One event of a stream may be this large, in bytes: providers send images in one. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024
