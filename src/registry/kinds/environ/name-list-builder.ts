import { compareNames, NameList, NameWriter } from './name-list.ts'
import { createSlices, type Slices } from '../../../runtime/slices.ts'

/** The number of names that are sorted at once without a pause, which takes 1 to 2 ms. */
const RUN_LENGTH = 2000

/** How many names are merged before the clock is asked whether a pause is due. */
const NAMES_PER_LOOK = 500

/**
 * Collects names that come in any order into one sorted list. It works in slices, so that a million names do not block the process. Sorted lists of
 * similar length are merged in pairs (a merge sort), so that at most twice the memory of the result is in use.
 */
export class NameListBuilder {
  readonly #slices = createSlices()
  #pending: string[] = []
  /** Sorted lists, each at least twice as long as the next. */
  readonly #runs: NameList[] = []

  /** Adds names. A name that is added twice counts once. */
  async add (names: readonly string[]): Promise<void> {
    for (const name of names) this.#pending.push(name)
    if (this.#pending.length >= RUN_LENGTH) await this.#endRun()
  }

  async finish (): Promise<NameList> {
    await this.#endRun()
    while (this.#runs.length > 1) await this.#mergeLast()
    return this.#runs[0] ?? NameList.empty
  }

  async #endRun (): Promise<void> {
    if (this.#slices.isDue()) await this.#slices.pause()
    this.#runs.push(NameList.of([...new Set(this.#pending)]))
    this.#pending = []
    while (this.#runs.length > 1 && length(this.#runs.at(-2)) < 2 * length(this.#runs.at(-1))) await this.#mergeLast()
  }

  async #mergeLast (): Promise<void> {
    const [one, other] = this.#runs.splice(-2) as [NameList, NameList]
    this.#runs.push(await mergeLists(one, other, this.#slices))
  }
}

/** Merges two sorted lists into one, in which a name that is in both stands once. */
async function mergeLists (one: NameList, other: NameList, slices: Slices): Promise<NameList> {
  const writer = new NameWriter(one.length + other.length, one.byteLength + other.byteLength)
  let left = 0
  let right = 0
  for (let count = 1; left < one.length || right < other.length; count++) {
    const order = left === one.length ? 1 : right === other.length ? -1 : one.compareAt(left, other, right)
    if (order <= 0) one.copyTo(writer, left)
    else other.copyTo(writer, right)
    if (order <= 0) left++
    if (order >= 0) right++
    if (count % NAMES_PER_LOOK === 0 && slices.isDue()) await slices.pause()
  }
  return writer.finish()
}

/** Yields the names of `before` that are not in `after`. It pauses in between, so that it does not block the process. @param before sorted names */
export async function * missingNames (before: Iterable<string>, after: NameList): AsyncGenerator<string> {
  const slices = createSlices()
  let position = 0
  let count = 0
  for (const name of before) {
    while (position < after.length && compareNames(after.at(position), name) < 0) position++
    if (position === after.length || after.at(position) !== name) yield name
    if (++count % NAMES_PER_LOOK === 0 && slices.isDue()) await slices.pause()
  }
}

function length (list: NameList | undefined): number {
  return list?.length ?? Infinity
}
