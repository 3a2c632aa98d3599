import { type Place } from '../../template/handlebars/syntax/ast.ts'
import { type TextPlace } from '../../base/json.ts'

/** Converts between offsets in a text and places (line and column). */
export class SourceLines {
  readonly #starts: readonly number[]

  constructor (text: string) {
    this.#starts = [0, ...Array.from(text.matchAll(/\r\n?|\n/g), match => match.index + match[0].length)]
  }

  /** The offset of a place in a syntax tree, where columns count from 0. */
  offsetOf ({ line, column }: Place): number {
    return (this.#starts[line - 1] ?? 0) + column
  }

  /** The place of an offset; its line and column count from 1. */
  placeAt (offset: number): TextPlace {
    let [low, high] = [0, this.#starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] as number) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 }
  }
}
