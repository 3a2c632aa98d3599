/** Work that one validation may do: a `$ref` followed is 1,000 units, a pattern the length of its text times its size. */
const MAX_WORK = 500_000_000

const REFERENCE_WORK = 1000

/** A value took more work to check than any honest schema needs. */
export class WorkError extends Error {
  override readonly name = 'WorkError'
}

/**
 * Counts the work of one validation. Without it, references that double (`allOf: [{$ref: a}, {$ref: a}]`) and patterns
 * with a large automaton would keep the event loop for minutes, linear though each single step is.
 */
export class WorkMeter {
  #spent = 0

  /** Begins a validation. */
  reset (): void {
    this.#spent = 0
  }

  /** Pays for following a reference. @throws WorkError */
  followReference (): void {
    this.charge(REFERENCE_WORK)
  }

  /** Pays for work before it is done. @throws WorkError */
  charge (units: number): void {
    this.#spent += units
    if (this.#spent > MAX_WORK) throw new WorkError('takes too much work to check')
  }
}
