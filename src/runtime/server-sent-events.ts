export interface ServerSentEvent {
  readonly bytes: Buffer
  readonly name: string
  /** `undefined` for an event with only a comment, a `retry` or an `id`. */
  readonly data: string | undefined
  readonly id: string | undefined
  /** In ms. */
  readonly retry: number | undefined
  /** A line that is no field, cut to 100 characters. */
  readonly strangeLine: string | undefined
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const BYTE_ORDER_MARK = '\uFEFF'

/** Cuts a stream into events without changing a byte, as a proxy must: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export class EventScanner<T> {
  readonly #limit: number
  readonly #read: (event: ServerSentEvent) => T
  readonly #tooLarge: (message: string) => Error
  // Grows by doubling, so that many single bytes cost no more than one large piece.
  #held = Buffer.alloc(0)
  #heldLength = 0
  #lineIsEmpty = true
  #afterReturn = false
  #isFirst = true

  /** `limit`: the greatest size of one event, in bytes. */
  constructor (limit: number, read: (event: ServerSentEvent) => T, tooLarge = (message: string) => new Error(message)) {
    this.#limit = limit
    this.#read = read
    this.#tooLarge = tooLarge
  }

  get isInEvent (): boolean {
    return this.#heldLength > 0 && this.#held[0] !== COLON
  }

  /** @throws the error of `tooLarge` */
  * feed (chunk: Buffer): Generator<T, void> {
    let start = 0
    for (let end = this.#endOfEvent(chunk, 0); end !== -1; end = this.#endOfEvent(chunk, end)) {
      yield this.#event(this.#take(chunk.subarray(start, end)))
      start = end
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
  }

  * finish (): Generator<T, void> {
    if (this.#heldLength > 0) yield this.#event(this.#take(Buffer.from('\n\n')))
  }

  /** -1 when the blank line is not in this piece. */
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
