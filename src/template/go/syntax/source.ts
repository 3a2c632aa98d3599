import { type Position } from '../../position.ts'

/** A template's source, with quick access to lines and columns. */
export class Source {
  readonly text: string
  readonly #lineStarts: readonly number[]

  constructor (text: string) {
    this.text = text
    const starts = [0]
    for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) starts.push(index + 1)
    this.#lineStarts = starts
  }

  /** A place as line and column, both from 1, columns in UTF-16 units. */
  position (offset: number): Position {
    const line = this.#line(offset)
    return { line, column: offset - this.#start(line) + 1 }
  }

  #start (line: number): number {
    return this.#lineStarts[line - 1] as number
  }

  /** How many lines start at or before the offset. */
  #line (offset: number): number {
    let low = 1
    let high = this.#lineStarts.length
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#start(middle) <= offset) low = middle
      else high = middle - 1
    }
    return low
  }
}
