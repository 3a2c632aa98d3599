/**
 * The free work: the units of work that every validation can do before its time counts. An honest value must not be refused because the
 * process was suspended for a while.
 */
const FREE_WORK = 1_000_000

/** The longest time for which a validation can go on after it has used up `FREE_WORK`, in ms. */
const MAX_MILLISECONDS = 100

/** The units of work for following a `$ref`, and for trying a pattern. For a pattern, the work for the characters of the text is added. */
const STEP_WORK = 100

/** The units of work for applying a subschema, and for reading a text. The work for the names in the subschema, or for the characters, is added. */
const SMALL_STEP_WORK = 10

/** The number of characters of a text that are read for one unit of work. */
const CHARACTERS_PER_WORK = 4

/** After a validation has used up `FREE_WORK`, it compares its time with the limit each time that it has done this many further units of work. */
const WORK_PER_LOOK = 5000

/** Up to this number of states, the automaton of a regular expression is fast on any text: it has few sets of states, and computes each only once. */
const SMALL_AUTOMATON = 12

/**
 * For an automaton with more states than `SMALL_AUTOMATON`: the largest product of its states and the length of the text. In the worst
 * case, where each character leads to a new set of states, such a text takes a third of a second.
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
  /** The time at which this validation had done all of `FREE_WORK`, on the clock of `performance.now()`. */
  #usedUpAt: number | undefined
  /** The amount of work at which the clock is looked at next. */
  #nextLook = FREE_WORK

  /** Sets the counted work to 0, before a new validation begins. */
  reset (): void {
    this.#spent = 0
    this.#usedUpAt = undefined
    this.#nextLook = FREE_WORK
  }

  /** Adds the work of following a reference. @throws WorkError if the validation has taken too long */
  followReference (): void {
    this.#charge(STEP_WORK)
  }

  /** Adds the work of applying a subschema. @param size the number of names and values in the subschema @throws WorkError */
  applySubschema (size: number): void {
    this.#charge(SMALL_STEP_WORK + size)
  }

  /** Adds the work of listing the member names of an object. @throws WorkError */
  listNames (count: number): void {
    this.#charge(count)
  }

  /** Adds the work of reading a text. @param length in UTF-16 units @throws WorkError */
  readText (length: number): void {
    this.#charge(SMALL_STEP_WORK + length / CHARACTERS_PER_WORK)
  }

  /** Adds the work of trying a pattern on a text of this length, before it is tried. @param states of the pattern's automaton @throws WorkError */
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
