import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Answer, AnswerReader, NO_WORDS } from '../../llm/answer.ts'
import { replyOf, strictMessages } from '../../llm/history.ts'
import { UpstreamError, UpstreamRefusal } from '../../llm/upstream-error.ts'
import { type CallerSignal, timeLimit } from '../../runtime/deadline.ts'
import type { ModelEffect } from '../../session/model.ts'
import type { Outcome } from '../../session/effects.ts'
import { parseParameters } from '../../tool/parameters.ts'
import { readFrames, valueIn } from '../chat/chat-with-prompt.ts'
import { type CountedCall, type CountedModels, type TokenUsage, usageOfStream } from '../chat/models.ts'
import { clipped, type Perform, type Performing } from './performer.ts'

/** The longest answer of a model that is kept whole, in UTF-16 units of its JSON: a plan may contain files of 5 MB. */
const MAX_ANSWER = 8 * 1024 * 1024

/** The longest time that a streamed answer of a model takes in all, in ms. */
const MAX_STREAM_TIME = 600_000

/** How often the followers of a session are told that a model still writes an answer that is not streamed, in ms. */
const PROGRESS = 1000

/** Makes the performer that asks a model for a session. */
export function askModelWith (models: CountedModels): Perform<ModelEffect> {
  return async performing => {
    const { effect: { fields, timeout, maxAnswer = Infinity, returns }, signal } = performing
    const limit = timeLimit(signal, performing.effect.live === true ? MAX_STREAM_TIME : timeout)
    const parts = performing.effect.live === true ? limitParts(limit, timeout) : undefined
    const asked = parts?.signal ?? limit
    const endProgress = parts === undefined ? tellProgress(performing) : undefined
    try {
      const { answers, reply, usage } = await ask(models, performing, { signal: asked, onProgress: () => parts?.progressed() })
      const value = replyOf(answers, reply)
      if (maxAnswer < Infinity && Buffer.byteLength(stringifyJson(value)) > maxAnswer) {
        return { kind: 'failure', code: 'ANSWER_TOO_LONG', message: `the model's answer is longer than ${maxAnswer} bytes` }
      }
      const result = returns === undefined ? value : { ...value, ...valueIn(parseParameters(returns).compiled, answers[0] ?? NO_WORDS) }
      return { kind: 'result', result: clipped(result, MAX_ANSWER), usage: { input: usage.inputTokens, output: usage.outputTokens } }
    } catch (error) {
      if (asked.aborted) return { kind: 'failure', code: 'TIMEOUT', message: `no answer within ${timeout} ms` }
      return failureOf(error, Object.hasOwn(fields, 'tools'))
    } finally {
      parts?.end()
      endProgress?.()
    }
  }
}

/** Tells the followers of a session, again and again, how long a model has been writing. @returns a function that ends this */
function tellProgress ({ effect: { id }, publish }: Performing<ModelEffect>): () => void {
  const begun = performance.now()
  const timer = setInterval(() => { publish({ type: 'llm.progress', effect: id, elapsedMs: Math.round(performance.now() - begun) }) }, PROGRESS)
  return () => { clearInterval(timer) }
}

interface AskOptions extends Pick<CountedCall, 'signal'> {
  readonly onProgress: () => void
}

async function ask (models: CountedModels, performing: Performing<ModelEffect>, { signal, onProgress }: AskOptions): Promise<WholeAnswer> {
  const { session: { id, start, open }, effect, caller, activity, publish } = performing
  const { messages, fields, timeout, returns } = effect
  const request: JsonObject = { ...fields, messages: strictMessages(messages) }
  const isLive = effect.live === true
  const deadline = performance.now() + (isLive ? MAX_STREAM_TIME : timeout)
  // An API that does not know the response format is asked again without the format: the answer is checked here anyway.
  const format = returns === undefined ? {} : { optionalFormat: true }
  const call = { caller, prompt: start.definition, signal, requestId: id, deadline, activity, ...format }
  if (!isLive) return await askWhole({ models, request, call })
  const live = new LiveAnswer(effect.id, publish, open.get(effect.id)?.isAgain === true)
  return await askLive({ models, request, call, live, onProgress })
}

function failureOf (error: unknown, hasTools: boolean): Outcome {
  if (error instanceof UpstreamRefusal) {
    const code = isTooLong(error) ? 'INPUT_TOO_LONG' : hasTools && refusesTools(error) ? 'TOOLS_REFUSED' : 'LLM_REFUSED'
    return { kind: 'failure', code, message: error.inWords }
  }
  if (error instanceof ServiceError) return { kind: 'failure', code: error.code, message: error.message }
  if (error instanceof UpstreamError) return { kind: 'failure', code: 'LLM_UPSTREAM', message: error.message }
  throw error
}

/** Whether a provider has refused a request because of its tools. Providers word this differently, so any refusal that mentions tools or functions counts. */
function refusesTools ({ inWords }: UpstreamRefusal): boolean {
  return /\b(?:tools?|tool_choice|functions?)\b/i.test(inWords)
}

/** Whether a provider has refused a request because it is too long: its reply has the usual code, or one of the usual phrases. */
function isTooLong ({ inWords, code }: UpstreamRefusal): boolean {
  return code === 'context_length_exceeded' || /context.{0,10}(?:length|window|size)|too many tokens|(?:prompt|input|request) is too (?:long|large)|reduce the length/i.test(inWords)
}

/**
 * How long the service waits before it asks again for a model's stream that broke off, in ms: after the first attempt, and after the second. A
 * stream that fails before its first event is repeated by the client of the model itself.
 */
const WAITS = [100, 300]

/** The answers of a model, further members of its reply, and the tokens that it took. */
interface WholeAnswer {
  readonly answers: readonly Answer[]
  readonly reply: JsonObject
  readonly usage: TokenUsage
}

/** A request to a model, and the functions that are called while the answer arrives. */
interface LiveAsking {
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
async function askLive (asking: LiveAsking): Promise<WholeAnswer> {
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
async function askWhole ({ models, request, call }: Pick<LiveAsking, 'models' | 'request' | 'call'>): Promise<WholeAnswer> {
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
interface PartLimit {
  readonly signal: CallerSignal
  /** Called when a piece has arrived, so that the wait for the next one begins anew. */
  progressed (): void
  end (): void
}

/** Limits the time between two pieces of a stream. @param signal limits the whole stream @param between the longest time between two pieces, in ms */
function limitParts (signal: CallerSignal, between: number): PartLimit {
  const silence = new AbortController()
  const timer = setTimeout(() => { silence.abort(new DOMException('nothing came in time', 'TimeoutError')) }, between)
  return {
    signal: AbortSignal.any([signal as AbortSignal, silence.signal]),
    progressed () { timer.refresh() },
    end () { clearTimeout(timer) }
  }
}

/** The time for which text is collected before the session's followers get it, in ms: people do not notice it. After a longer silence, text is sent at once. */
const PAUSE = 15

/** The longest part of one answer that the session's followers get while the model writes, in UTF-16 units. The effect's result has the whole answer. */
const MOST = 256 * 1024

/** Publishes a model's answer to the followers of a session while it is being written: in few pieces, up to a limit, and never stored. */
class LiveAnswer {
  readonly #effect: string
  readonly #publish: (live: JsonObject) => void
  #waiting = ''
  #left = MOST
  #hasTold: boolean
  /** The time at which text was last sent, in ms of `performance.now()`. */
  #toldAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  /**
   * Begins to publish the answer to one question. @param isAgain whether the model was asked before a crash, so that followers perhaps have
   * pieces of an earlier answer
   */
  constructor (effect: string, publish: (live: JsonObject) => void, isAgain: boolean) {
    this.#effect = effect
    this.#publish = publish
    this.#hasTold = isAgain
    this.begin()
  }

  /** Begins a new attempt to get the answer. The session's followers are told to drop the text of the attempt before. */
  begin (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = ''
    this.#left = MOST
    if (this.#hasTold) this.#publish({ type: 'llm.reset', effect: this.#effect })
    this.#hasTold = false
  }

  append (text: string): void {
    if (text === '' || this.#left === 0) return
    const part = text.slice(0, this.#left)
    this.#left -= part.length
    this.#waiting += part
    const rest = this.#toldAt + PAUSE - performance.now()
    if (rest <= 0) this.end()
    else this.#timer ??= setTimeout(() => { this.end() }, rest)
  }

  /** Sends the text that was collected and is not sent yet. */
  end (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#waiting
    if (text === '') return
    this.#waiting = ''
    this.#hasTold = true
    this.#toldAt = performance.now()
    this.#publish({ type: 'llm.delta', effect: this.#effect, text })
  }
}
