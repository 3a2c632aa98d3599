import { type Position } from '../../position.ts'

/** The source of a template, with quick access to lines and columns. */
export class Source {
  readonly text: string
  readonly #lineStarts: readonly number[]

  constructor (text: string) {
    this.text = text
    const starts = [0]
    for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) starts.push(index + 1)
    this.#lineStarts = starts
  }

  /** The line and column of an offset. Both count from 1; columns count UTF-16 units. */
  position (offset: number): Position {
    const line = this.#line(offset)
    return { line, column: offset - this.#start(line) + 1 }
  }

  #start (line: number): number {
    return this.#lineStarts[line - 1] as number
  }

  /** The number of lines that begin at or before an offset. */
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
