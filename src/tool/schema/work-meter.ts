/**
 * The work that every validation may do without a look at the clock, in units: an honest value must not be refused because the process
 * was suspended for a while.
 */
const FREE_WORK = 1_000_000

/** The time for which a validation may go on after its free work, in ms. */
const MAX_MILLISECONDS = 100

/** The work of following a `$ref`, and of trying a pattern, in addition to the text that it reads. */
const STEP_WORK = 100

/** The work of applying a subschema, in addition to what it lists, and of reading a text, in addition to its characters. */
const SMALL_STEP_WORK = 10

/** The number of characters of a text that are read for one unit of work. */
const CHARACTERS_PER_WORK = 4

/** The work after which the clock is looked at again, once the free work is used up. */
const WORK_PER_LOOK = 5000

/** The number of states up to which an automaton is fast on any text: it then has few sets of states, and computes each only once. */
const SMALL_AUTOMATON = 12

/**
 * The largest product of a text's length and the states of a larger automaton. In the worst case, with a new set of states at each
 * character, that takes a third of a second.
 */
const MAX_TEST = 2_000_000

/** The error that a value takes more work to check than any honest schema needs. */
export class WorkError extends Error {
  override readonly name = 'WorkError'

  constructor () {
    super('takes too much work to check')
  }
}

/**
 * Limits the work of one validation. Each step is linear, but references that double (`allOf: [{$ref: a}, {$ref: a}]`), a thousand
 * `contains` over a long list, or patterns with a large automaton could block the process for seconds or minutes. The limit is on time,
 * since the work of an automaton is not known before: it takes from 1 to 3,000 ns for a character.
 */
export class WorkMeter {
  #spent = 0
  /** The time at which the free work was used up, on the clock of `performance.now()`. */
  #usedUpAt: number | undefined
  /** The amount of work at which the clock is looked at next. */
  #nextLook = FREE_WORK

  /** Begins to count for a new validation. */
  reset (): void {
    this.#spent = 0
    this.#usedUpAt = undefined
    this.#nextLook = FREE_WORK
  }

  /** Counts following a reference. @throws WorkError */
  followReference (): void {
    this.#charge(STEP_WORK)
  }

  /** Counts applying a subschema. @param size the number of names and values that it lists @throws WorkError */
  applySubschema (size: number): void {
    this.#charge(SMALL_STEP_WORK + size)
  }

  /** Counts listing the names of an object. @throws WorkError */
  listNames (count: number): void {
    this.#charge(count)
  }

  /** Counts reading a text. @throws WorkError */
  readText (length: number): void {
    this.#charge(SMALL_STEP_WORK + length / CHARACTERS_PER_WORK)
  }

  /** Counts trying a pattern, before it is tried. @throws WorkError */
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
