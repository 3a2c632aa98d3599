/** Of what comes before the first mark or behind the last one, in bytes: a greeting, a path. */
const MAX_ASIDE = 8192

/**
 * Reads what a remote shell prints. Its wrapper puts in three marks: where the command begins, what the wrapper says, and
 * where the command ends, with the folder. Text of a login before the first mark, and text behind the last, is no output of
 * the command.
 */
export class MarkedOutput {
  /** What the first mark says, once it has come. */
  begun: string | undefined
  readonly #begin: Buffer
  readonly #end: Buffer
  readonly #onBytes: (bytes: Buffer) => void
  #rest: Buffer = Buffer.alloc(0)
  #state: 'before' | 'inside' | 'behind' = 'before'

  /** @param mark a text that nobody can guess. @param onBytes called with what the command prints */
  constructor (mark: string, onBytes: (bytes: Buffer) => void) {
    this.#begin = Buffer.from(`${mark} begin `)
    this.#end = Buffer.from(`${mark} end `)
    this.#onBytes = onBytes
  }

  append (bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    if (this.#state === 'before') this.#lookForBegin()
    if (this.#state === 'inside') this.#lookForEnd()
    if (this.#state === 'behind') this.#rest = this.#rest.subarray(0, MAX_ASIDE)
  }

  /** Gives what was held back; the folder where the command ended, when it said so. */
  finish (): string | undefined {
    if (this.#state === 'behind') return /^(\/[^\n]*)\n/.exec(this.#rest.toString())?.[1]
    if (this.#state === 'inside' && this.#rest.length > 0) this.#onBytes(this.#rest)
    return undefined
  }

  /** What came instead of the first mark. */
  get aside (): string {
    return this.#state === 'before' ? this.#rest.toString() : ''
  }

  #lookForBegin (): void {
    const at = this.#rest.indexOf(this.#begin)
    const end = at < 0 ? -1 : this.#rest.indexOf('\n', at)
    if (end < 0) {
      this.#rest = this.#rest.subarray(-MAX_ASIDE)
      return
    }
    this.begun = this.#rest.toString('utf8', at + this.#begin.length, end)
    this.#rest = this.#rest.subarray(end + 1)
    this.#state = 'inside'
  }

  #lookForEnd (): void {
    const at = this.#rest.indexOf(this.#end)
    const until = at >= 0 ? at : this.#rest.length - overlap(this.#rest, this.#end)
    if (until > 0) this.#onBytes(this.#rest.subarray(0, until))
    this.#rest = this.#rest.subarray(at >= 0 ? at + this.#end.length : until)
    if (at >= 0) this.#state = 'behind'
  }
}

/** How many of the last bytes may be the beginning of a mark. */
function overlap (bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length--) {
    if (bytes.compare(mark, 0, length, bytes.length - length) === 0) return length
  }
  return 0
}
