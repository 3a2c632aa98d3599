import { Readable } from 'node:stream'
import { type Exchange, type ReplyHead, type ReplyReceiver } from '../provider/exchange.ts'
import { type StreamEnd } from '../model-client.ts'
import { DONE_EVENT, type Frame, type FrameParser } from './frame.ts'
import { type StreamJudge } from './stream-judge.ts'
import { UpstreamError } from '../upstream-error.ts'
import { errorEvent } from './error-event.ts'

/** Receives the reports of a relay, which passes on the events of a model's streamed answer. */
export interface RelayListener {
  /** Called when the first bytes are passed on: from now on the call of the model cannot be tried again. */
  begun (): void
  /** Called when the relay of the answer has failed before anything was passed on. */
  failed (error: unknown): void
  /** Called once when a relay that has passed on something is over. */
  ended (end: StreamEnd): void
}

/** The form in which a relay passes events on: as bytes, or as lists of frames (parsed events). */
export type RelayedAs = 'bytes' | 'frames'

/** The most bytes that wait for a client that reads slowly. While so many wait, the relay reads nothing from the API. */
const HIGH_WATER_MARK = 64 * 1024

/**
 * The most lists of frames that wait for code that reads them slowly. While so many wait, the relay reads nothing from the API. A list has the
 * frames of one piece of data (at most 64 KiB), and of an event that began before that piece.
 */
const MAX_WAITING_LISTS = 2

/** The greatest size of the comments that are kept before the first event and passed on with it, in bytes. Further comments are dropped. */
const MAX_PRELUDE = 64 * 1024

/** The longest time, in ms, that an API can take to end its reply after `[DONE]`. Only when the reply has ended can its connection be used again. */
const LINGER = 1000

/**
 * Passes on the events of a model's streamed answer, each as soon as it is complete. The last event says whether the answer is whole: the API's
 * `[DONE]`; a `[DONE]` added here when all choices are finished without one; or one error event without `[DONE]`. An event that is cut or malformed
 * is never passed on; the client gets the error event instead.
 */
export class EventRelay implements ReplyReceiver {
  /** The events that are passed on. A reader that needs no more of them destroys this stream: then the call of the API is aborted at once. */
  readonly events: Readable
  readonly #as: RelayedAs
  readonly #exchange: Pick<Exchange, 'abort' | 'resume' | 'progressed'>
  readonly #parser: FrameParser
  readonly #judge: StreamJudge
  readonly #listener: RelayListener
  #linger: NodeJS.Timeout | undefined
  /** The comments that came before the first event. They are not passed on at once, because APIs send comments while they are busy, and can fail later. */
  #prelude: Frame[] = []
  #preludeLength = 0
  #begun = false
  #over = false

  /** @param as the form in which events are passed on */
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
    // The status and the headers need no check: the code that made this relay has checked them already.
  }

  data (chunk: Buffer): boolean {
    // Data after [DONE] is not passed on. It is only read, so that the reply can end.
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

  /** Checks frames and passes them on together; `false` when the reader of `events` must first read what is waiting. */
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
    // While nothing has been passed on, valid events before a failure are not passed on either, because another attempt may still succeed.
    if (failure !== undefined && !this.#begun) throw failure
    // A large event that is still arriving counts as progress, because images come in one event.
    if (hasEvent || this.#parser.isInEvent) this.#exchange.progressed()
    if (!this.#begun && !hasEvent) return this.#keep(sound)
    const goOn = sound.length === 0 || this.#push(sound)
    if (failure !== undefined) throw failure
    return goOn
  }

  /** Keeps comments until an event follows. An API that sends only comments counts as silent. */
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
    return { outcome, bytes, ...(usage === undefined ? {} : { usage }), ...(model === undefined ? {} : { model }) }
  }
}

function joined (frames: readonly Frame[]): Buffer {
  const [only] = frames
  return frames.length === 1 && only !== undefined ? only.bytes : Buffer.concat(frames.map(({ bytes }) => bytes))
}
