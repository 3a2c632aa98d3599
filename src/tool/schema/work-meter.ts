/** Work that every validation may do, however long it takes: a process that was stopped for a while refuses no honest value. */
const FREE_WORK = 1_000_000

/** How long a validation may go on beyond that, in ms. */
const MAX_MILLISECONDS = 100

/** A `$ref` that is followed, and a pattern that is tried, beside the text that it reads. */
const STEP_WORK = 100

/** A subschema that is applied, beside what it lists, and a text that is read, beside its characters. */
const SMALL_STEP_WORK = 10

/** Characters of a text that are read for one unit of work. */
const CHARACTERS_PER_WORK = 4

/** Beyond the free work the clock is looked at after so much more. */
const WORK_PER_LOOK = 5000

/** An automaton of so many states is fast on any text, since the sets of states that it can be in are few and are kept. */
const SMALL_AUTOMATON = 12

/** Length of a text times states of a larger automaton: with a new set of states at each character it takes a third of a second. */
const MAX_TEST = 2_000_000

/** A value took more work to check than any honest schema needs. */
export class WorkError extends Error {
  override readonly name = 'WorkError'

  constructor () {
    super('takes too much work to check')
  }
}

/**
 * Bounds the work of one validation. Each step is linear, but references that double (`allOf: [{$ref: a}, {$ref: a}]`), a
 * thousand `contains` over a long list, or patterns with a large automaton would keep the event loop for seconds or minutes.
 * The bound is on time, since the work of an automaton cannot be told beforehand: from 1 to 3,000 ns a character.
 */
export class WorkMeter {
  #spent = 0
  /** When the free work was used up, on the clock of `performance.now()`. */
  #usedUpAt: number | undefined
  /** How much may be spent before the clock is looked at. */
  #nextLook = FREE_WORK

  /** Begins a validation. */
  reset (): void {
    this.#spent = 0
    this.#usedUpAt = undefined
    this.#nextLook = FREE_WORK
  }

  /** Pays for following a reference. @throws WorkError */
  followReference (): void {
    this.#charge(STEP_WORK)
  }

  /** Pays for applying a subschema. @param size how much it lists @throws WorkError */
  applySubschema (size: number): void {
    this.#charge(SMALL_STEP_WORK + size)
  }

  /** Pays for listing the names of an object. @throws WorkError */
  listNames (count: number): void {
    this.#charge(count)
  }

  /** Pays for reading a text. @throws WorkError */
  readText (length: number): void {
    this.#charge(SMALL_STEP_WORK + length / CHARACTERS_PER_WORK)
  }

  /** Pays for trying a pattern before that is done. @throws WorkError */
  tryPattern (length: number, states: number): void {
    const work = length * states
    if (states > SMALL_AUTOMATON && work > MAX_TEST) throw new WorkError()
    this.#charge(STEP_WORK + work)
  }

  #charge (work: number): void {
    this.#spent += work
    if (this.#spent <= this.#nextLook) return
    this.#nextLook = this.#spent + WORK_PER_LOOK
    const now = performance.now()
    this.#usedUpAt ??= now
    if (now - this.#usedUpAt > MAX_MILLISECONDS) throw new WorkError()
  }
}
