import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { createRedactor, isSensitive, type Redact } from '../base/redact.ts'
import type { ModelCall } from '../observe/activity.ts'
import type { Log } from '../runtime/telemetry.ts'
import { AnswerReader } from './answer.ts'
import {
  type Answers, type AskByKind, type CallOptions, MAX_EVENT_BYTES, type ModelReply, type ModelTimeouts, type ModelUpstream, type Operation,
  type OperationKind, type StreamEnd, type UpstreamAddress
} from './model-client.ts'
import { bodyOf, changed, memberOf, withoutConflicts } from './model-request.ts'
import { createFrameParser, DONE_EVENT, errorEvent, type Frame, type FrameParser, StreamJudge } from './frame.ts'
import { UpstreamError, UpstreamRefusal } from './upstream-error.ts'
import { collectReply, Connections, Exchange, ReplyCollector, type ReplyHead, type ReplyReceiver, type UpstreamRequest } from './exchange.ts'
import { badReply, judgeReply, statusError } from './judge-reply.ts'
import type { ProviderConfig } from './providers.ts'

/** Values of this many characters count as secrets, whatever the header's name. */
const LENGTH_OF_SECRETS = 8

/** Redacts the operator's header values in replies: callers get them, and some gateways print a request's headers into errors. */
export function redactHeaders (headers: ReadonlyArray<readonly [name: string, value: string]>): Redact {
  return createRedactor(headers
    .filter(([name, value]) => isSensitive(name) || value.length >= LENGTH_OF_SECRETS)
    .map(([, value]) => withoutScheme(value)))
}

/** `Bearer` is no secret: https://www.rfc-editor.org/rfc/rfc9110#section-11.4 */
function withoutScheme (value: string): string {
  return value.replace(/^[\w-]+ +(?=\S+$)/, '')
}

const OWN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'x-request-id', 'traceparent'])

const COMPLETIONS = '/chat/completions'

const NOT_FOUND = 'it has no such path, or no such model; most base URLs end in /v1'

/** One attempt per call of an HTTP API in OpenAI's format. Fails with an UpstreamError, whose `retryable` says what to do, or an UpstreamRefusal. */
export class HttpModel implements ModelUpstream {
  readonly #address: UpstreamAddress
  readonly #timeouts: ModelTimeouts
  readonly #maxReplyBytes: number
  readonly #log: Log | undefined
  readonly #connections: Connections
  /** A flat list of names and values, so that undici need not read an object in every call. */
  readonly #headers: readonly string[]
  readonly #redact: Redact
  readonly #byKind: AskByKind = {
    chat: operation => this.#askWhole(COMPLETIONS, operation, 'choices'),
    embeddings: operation => this.#askWhole('/embeddings', operation, 'data'),
    stream: async operation => {
      const { readable, ended } = await this.#askStream(operation)
      return { events: readable, ended }
    },
    frames: async operation => {
      const { readable, ended } = await this.#askStream(operation)
      return { frames: readable, ended }
    }
  }

  /** @param maxReplyBytes of a whole reply, in bytes */
  constructor (address: UpstreamAddress, { apiKey, headers: more }: ProviderConfig, timeouts: ModelTimeouts, maxReplyBytes: number, log: Log | undefined) {
    this.#address = address
    this.#timeouts = timeouts
    this.#maxReplyBytes = maxReplyBytes
    this.#log = log
    this.#connections = new Connections(address.origin, timeouts.connect)
    const headers = new Map(Object.entries(more).map(([name, value]) => [name.toLowerCase(), value]))
    if (apiKey !== undefined && apiKey !== '') headers.set('authorization', `Bearer ${apiKey}`)
    for (const name of OWN_HEADERS) headers.delete(name)
    this.#headers = ['content-type', 'application/json', ...[...headers].flat()]
    this.#redact = redactHeaders([...headers])
  }

  ask<Kind extends OperationKind> (operation: Operation<Kind>): Promise<Answers[Kind]> {
    return this.#byKind[operation.kind](operation)
  }

  close (): Promise<void> {
    return this.#connections.close()
  }

  async #askWhole (endpoint: string, { request, call }: Operation<'chat' | 'embeddings'>, member: string): Promise<ModelReply> {
    try {
      const reply = await collectReply(this.#post(endpoint, bodyOf(withoutConflicts(request)), call), this.#maxReplyBytes)
      return judgeReply(reply, member, this.#redact)
    } catch (error) {
      this.#warnOfNotFound(error, endpoint, call)
      throw error
    }
  }

  async #askStream ({ kind, request, call }: Operation<'stream' | 'frames'>): Promise<{ readable: Readable, ended: Promise<StreamEnd> }> {
    let resolveEnded: (end: StreamEnd) => void
    const ended = new Promise<StreamEnd>(resolve => { resolveEnded = resolve })
    const choices = memberOf(request, 'n')
    const terms: StreamTerms = {
      as: kind === 'frames' ? 'frames' : 'bytes',
      choices: typeof choices === 'number' ? choices : 1,
      redact: this.#redact,
      traced: call.watch?.traced,
      ended: end => {
        if (end.outcome === 'failed') this.#log?.warn({ requestId: call.requestId, err: end.error }, 'model stream failed')
        resolveEnded(end)
      }
    }
    try {
      const streamed = memberOf(request, 'stream') === true ? request : changed(request, { stream: true })
      const readable = await openStream(this.#post(COMPLETIONS, bodyOf(withoutConflicts(streamed)), call), terms)
      return { readable, ended }
    } catch (error) {
      this.#warnOfNotFound(error, COMPLETIONS, call)
      throw error
    }
  }

  /** The operator learns in the log that the configured address may be wrong; the caller cannot know. */
  #warnOfNotFound (error: unknown, endpoint: string, { requestId }: CallOptions): void {
    if (!(error instanceof UpstreamRefusal) || error.status !== 404) return
    this.#log?.warn({ requestId, path: this.#address.pathOf(endpoint), reason: NOT_FOUND }, 'model API answered with status 404')
  }

  #post (endpoint: string, body: string | Buffer, { signal, requestId, watch, tally }: CallOptions): UpstreamRequest {
    const traceparent = watch?.traceparent
    const headers = [...this.#headers, 'x-request-id', requestId]
    if (traceparent !== undefined) headers.push('traceparent', traceparent)
    const path = `${this.#address.pathOf(endpoint)}${this.#address.query}`
    return { connections: this.#connections, path, headers, body, timeouts: this.#timeouts, signal, tally }
  }
}

interface StreamTerms {
  readonly as: RelayedAs
  readonly choices: number
  readonly redact: Redact
  readonly traced: ModelCall['traced'] | undefined
  readonly ended: (end: StreamEnd) => void
}

/** In bytes, of a reply that is no stream: the body of an error. */
const MAX_ERROR_BYTES = 1024 * 1024

/** @throws UpstreamError or UpstreamRefusal while no event has been passed on; the reason of the request's signal */
function openStream (request: UpstreamRequest, terms: StreamTerms): Promise<Readable> {
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
    const { as, choices, redact, traced, ended } = this.#terms
    const judge = new StreamJudge(choices, traced === 'content' ? new AnswerReader() : undefined)
    const relay: EventRelay = new EventRelay(as, exchange, createFrameParser(MAX_EVENT_BYTES, redact), judge, {
      begun: () => this.#resolve(relay.events),
      failed: this.#reject,
      ended: traced === undefined ? ended : end => ended({ ...end, reply: judge.reply })
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
