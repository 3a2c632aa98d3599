/** One server-sent event, with the bytes in which it came. */
export interface ServerSentEvent {
  /** The bytes from the end of the previous event to the end of the blank line that ends this one. */
  readonly bytes: Buffer
  /** The value of the field `event`; `''` when there is none. */
  readonly name: string
  /** The values of the fields `data`, joined; `undefined` for an event with only a comment, a `retry` or an `id`. */
  readonly data: string | undefined
  /** The value of the field `id`; `undefined` when there is none. */
  readonly id: string | undefined
  /** The time of the field `retry`, in ms, after which a client is to connect again; `undefined` when there is none. */
  readonly retry: number | undefined
  /** A line that is no field of the format, cut to 100 characters; `undefined` when there is none. */
  readonly strangeLine: string | undefined
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Cuts a stream of bytes into server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) without changing a byte. Lines end
 * in LF, CR or CRLF, wherever the pieces of the stream are cut. The package eventsource-parser, with which the tests compare, gives only texts; a
 * proxy has to pass on the original bytes.
 */
export class EventScanner<T> {
  readonly #limit: number
  readonly #read: (event: ServerSentEvent) => T
  readonly #tooLarge: (message: string) => Error
  // The beginning of an event that is not complete. The buffer grows by doubling, so that many single bytes cost no more than one large piece.
  #held = Buffer.alloc(0)
  #heldLength = 0
  #lineIsEmpty = true
  #afterReturn = false
  #isFirst = true

  /**
   * @param limit the greatest size of one event, in bytes
   * @param read turns an event into what the scanner gives
   * @param tooLarge makes the error for an event beyond the limit
   */
  constructor (limit: number, read: (event: ServerSentEvent) => T, tooLarge = (message: string) => new Error(message)) {
    this.#limit = limit
    this.#read = read
    this.#tooLarge = tooLarge
  }

  /** Whether the event that has arrived in part is more than a comment. */
  get isInEvent (): boolean {
    return this.#heldLength > 0 && this.#held[0] !== COLON
  }

  /** Gives the events that a piece of the stream completes. @throws the error of `tooLarge` */
  * feed (chunk: Buffer): Generator<T, void> {
    let start = 0
    for (let end = this.#endOfEvent(chunk, 0); end !== -1; end = this.#endOfEvent(chunk, end)) {
      yield this.#event(this.#take(chunk.subarray(start, end)))
      start = end
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
  }

  /** Called at the end of the stream. If the last event is not complete, it is completed with a blank line, and yielded. */
  * finish (): Generator<T, void> {
    if (this.#heldLength > 0) yield this.#event(this.#take(Buffer.from('\n\n')))
  }

  /** The index after the blank line that ends the event which continues at `start`; -1 when that line is not in this piece. */
  #endOfEvent (chunk: Buffer, start: number): number {
    let lineIsEmpty = this.#lineIsEmpty
    let afterReturn = this.#afterReturn
    let end = -1
    for (let index = start; index < chunk.length && end === -1; index++) {
      const byte = chunk[index]
      if (byte !== LF && byte !== CR) {
        lineIsEmpty = false
        afterReturn = false
      } else if (byte === LF && afterReturn) {
        afterReturn = false
      } else {
        afterReturn = byte === CR
        if (lineIsEmpty) end = index + 1
        lineIsEmpty = true
      }
    }
    // The LF of a CRLF belongs to the event that its CR has ended, if the LF has arrived already.
    if (end !== -1 && afterReturn && chunk[end] === LF) {
      end++
      afterReturn = false
    }
    this.#lineIsEmpty = lineIsEmpty
    this.#afterReturn = afterReturn
    return end
  }

  #hold (piece: Buffer): void {
    const length = this.#heldLength + piece.length
    if (length > this.#limit) throw this.#tooLarge(`an event of the stream is larger than ${this.#limit} bytes`)
    if (length > this.#held.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#held.length))
      this.#held.copy(larger, 0, 0, this.#heldLength)
      this.#held = larger
    }
    piece.copy(this.#held, this.#heldLength)
    this.#heldLength = length
  }

  #take (last: Buffer): Buffer {
    if (this.#heldLength === 0) return last
    const whole = Buffer.concat([this.#held.subarray(0, this.#heldLength), last])
    this.#heldLength = 0
    this.#held = Buffer.alloc(0)
    return whole
  }

  #event (bytes: Buffer): T {
    const text = bytes.toString('utf8')
    const hasMark = this.#isFirst && text.startsWith(BYTE_ORDER_MARK)
    this.#isFirst = false
    return this.#read(readFields(bytes, hasMark ? text.slice(1) : text))
  }
}

/** Reads the fields of one event from its lines. */
function readFields (bytes: Buffer, text: string): ServerSentEvent {
  let name = ''
  let data: string | undefined
  let id: string | undefined
  let retry: number | undefined
  let strangeLine: string | undefined
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === '' || line.startsWith(':')) continue
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`
    else if (field === 'event') name = value
    else if (field === 'id') id = value
    else if (field === 'retry') retry = /^\d{1,9}$/.test(value) ? Number(value) : undefined
    else strangeLine = line.slice(0, 100)
  }
  return { bytes, name, data, id, retry, strangeLine }
}
