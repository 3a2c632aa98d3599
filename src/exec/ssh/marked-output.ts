import { printedFolder } from '../shell-scripts.ts'

/** The most bytes that are kept of the text before a remote command's output (a login greeting), and of the text after it (the path of a folder). */
const MAX_ASIDE = 8192

/**
 * Separates the output of a remote command from other text on the same channel. The supervising script prints a mark (a secret text) before the
 * command, and a second mark after the command, with the folder in which the command ended. Text before the first mark (a login greeting) and after
 * the second mark is not part of the command's output.
 */
export class MarkedOutput {
  /**
   * The text after the first mark: the process id of the supervising script, or `nowhere` when the folder in which the command has to begin does
   * not exist; `undefined` until the mark has come.
   */
  begun: string | undefined
  readonly #begin: Buffer
  readonly #end: Buffer
  readonly #onBytes: (bytes: Buffer) => void
  #rest: Buffer = Buffer.alloc(0)
  #state: 'before' | 'inside' | 'behind' = 'before'

  /**
   * Creates the parser for one command.
   * @param mark a text that nobody can guess, so that no command can fake it
   * @param onBytes called with what the command prints
   */
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

  /**
   * Passes on the last part of the output. Until now it was kept back, because it could be the beginning of a mark.
   * @returns the folder in which the command ended; `undefined` if the second mark has not told it
   */
  finish (): string | undefined {
    if (this.#state === 'behind') {
      const [, folder] = /^(\/[^\n]*)\n/.exec(this.#rest.toString()) ?? []
      return folder === undefined ? undefined : printedFolder(folder)
    }
    if (this.#state === 'inside' && this.#rest.length > 0) this.#onBytes(this.#rest)
    return undefined
  }

  /** The text that came in place of the first mark, such as an error of the login shell; `''` if the mark has come. */
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

/** How many bytes at the end of the output can be the beginning of a mark. These bytes are not passed on yet. */
function overlap (bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length--) {
    if (bytes.compare(mark, 0, length, bytes.length - length) === 0) return length
  }
  return 0
}
