import { cutFrom, TerminalModes } from './sequences.ts'

/** The most of a terminal's last output that is kept for a client that attaches later, in UTF-16 units, and how much is cut off at least at a time. */
export const [KEPT_OUTPUT, CUT] = [256 * 1024, 8 * 1024]

/** The last part of a terminal's output, kept for a client that attaches later. It is cut between sequences only, and never loses a mode. */
export class ShownOutput {
  #parts: string[] = []
  #length = 0
  readonly #cutModes = new TerminalModes()
  #isCut = false

  /** @param text filtered output, without half a sequence */
  append (text: string): void {
    this.#parts.push(text)
    this.#length += text.length
    if (this.#length > KEPT_OUTPUT) this.#cut(Math.max(this.#length - KEPT_OUTPUT, CUT))
    // A terminal's output comes in many short parts, so they are joined now and then.
    if (this.#parts.length > 1000) this.#parts = [this.#parts.join('')]
  }

  /** The kept output. Where its beginning was cut off, the modes of what is gone come first, and then the first whole line, if there is one. */
  text (): string {
    if (!this.#isCut) return this.#parts.join('')
    const all = this.#parts.join('')
    const modes = new TerminalModes()
    const line = all.slice(0, CUT).indexOf('\n') + 1
    modes.see(this.#cutModes.text() + all.slice(0, line))
    return modes.text() + all.slice(line)
  }

  #cut (over: number): void {
    this.#isCut = true
    for (let left = over; left > 0;) {
      const [first = ''] = this.#parts
      const at = first.length <= left ? first.length : cutFrom(first, left)
      this.#cutModes.see(first.slice(0, at))
      this.#length -= at
      left -= at
      if (at === first.length) this.#parts.shift()
      else this.#parts[0] = first.slice(at)
    }
  }
}
