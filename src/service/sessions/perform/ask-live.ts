import { setTimeout as sleep } from 'node:timers/promises'
import { type JsonObject } from '../../../base/json.ts'
import { ServiceError } from '../../../base/errors.ts'
import { type Answer, AnswerReader } from '../../../llm/answer.ts'
import { UpstreamError, UpstreamRefusal } from '../../../llm/upstream-error.ts'
import { type CallerSignal } from '../../../runtime/caller-signal.ts'
import { readFrames } from '../../chat/chat-stream.ts'
import { type CountedCall, type CountedModels, usageOfStream } from '../../chat/counted-models.ts'
import { type TokenUsage } from '../../chat/usage-counter.ts'
import { type LiveAnswer } from './live-answer.ts'

/**
 * How long the service waits before it asks again for a model's stream that broke off, in ms: after the first attempt, and after the second. A
 * stream that fails before its first event is repeated by the client of the model itself.
 */
const WAITS = [100, 300]

/** The answers of a model, further members of its reply, and the tokens that it took. */
export interface WholeAnswer {
  readonly answers: readonly Answer[]
  readonly reply: JsonObject
  readonly usage: TokenUsage
}

/** A request to a model, and the functions that are called while the answer arrives. */
export interface LiveAsking {
  readonly models: CountedModels
  readonly request: JsonObject
  readonly call: CountedCall
  readonly live: LiveAnswer
  /** Called for each frame of the stream. */
  readonly onProgress: () => void
}

/**
 * Asks a model for its answer as a stream, passes each piece on, and gives the whole answer at the end. A stream that breaks off is asked
 * for again. An API that cannot stream is asked for a whole reply.
 * @throws as `CountedModels.ask`; UpstreamError when every attempt broke off
 */
export async function askLive (asking: LiveAsking): Promise<WholeAnswer> {
  const { call, live } = asking
  for (let attempt = 0; ; attempt++) {
    live.begin()
    try {
      return await attemptLive(asking)
    } catch (error) {
      if (refusesStreams(error)) return await askWhole(asking)
      const wait = WAITS[attempt]
      if (!(error instanceof BrokenOff) || wait === undefined || call.signal.aborted) throw error
      await sleep(wait)
    }
  }
}

/** Asks a model for its answer as a whole. */
export async function askWhole ({ models, request, call }: Pick<LiveAsking, 'models' | 'request' | 'call'>): Promise<WholeAnswer> {
  const { value, usage } = await models.ask({ kind: 'chat', request, call })
  const reader = new AnswerReader(request)
  reader.add(value)
  return { answers: reader.answers(), reply: value, usage }
}

/** The error of a stream that began and broke off before its end. */
class BrokenOff extends UpstreamError {}

async function attemptLive ({ models, request, call, live, onProgress }: LiveAsking): Promise<WholeAnswer> {
  const asked = { ...request, stream: true, stream_options: { include_usage: true } }
  const stream = await models.ask({ kind: 'frames', request: asked, call })
  const reader = new AnswerReader(request)
  let isWhole = false
  for await (const frame of readFrames(stream, call.signal)) {
    onProgress()
    if (frame.kind === 'error') throw new BrokenOff(frame.error.message, { retryable: true, cause: frame.error })
    if (frame.kind === 'done') isWhole = true
    if (frame.kind !== 'chunk') continue
    live.append(reader.add(frame.chunk).text)
  }
  if (!isWhole) throw new BrokenOff('the answer broke off', { retryable: true })
  live.end()
  return { answers: reader.answers(), reply: { object: 'chat.completion' }, usage: usageOfStream(request, await stream.ended) }
}

/** Whether an error means that the API cannot stream: it says so, or its reply was no stream. */
function refusesStreams (error: unknown): boolean {
  if (error instanceof UpstreamRefusal) return /\bstream(?:ing|s|_options)?\b/i.test(error.inWords)
  return error instanceof ServiceError && /is not an event stream/.test(error.message)
}

/** A time limit for a stream: its signal aborts when no piece arrives for a time, or when the stream takes too long in all. */
export interface PartLimit {
  readonly signal: CallerSignal
  /** Called when a piece has arrived, so that the wait for the next one begins anew. */
  progressed (): void
  end (): void
}

/** Limits the time between two pieces of a stream. @param signal limits the whole stream @param between the longest time between two pieces, in ms */
export function limitParts (signal: CallerSignal, between: number): PartLimit {
  const silence = new AbortController()
  const timer = setTimeout(() => { silence.abort(new DOMException('nothing came in time', 'TimeoutError')) }, between)
  return {
    signal: AbortSignal.any([signal as AbortSignal, silence.signal]),
    progressed () { timer.refresh() },
    end () { clearTimeout(timer) }
  }
}
