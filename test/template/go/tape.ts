type Choice = string | (() => string)

/** Picks the parts of a random program from a tape of numbers, so that a shorter tape is a smaller program. */
export class Tape {
  readonly #numbers: readonly number[]
  #at = 0

  constructor (numbers: readonly number[]) {
    this.#numbers = numbers
  }

  /** A number below `count`; 0 when the tape is over. */
  readonly pick = (count: number): number => (this.#numbers[this.#at++] ?? 0) % count

  /** One of the choices; the first one when the tape is over. */
  readonly one = (...choices: readonly Choice[]): string => {
    const choice = choices[this.pick(choices.length)] as Choice
    return typeof choice === 'string' ? choice : choice()
  }

  /** Up to `most` of a kind; none when the tape is over. */
  readonly some = (most: number, make: () => string): readonly string[] => Array.from({ length: this.pick(most + 1) }, make)
}
