/** The most of a terminal's last output that is kept for a client that attaches later, in UTF-16 units. */
export const KEPT_OUTPUT = 256 * 1024

/** The last part of a terminal's output, kept for a client that attaches later. */
export class ShownOutput {
  #parts: string[] = []
  #length = 0
  #isCut = false

  append (text: string): void {
    this.#parts.push(text)
    this.#length += text.length
    while (this.#length > KEPT_OUTPUT) {
      const [first = ''] = this.#parts
      const over = this.#length - KEPT_OUTPUT
      this.#isCut = true
      if (first.length <= over) this.#parts.shift()
      else this.#parts[0] = first.slice(over)
      this.#length -= Math.min(first.length, over)
    }
    // A terminal's output comes in many short parts, so they are joined now and then.
    if (this.#parts.length > 1000) this.#parts = [this.#parts.join('')]
  }

  /** The kept output. Where its beginning was cut off, it starts at a new line, so that no half escape sequence is shown as text. */
  text (): string {
    const all = this.#parts.join('')
    return this.#isCut ? all.slice(all.indexOf('\n') + 1) : all
  }
}
