/** The work that every validation may do, however long it takes. So no honest value is refused because the process was stopped for a while. */
const FREE_WORK = 1_000_000

/** How long a validation may go on after its free work, in ms. */
const MAX_MILLISECONDS = 100

/** The work for following a `$ref`, and for trying a pattern, beside that for the text. */
const STEP_WORK = 100

/** The work for applying a subschema, beside that for what it lists, and for reading a text, beside that for its characters. */
const SMALL_STEP_WORK = 10

/** How many characters of a text are read for one unit of work. */
const CHARACTERS_PER_WORK = 4

/** How much work is done between two checks of the clock, after the free work. */
const WORK_PER_LOOK = 5000

/** The number of states up to which an automaton is fast on any text, since the sets of states that it can be in are few, and are kept. */
const SMALL_AUTOMATON = 12

/** The greatest product of a text's length and the states of a larger automaton. With a new set of states at each character it takes a third of a second. */
const MAX_TEST = 2_000_000

/** The error that checking a value took more work than any honest schema needs. */
export class WorkError extends Error {
  override readonly name = 'WorkError'

  constructor () {
    super('takes too much work to check')
  }
}

/**
 * Bounds the work of one validation. Each step is linear, but references that double (`allOf: [{$ref: a}, {$ref: a}]`), a thousand `contains` over a
 * long list, or patterns with a large automaton would block the event loop for seconds or minutes. The bound is on time, because the work of an
 * automaton cannot be predicted: it takes from 1 to 3,000 ns a character.
 */
export class WorkMeter {
  #spent = 0
  /** The time at which the free work was used up, on the clock of `performance.now()`. */
  #usedUpAt: number | undefined
  /** How much work may be done before the clock is checked. */
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

  /** Pays for trying a pattern, before it is tried. @throws WorkError */
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
