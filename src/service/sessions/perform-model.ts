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
import type { CountedCall, CountedModels, CountedReply } from '../chat/models.ts'
import { clipped, type Perform, type Performing } from './performer.ts'

/** In UTF-16 units of its JSON: a plan may contain files of 5 MB. */
const MAX_ANSWER = 8 * 1024 * 1024

/** In ms. */
const MAX_STREAM_TIME = 600_000

/** In ms, for an answer that is not streamed. */
const PROGRESS = 1000

export function askModelWith (models: CountedModels): Perform<ModelEffect> {
  return async performing => {
    const { session: { id, start }, effect, caller, signal, activity } = performing
    const { fields, messages, timeout, maxAnswer = Infinity, returns } = effect
    const isLive = effect.live === true
    const whole = isLive ? MAX_STREAM_TIME : timeout
    const limit = timeLimit(signal, whole)
    const parts = isLive ? limitParts(limit, timeout) : undefined
    const asked = parts?.signal ?? limit
    const endProgress = isLive ? undefined : tellProgress(performing)
    const request: JsonObject = { ...fields, messages: strictMessages(messages) }
    const call: CountedCall = {
      caller,
      prompt: start.definition,
      signal: asked,
      requestId: id,
      deadline: performance.now() + whole,
      activity,
      // An API that does not know the response format is asked again without it: the answer is checked here anyway.
      optionalFormat: returns !== undefined
    }
    try {
      const { answers, reply, usage, cost } = parts === undefined
        ? await askWhole(models, request, call)
        : await askLive(models, request, call, new LiveAnswer(performing), () => { parts.progressed() })
      const value = replyOf(answers, reply)
      if (maxAnswer < Infinity && Buffer.byteLength(stringifyJson(value)) > maxAnswer) {
        return { kind: 'failure', code: 'ANSWER_TOO_LONG', message: `the model's answer is longer than ${maxAnswer} bytes` }
      }
      const result = returns === undefined ? value : { ...value, ...valueIn(parseParameters(returns).compiled, answers[0] ?? NO_WORDS) }
      const usd = cost === undefined ? null : cost / 1e9
      return { kind: 'result', result: clipped(result, MAX_ANSWER), usage: { input: usage.inputTokens, output: usage.outputTokens, usd } }
    } catch (error) {
      if (asked.aborted) return { kind: 'failure', code: 'TIMEOUT', message: `no answer within ${timeout} ms` }
      return failureOf(error, Object.hasOwn(fields, 'tools'))
    } finally {
      parts?.end()
      endProgress?.()
    }
  }
}

function tellProgress ({ effect: { id }, publish }: Performing<ModelEffect>): () => void {
  const begun = performance.now()
  const timer = setInterval(() => { publish({ type: 'llm.progress', effect: id, elapsedMs: Math.round(performance.now() - begun) }) }, PROGRESS)
  return () => { clearInterval(timer) }
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

function isTooLong ({ inWords, code }: UpstreamRefusal): boolean {
  return code === 'context_length_exceeded' || /context.{0,10}(?:length|window|size)|too many tokens|(?:prompt|input|request) is too (?:long|large)|reduce the length/i.test(inWords)
}

/** In ms, after the first and the second stream that broke off; the client of the model repeats what fails before an event. */
const WAITS = [100, 300]

interface WholeAnswer extends Pick<CountedReply, 'usage' | 'cost'> {
  readonly answers: readonly Answer[]
  readonly reply: JsonObject
}

/** Asks again for a stream that breaks off. @throws as `CountedModels.ask`; UpstreamError when every attempt broke off */
async function askLive (models: CountedModels, request: JsonObject, call: CountedCall, live: LiveAnswer, onProgress: () => void): Promise<WholeAnswer> {
  for (let attempt = 0; ; attempt++) {
    live.begin()
    try {
      return await attemptLive(models, request, call, live, onProgress)
    } catch (error) {
      if (refusesStreams(error)) return await askWhole(models, request, call)
      const wait = WAITS[attempt]
      if (!(error instanceof BrokenOff) || wait === undefined || call.signal.aborted) throw error
      await sleep(wait)
    }
  }
}

async function askWhole (models: CountedModels, request: JsonObject, call: CountedCall): Promise<WholeAnswer> {
  const { value, usage, cost } = await models.ask({ kind: 'chat', request, call })
  const reader = new AnswerReader(request)
  reader.add(value)
  return { answers: reader.answers(), reply: value, usage, cost }
}

class BrokenOff extends UpstreamError {}

async function attemptLive (models: CountedModels, request: JsonObject, call: CountedCall, live: LiveAnswer, onProgress: () => void): Promise<WholeAnswer> {
  const asked = { ...request, stream: true, stream_options: { include_usage: true } }
  const stream = await models.ask({ kind: 'frames', request: asked, call })
  const reader = new AnswerReader(request)
  let isWhole = false
  for await (const frame of readFrames(stream, call.signal)) {
    onProgress()
    if (frame.kind === 'error') throw new BrokenOff(frame.error.message, { retryable: true, cause: frame.error })
    if (frame.kind === 'done') isWhole = true
    if (frame.kind === 'chunk') live.append(reader.add(frame.chunk).text)
  }
  if (!isWhole) throw new BrokenOff('the answer broke off', { retryable: true })
  live.end()
  return { answers: reader.answers(), reply: { object: 'chat.completion' }, ...await stream.counted }
}

function refusesStreams (error: unknown): boolean {
  if (error instanceof UpstreamRefusal) return /\bstream(?:ing|s|_options)?\b/i.test(error.inWords)
  return error instanceof ServiceError && /is not an event stream/.test(error.message)
}

/** `signal` limits the whole stream, `between` the time between two pieces, in ms. */
function limitParts (signal: CallerSignal, between: number): { readonly signal: CallerSignal, progressed (): void, end (): void } {
  const silence = new AbortController()
  const timer = setTimeout(() => { silence.abort(new DOMException('nothing came in time', 'TimeoutError')) }, between)
  return {
    signal: AbortSignal.any([signal as AbortSignal, silence.signal]),
    progressed () { timer.refresh() },
    end () { clearTimeout(timer) }
  }
}

/** In ms, too short for people to notice; after a longer silence, text is sent at once. */
const PAUSE = 15

/** In UTF-16 units, while the model writes; the effect's result has the whole answer. */
const MOST = 256 * 1024

/** In few pieces, up to a limit, and never stored. */
class LiveAnswer {
  readonly #effect: string
  readonly #publish: (live: JsonObject) => void
  #waiting = ''
  #left = MOST
  #hasTold: boolean
  /** In ms of `performance.now()`. */
  #toldAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor ({ session: { open }, effect: { id }, publish }: Performing<ModelEffect>) {
    this.#effect = id
    this.#publish = publish
    // Asked before a crash: followers perhaps have pieces of an earlier answer.
    this.#hasTold = open.get(id)?.isAgain === true
    this.begin()
  }

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
