import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { ServiceError } from '../../../base/errors.ts'
import { UpstreamError, UpstreamRefusal } from '../../../llm/upstream-error.ts'
import { type CallerSignal } from '../../../runtime/caller-signal.ts'
import { readFrames } from '../../chat/chat-stream.ts'
import { type CountedCall, type CountedModels, usageOfStream } from '../../chat/counted-models.ts'
import { ReplyAssembler } from '../../chat/reply-assembler.ts'
import { type TokenUsage } from '../../chat/usage-counter.ts'
import { type LiveAnswer } from './live-answer.ts'

/**
 * How long the service waits before it asks again for a model's stream that broke off, in ms: after the first attempt, and after the second. A
 * stream that fails before its first event is repeated by the client of the model itself.
 */
const WAITS = [100, 300]

/** The whole answer of a model, and the tokens that it took. */
export interface WholeAnswer {
  readonly value: JsonObject
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
  const { models, request, call, live } = asking
  for (let attempt = 0; ; attempt++) {
    live.begin()
    try {
      return await attemptLive(asking)
    } catch (error) {
      if (refusesStreams(error)) return await models.ask({ kind: 'chat', request, call })
      const wait = WAITS[attempt]
      if (!(error instanceof BrokenOff) || wait === undefined || call.signal.aborted) throw error
      await sleep(wait)
    }
  }
}

/** The error of a stream that began and broke off before its end. */
class BrokenOff extends UpstreamError {}

async function attemptLive ({ models, request, call, live, onProgress }: LiveAsking): Promise<WholeAnswer> {
  const asked = { ...request, stream: true, stream_options: { include_usage: true } }
  const stream = await models.ask({ kind: 'frames', request: asked, call })
  const assembler = new ReplyAssembler()
  let isWhole = false
  for await (const frame of readFrames(stream, call.signal)) {
    onProgress()
    if (frame.kind === 'error') throw new BrokenOff(frame.error.message, { retryable: true, cause: frame.error })
    if (frame.kind === 'done') isWhole = true
    if (frame.kind !== 'chunk') continue
    assembler.add(frame)
    live.append(textIn(frame.chunk))
  }
  if (!isWhole) throw new BrokenOff('the answer broke off', { retryable: true })
  live.end()
  return { value: replyOf(assembler), usage: usageOfStream(request, await stream.ended) }
}

/** The streamed answer in the form of a whole reply of OpenAI's API. */
function replyOf (assembler: ReplyAssembler): JsonObject {
  return { object: 'chat.completion', choices: assembler.messages().map((message, index) => ({ index, message, finish_reason: 'stop' })) }
}

/** The text that a piece of the stream adds to the first choice. */
function textIn ({ choices }: JsonObject): string {
  const choice = Array.isArray(choices) ? (choices as readonly Json[]).find(each => isJsonObject(each) && (each['index'] ?? 0) === 0) : undefined
  const delta = isJsonObject(choice) ? choice['delta'] : undefined
  const content = isJsonObject(delta) ? delta['content'] : undefined
  return typeof content === 'string' ? content : ''
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
