import { KEPT, type CommandOptions, type Stream } from './executor.ts'

/** The important parts of a command's output mostly are at its beginning and its end. */
export class Clip {
  readonly #head: Buffer
  readonly #tail: Buffer
  #total = 0

  constructor (most: number) {
    const head = Math.floor(most * 0.6)
    this.#head = Buffer.alloc(head)
    this.#tail = Buffer.alloc(most - head)
  }

  append (bytes: Buffer): void {
    const toHead = Math.min(bytes.length, Math.max(this.#head.length - this.#total, 0))
    bytes.copy(this.#head, this.#total, 0, toHead)
    const { length } = this.#tail
    const from = Math.max(toHead, bytes.length - length)
    const at = (this.#total + from - this.#head.length) % length
    const copied = from < bytes.length ? bytes.copy(this.#tail, at, from) : 0
    bytes.copy(this.#tail, 0, from + copied)
    this.#total += bytes.length
  }

  /** Bytes that are not UTF-8 are replaced. */
  text (): string {
    const head = this.#head.subarray(0, Math.min(this.#total, this.#head.length))
    const behind = Math.max(this.#total - this.#head.length, 0)
    if (behind <= this.#tail.length) return Buffer.concat([head, this.#tail.subarray(0, behind)]).toString()
    const at = behind % this.#tail.length
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)])
    const [end, start] = [wholeEnd(head), wholeStart(tail)]
    return `${head.toString('utf8', 0, end)}\n...[TRUNCATED ${this.#total - end - (tail.length - start)} bytes]...\n${tail.toString('utf8', start)}`
  }
}

function wholeEnd (bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) break
    if (byte >= 0xC0) return back < (byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2) ? bytes.length - back : bytes.length
  }
  return bytes.length
}

function wholeStart (bytes: Buffer): number {
  let at = 0
  while (at < Math.min(3, bytes.length) && ((bytes[at] as number) & 0xC0) === 0x80) at++
  return at
}

export class Captured {
  readonly #clips: Readonly<Record<Stream, Clip>>
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  readonly #onOutput: CommandOptions['onOutput']

  constructor ({ keep = KEPT, onOutput }: CommandOptions) {
    this.#clips = { stdout: new Clip(keep), stderr: new Clip(keep) }
    this.#onOutput = onOutput
  }

  append (stream: Stream, bytes: Buffer): void {
    this.#clips[stream].append(bytes)
    const text = this.#decoders[stream].decode(bytes, { stream: true })
    if (text !== '') this.#onOutput?.(stream, text)
  }

  texts (): Readonly<Record<Stream, string>> {
    return { stdout: this.#clips.stdout.text(), stderr: this.#clips.stderr.text() }
  }
}
