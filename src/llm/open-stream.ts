import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { Redact } from '../base/redact.ts'
import { finishOf } from './answer.ts'
import type { StreamEnd } from './model-client.ts'
import { createFrameParser, DONE_EVENT, errorEvent, type Frame, type FrameParser, writtenBytes } from './frame.ts'
import { UpstreamError } from './upstream-error.ts'
import { Exchange, ReplyCollector, type ReplyHead, type ReplyReceiver, type UpstreamRequest } from './exchange.ts'
import { badReply, statusError } from './judge-reply.ts'

/** OpenAI's own limit of `n` is 128; without a limit an API could make the map of choices grow for ever. */
const MAX_CHOICES = 1000

/** Decides at the end whether a stream is whole or cut; reads only the members it needs, since providers add what they like. */
export class StreamJudge {
  readonly #expectedChoices: number
  readonly #choices = new Map<Json, 'open' | 'finished'>()
  #chunks = 0
  isDone = false
  usage: JsonObject | undefined
  model: string | undefined
  /** In bytes of UTF-8. */
  bytes = 0

  constructor (expectedChoices: number) {
    this.#expectedChoices = expectedChoices
  }

  /** @throws UpstreamError for a frame that must not be passed on */
  judge (frame: Frame): void {
    switch (frame.kind) {
      case 'chunk': return this.#read(frame.chunk)
      case 'comment': return
      case 'error': throw frame.error
      case 'done':
        this.requireChunk()
        this.isDone = true
    }
  }

  /** Whole even without `[DONE]`: every choice has its `finish_reason`. */
  get isFinished (): boolean {
    if (this.#choices.size < this.#expectedChoices) return false
    return [...this.#choices.values()].every(state => state === 'finished')
  }

  /** @throws UpstreamError when no chunk has come, or none has had a choice */
  requireChunk (): void {
    if (this.#chunks === 0) throw new UpstreamError('the stream is empty', { retryable: false })
    if (this.#choices.size === 0) throw new UpstreamError('the stream has no choices', { retryable: true })
  }

  #read (chunk: JsonObject): void {
    this.#chunks++
    const { usage = null, model, choices } = chunk
    if (isJsonObject(usage)) this.usage = usage
    if (typeof model === 'string') this.model = model
    if (!Array.isArray(choices)) return
    for (const choice of choices as readonly Json[]) {
      if (isJsonObject(choice)) this.#readChoice(choice)
    }
    if (this.#choices.size > MAX_CHOICES) throw new UpstreamError(`the stream has more than ${MAX_CHOICES} choices`, { retryable: false })
  }

  #readChoice (choice: JsonObject): void {
    const { index = 0, delta = null } = choice
    if (finishOf(choice) !== undefined) this.#choices.set(index, 'finished')
    else if (!this.#choices.has(index)) this.#choices.set(index, 'open')
    if (isJsonObject(delta)) this.bytes += writtenBytes(delta)
  }
}

export interface StreamTerms {
  readonly as: RelayedAs
  readonly choices: number
  /** The greatest size of one event, in bytes. */
  readonly maxEventBytes: number
  readonly redact: Redact
  readonly ended: (end: StreamEnd) => void
}

/** In bytes, of a reply that is no stream: the body of an error. */
const MAX_ERROR_BYTES = 1024 * 1024

/** @throws UpstreamError or UpstreamRefusal while no event has been passed on; the reason of the request's signal */
export function openStream (request: UpstreamRequest, terms: StreamTerms): Promise<Readable> {
  return new Promise((resolve, reject) => {
    // eslint-disable-next-line no-new -- the exchange does its work in callbacks, so nobody needs the object
    new Exchange(request, new StreamOpener(terms, resolve, reject))
  })
}

/** Reads the head of a reply, and passes the rest on: a stream to an `EventRelay`, any other reply to a `ReplyCollector`. */
class StreamOpener implements ReplyReceiver {
  readonly #terms: StreamTerms
  readonly #resolve: (events: Readable) => void
  readonly #reject: (error: unknown) => void
  #receiver: ReplyReceiver | undefined

  constructor (terms: StreamTerms, resolve: (events: Readable) => void, reject: (error: unknown) => void) {
    this.#terms = terms
    this.#resolve = resolve
    this.#reject = reject
  }

  head (head: ReplyHead, exchange: Exchange): void {
    this.#receiver = isEventStream(head) ? this.#relay(exchange) : this.#collector()
    this.#receiver.head(head, exchange)
  }

  data (chunk: Buffer): boolean {
    return this.#receiver?.data(chunk) ?? true
  }

  end (): void {
    this.#receiver?.end()
  }

  fail (error: unknown): void {
    if (this.#receiver === undefined) this.#reject(error)
    else this.#receiver.fail(error)
  }

  #relay (exchange: Exchange): EventRelay {
    const { as, choices, redact, maxEventBytes, ended } = this.#terms
    const relay = new EventRelay(as, exchange, createFrameParser(maxEventBytes, redact), new StreamJudge(choices), {
      begun: () => this.#resolve(relay.events),
      failed: this.#reject,
      ended
    })
    return relay
  }

  #collector (): ReplyCollector {
    return new ReplyCollector(MAX_ERROR_BYTES, reply => {
      const isError = reply.status < 200 || reply.status > 299
      this.#reject(isError ? statusError(reply, this.#terms.redact) : badReply(reply, 'the reply is not an event stream', this.#terms.redact))
    }, this.#reject)
  }
}

function isEventStream ({ status, headers }: ReplyHead): boolean {
  return status >= 200 && status <= 299 && isEventStreamType(headers)
}

/** Some servers send no type, which is accepted; any other is a page of HTML, or JSON. */
function isEventStreamType (headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type']
  return type === undefined || /^\s*text\/event-stream\b/i.test(type)
}

interface RelayListener {
  /** The first bytes are passed on: from now on the call cannot be tried again. */
  begun (): void
  /** Failed before anything was passed on. */
  failed (error: unknown): void
  ended (end: StreamEnd): void
}

export type RelayedAs = 'bytes' | 'frames'

/** Bytes that wait for a slow client; then the relay reads nothing from the API. */
const HIGH_WATER_MARK = 64 * 1024

/** Lists that wait for slow code, each of one piece of data (at most 64 KiB); then nothing is read from the API. */
const MAX_WAITING_LISTS = 2

/** Bytes of comments kept before the first event; further ones are dropped. */
const MAX_PRELUDE = 64 * 1024

/** In ms, for the end of the reply after `[DONE]`: only then can its connection be used again. */
const LINGER = 1000

/** Passes on whole events only, at once. Ends with `[DONE]`, added if all choices are finished, or with one error event instead. */
export class EventRelay implements ReplyReceiver {
  /** Destroying this stream aborts the call of the API at once. */
  readonly events: Readable
  readonly #as: RelayedAs
  readonly #exchange: Pick<Exchange, 'abort' | 'resume' | 'progressed'>
  readonly #parser: FrameParser
  readonly #judge: StreamJudge
  readonly #listener: RelayListener
  #linger: NodeJS.Timeout | undefined
  /** Not passed on at once: APIs send comments while they are busy, and can fail later. */
  #prelude: Frame[] = []
  #preludeLength = 0
  #begun = false
  #over = false

  constructor (as: RelayedAs, exchange: Pick<Exchange, 'abort' | 'resume' | 'progressed'>, parser: FrameParser, judge: StreamJudge, listener: RelayListener) {
    this.#as = as
    this.#exchange = exchange
    this.#parser = parser
    this.#judge = judge
    this.#listener = listener
    this.events = new Readable({
      objectMode: as === 'frames',
      highWaterMark: as === 'frames' ? MAX_WAITING_LISTS : HIGH_WATER_MARK,
      read: () => this.#exchange.resume(),
      destroy: (error, callback) => {
        this.#leave()
        callback(error)
      }
    })
  }

  head (_head: ReplyHead): void {
    // Status and headers were checked by the code that made this relay.
  }

  data (chunk: Buffer): boolean {
    // Data after [DONE] is only read, so that the reply can end.
    if (this.#over) return true
    const goOn = this.#pass(this.#parser.feed(chunk))
    if (!this.#judge.isDone) return goOn
    this.#complete()
    this.#linger = setTimeout(() => this.#exchange.abort(new Error('done')), LINGER).unref()
    return true
  }

  end (): void {
    clearTimeout(this.#linger)
    if (this.#over) return
    try {
      this.#pass(this.#parser.finish())
      if (!this.#judge.isDone) this.#endWithoutDone()
      this.#complete()
    } catch (error) {
      this.fail(error)
    }
  }

  fail (error: unknown): void {
    clearTimeout(this.#linger)
    if (this.#over) return
    this.#over = true
    if (!this.#begun) return this.#listener.failed(error)
    if (!(error instanceof UpstreamError)) {
      this.events.destroy()
      return this.#listener.ended(this.#summary('left'))
    }
    this.#write([{ bytes: errorEvent(error), kind: 'error', error }])
    this.events.push(null)
    this.#listener.ended({ ...this.#summary('failed'), error })
  }

  /** `false` when the reader of `events` must first read what is waiting. */
  #pass (frames: Iterable<Frame>): boolean {
    const sound: Frame[] = []
    let hasEvent = false
    let failure: unknown
    try {
      for (const frame of frames) {
        this.#judge.judge(frame)
        sound.push(frame)
        hasEvent ||= frame.kind !== 'comment'
        if (this.#judge.isDone) break
      }
    } catch (error) {
      failure = error
    }
    // Nothing was passed on, so another attempt may still succeed.
    if (failure !== undefined && !this.#begun) throw failure
    // A large event that still arrives is progress: images come in one event.
    if (hasEvent || this.#parser.isInEvent) this.#exchange.progressed()
    if (!this.#begun && !hasEvent) return this.#keep(sound)
    const goOn = sound.length === 0 || this.#push(sound)
    if (failure !== undefined) throw failure
    return goOn
  }

  /** An API that sends only comments counts as silent. */
  #keep (comments: readonly Frame[]): true {
    for (const comment of comments) {
      this.#preludeLength += comment.bytes.length
      if (this.#preludeLength <= MAX_PRELUDE) this.#prelude.push(comment)
    }
    return true
  }

  #push (sound: readonly Frame[]): boolean {
    const goOn = this.#write(this.#begun ? sound : [...this.#prelude, ...sound])
    if (!this.#begun) {
      this.#begun = true
      this.#prelude = []
      this.#listener.begun()
    }
    return goOn
  }

  #write (frames: readonly Frame[]): boolean {
    return this.events.push(this.#as === 'frames' ? frames : joined(frames))
  }

  #endWithoutDone (): void {
    this.#judge.requireChunk()
    if (!this.#judge.isFinished) throw new UpstreamError('the stream ended without a finish_reason', { retryable: false })
    this.#push([{ bytes: DONE_EVENT, kind: 'done' }])
  }

  #complete (): void {
    this.#over = true
    this.events.push(null)
    this.#listener.ended(this.#summary('complete'))
  }

  #leave (): void {
    if (this.#over) return
    this.#over = true
    this.#exchange.abort(new Error('the reader has left'))
    this.#listener.ended(this.#summary('left'))
  }

  #summary (outcome: StreamEnd['outcome']): StreamEnd {
    const { usage, model, bytes } = this.#judge
    return { outcome, bytes, usage, model }
  }
}

function joined (frames: readonly Frame[]): Buffer {
  const [only] = frames
  return frames.length === 1 && only !== undefined ? only.bytes : Buffer.concat(frames.map(({ bytes }) => bytes))
}
