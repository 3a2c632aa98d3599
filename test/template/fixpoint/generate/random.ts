/** Random choices that a seed repeats. */
export class Random {
  #state: number

  constructor (seed: number) {
    this.#state = seed >>> 0
  }

  /** An integer from 0 to below `count`. */
  below (count: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296 * count)
  }

  /** True so many times of a hundred. */
  chance (percent: number): boolean {
    return this.below(100) < percent
  }

  pick<T> (choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }

  /** One of several makers, each as likely as its weight says. */
  weighted<T> (choices: ReadonlyArray<readonly [weight: number, make: () => T]>): T {
    let place = this.below(choices.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, make] of choices) {
      if (place < weight) return make()
      place -= weight
    }
    throw new Error('no choice has a weight')
  }
}
