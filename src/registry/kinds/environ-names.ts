import { ownCopy } from '../../base/text.ts'
import { createSlices, type Slices } from '../../runtime/event-loop.ts'
import { keyToPath, pathToKey, type Store } from '../../store/store.ts'

/**
 * An immutable list of sorted names without repeats, stored as UTF-8 bytes in one buffer. A million names of 30 bytes take 34 MB in two objects; as
 * JavaScript strings they would take 64 MB, and the garbage collector would have to look at a million objects.
 */
export class NameList {
  static readonly empty = new NameList(Buffer.alloc(0), Uint32Array.of(0))

  readonly #bytes: Buffer
  /** The position in `#bytes` at which each name begins, and at the end one more: that at which the last name ends. */
  readonly #starts: Uint32Array

  /** @param starts where each name begins in `bytes`, and where the last one ends */
  constructor (bytes: Buffer, starts: Uint32Array) {
    this.#bytes = bytes
    this.#starts = starts
  }

  /** Makes a list from few names, which it sorts without a pause. */
  static of (names: readonly string[]): NameList {
    const sorted = [...names].sort(compareNames)
    const starts = new Uint32Array(sorted.length + 1)
    for (const [index, name] of sorted.entries()) starts[index + 1] = (starts[index] as number) + Buffer.byteLength(name)
    return new NameList(Buffer.from(sorted.join('')), starts)
  }

  get length (): number {
    return this.#starts.length - 1
  }

  get byteLength (): number {
    return this.#bytes.length
  }

  /** The name at a position. @param index from 0, below `length` */
  at (index: number): string {
    return this.#bytes.toString('utf8', this.#starts[index], this.#starts[index + 1])
  }

  has (name: string): boolean {
    const wanted = Buffer.from(name)
    const index = this.#from(wanted)
    return index < this.length && this.#compare(index, wanted) === 0
  }

  /** The position of the first name that is equal to `name` or comes after it; `length` if there is none. */
  from (name: string): number {
    return this.#from(Buffer.from(name))
  }

  /** Appends the name at a position to a list that is being written. */
  copyTo (target: NameWriter, index: number): void {
    target.write(this.#bytes, this.#starts[index] as number, this.#starts[index + 1] as number)
  }

  /** Compares the name at `index` with a name of another list: below 0 when it comes first, 0 when they are equal. */
  compareAt (index: number, other: NameList, otherIndex: number): number {
    return compareBytes(
      this.#bytes,
      this.#starts[index] as number,
      this.#starts[index + 1] as number,
      other.#bytes,
      other.#starts[otherIndex] as number,
      other.#starts[otherIndex + 1] as number
    )
  }

  #from (wanted: Buffer): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(middle, wanted) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #compare (index: number, wanted: Buffer): number {
    return compareBytes(this.#bytes, this.#starts[index] as number, this.#starts[index + 1] as number, wanted, 0, wanted.length)
  }
}

/** Writes a `NameList` name by name. The names must come in order and without repeats. */
class NameWriter {
  readonly #bytes: Buffer
  readonly #starts: Uint32Array
  #count = 0
  #end = 0

  /** @param names how many names there can be at most, for which memory is set aside @param bytes how many bytes all names can have at most */
  constructor (names: number, bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes)
    this.#starts = new Uint32Array(names + 1)
  }

  write (bytes: Buffer, start: number, end: number): void {
    const target = this.#bytes
    let to = this.#end
    // Names are short: a loop is faster than a call that leaves JavaScript.
    for (let from = start; from < end; from++) target[to++] = bytes[from] as number
    this.#end = to
    this.#starts[++this.#count] = to
  }

  /** The list of the names written so far. */
  finish (): NameList {
    return new NameList(this.#bytes.subarray(0, this.#end), this.#starts.subarray(0, this.#count + 1))
  }
}

/**
 * Compares two names by their UTF-8 bytes, which is the order of code points. JavaScript compares UTF-16, which gives another order for characters
 * beyond the basic plane; names with such characters are rare.
 */
export function compareNames (one: string, other: string): number {
  if (/[\ud800-\uffff]/.test(one) && /[\ud800-\uffff]/.test(other)) return Buffer.compare(Buffer.from(one), Buffer.from(other))
  return one < other ? -1 : one > other ? 1 : 0
}

function compareBytes (a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): number {
  const common = Math.min(aEnd - aStart, bEnd - bStart)
  for (let index = 0; index < common; index++) {
    const difference = (a[aStart + index] as number) - (b[bStart + index] as number)
    if (difference !== 0) return difference
  }
  return (aEnd - aStart) - (bEnd - bStart)
}

/**
 * The bounds of the cache of answers to `has` and `hasBelow`: how many names it remembers, and how long such a name can be. The cache makes the
 * look-ups of renders fast. It needs bounds, because callers can ask for any name, of any length.
 */
const MAX_REMEMBERED = 20_000
const MAX_REMEMBERED_LENGTH = 200

/** The most changes that the index keeps beside the names that the store last listed. With more, listing all names anew is worth its cost. */
const MAX_CHANGES = 20_000

/** A range of sorted names: the positions in the list of names that the store last gave, and which names were added to that list or removed since. */
interface NameRange {
  readonly listed: readonly [start: number, end: number]
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/**
 * The index of the names of all shared variables (environs: JSON values that programs publish for all prompts), such as `vscode.rules`. A listing (a
 * pass over all keys of the store) gives one flat list of names. Beside that list the index keeps the names that were added and removed since. Names are
 * sorted, so that everything below `a.b` lies between `a.b.` and `a.b/`.
 */
export class EnvironIndex {
  #listed = NameList.empty
  /** The names that were added since `#listed` was read from the store, sorted; none of them is in `#listed`. A change makes a new array. */
  #added: readonly string[] = []
  /** The names that were removed since `#listed` was read from the store, sorted; all of them are in `#listed`. */
  #removed: readonly string[] = []
  /**
   * The names that have changed while all names are being listed anew from the store, each with whether it exists now. Whether the listing saw a name
   * before or after its change is unknown. `undefined` when no listing is under way.
   */
  #meanwhile: Map<string, boolean> | undefined
  /** The remembered answers of `has` and of `hasBelow`, by name. */
  readonly #known = new Map<string, boolean>()
  readonly #knownBelow = new Map<string, boolean>()

  get size (): number {
    return this.#listed.length + this.#added.length - this.#removed.length
  }

  /** Whether more than `MAX_CHANGES` names have changed since the store last listed all names, so that a new listing is worth its cost. */
  get needsCompaction (): boolean {
    return this.#added.length + this.#removed.length > MAX_CHANGES
  }

  /** Takes changes into the index. @param changes names, each with whether it exists now */
  apply (changes: Iterable<readonly [name: string, exists: boolean]>): void {
    const added = new Set<string>()
    const removed = new Set<string>()
    for (const [name, exists] of changes) {
      this.#meanwhile?.set(name, exists)
      if (this.has(name) === exists) continue
      if (exists) added.add(name)
      else removed.add(name)
      this.#forget(name)
    }
    if (added.size + removed.size === 0) return
    // A name that is added again after its removal, or removed after it was added, is as the store last listed it: nothing needs to be kept for it.
    const restored = new Set([...added].filter(name => holds(this.#removed, name)))
    const dropped = new Set([...removed].filter(name => holds(this.#added, name)))
    this.#added = amend(this.#added, dropped, [...added].filter(name => !restored.has(name)))
    this.#removed = amend(this.#removed, restored, [...removed].filter(name => !dropped.has(name)))
  }

  /** Begins to record which names change. It is called before the store lists all names anew, because that listing perhaps misses such a change. */
  beginListing (): void {
    this.#meanwhile = new Map()
  }

  /** Whether a change of this shared variable's name has been recorded since `beginListing` was called. */
  hasChangedMeanwhile (name: string): boolean {
    return this.#meanwhile?.has(name) ?? false
  }

  /** Replaces the listed names by those of a new listing. Changes that were recorded since that listing began are newer, so the index keeps them. */
  replace (names: NameList): void {
    const meanwhile = [...this.#meanwhile ?? []]
    this.#listed = names
    this.#added = meanwhile.filter(([name, exists]) => exists && !names.has(name)).map(([name]) => name).sort(compareNames)
    this.#removed = meanwhile.filter(([name, exists]) => !exists && names.has(name)).map(([name]) => name).sort(compareNames)
    this.endListing()
    this.#known.clear()
    this.#knownBelow.clear()
  }

  /**
   * Stops recording the changes that `beginListing` began to record. It is called when the listed names have been put into the index, or when the
   * listing was abandoned.
   */
  endListing (): void {
    this.#meanwhile = undefined
  }

  has (name: string): boolean {
    return remembered(this.#known, name, () => holds(this.#added, name) || (this.#listed.has(name) && !holds(this.#removed, name)))
  }

  hasBelow (name: string): boolean {
    return remembered(this.#knownBelow, name, () => count(this.#below(name)) > 0)
  }

  /** The names of all shared variables below a name, sorted; `undefined` when there are more than `limit`. */
  namesBelow (name: string, limit: number): readonly string[] | undefined {
    const range = this.#below(name)
    return count(range) > limit ? undefined : [...this.#names(range)]
  }

  /** The segments that directly follow `name.` in the names of shared variables (all first segments for `''`), sorted. */
  segmentsBelow (name: string): readonly string[] {
    const skip = name === '' ? 0 : name.length + 1
    const { listed: [start, end], added, removed } = this.#below(name)
    const segments = new Set(added.map(each => segmentAt(each, skip)))
    for (let index = start; index < end;) {
      const path = this.#listed.at(index)
      const dot = path.indexOf('.', skip)
      const way = dot === -1 ? path : path.slice(0, dot)
      if (removed.length === 0 || this.has(way) || this.hasBelow(way)) segments.add(way.slice(skip))
      // When the segment is the last one of its name, the loop goes on with the next name. Otherwise it skips all names below that segment at once.
      index = dot === -1 ? index + 1 : this.#listed.from(`${way}/`)
    }
    return [...segments].sort()
  }

  /** The names that begin with `prefix` and come after the name `after`, in order, at most `limit` of them. */
  page (prefix: string, after: string, limit: number): readonly string[] {
    const first = compareNames(after, prefix) < 0 ? prefix : after
    const page: string[] = []
    for (const name of this.#names(this.#range(first, undefined))) {
      if (name === after && after !== '') continue
      if (page.length === limit || !name.startsWith(prefix)) break
      page.push(name)
    }
    return page
  }

  /** Iterates over all names in order, as they were when the iteration began: later changes do not show. */
  [Symbol.iterator] (): Generator<string> {
    return this.#names(this.#range('', undefined))
  }

  #below (name: string): NameRange {
    return name === '' ? this.#range('', undefined) : this.#range(`${name}.`, `${name}/`)
  }

  /** The range of the names from `start` up to, but without, `end`. @param end `undefined` for all names from `start` on */
  #range (start: string, end: string | undefined): NameRange {
    const part = (sorted: readonly string[]) => sorted.length === 0
      ? sorted
      : sorted.slice(
        positionOf(sorted, start),
        end === undefined ? undefined : positionOf(sorted, end)
      )
    return {
      listed: [this.#listed.from(start), end === undefined ? this.#listed.length : this.#listed.from(end)],
      added: part(this.#added),
      removed: part(this.#removed)
    }
  }

  * #names ({ listed: [start, end], added, removed }: NameRange): Generator<string> {
    const listed = this.#listed
    let nextAdded = 0
    let nextRemoved = 0
    for (let index = start; index < end; index++) {
      const name = listed.at(index)
      for (; nextAdded < added.length && compareNames(added[nextAdded] as string, name) < 0; nextAdded++) yield added[nextAdded] as string
      if (removed[nextRemoved] === name) nextRemoved++
      else yield name
    }
    for (; nextAdded < added.length; nextAdded++) yield added[nextAdded] as string
  }

  /** Forgets the remembered answers that depend on a name: whether the name exists, and for every name above it whether something lies below. */
  #forget (name: string): void {
    this.#known.delete(name)
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) this.#knownBelow.delete(name.slice(0, dot))
  }
}

function remembered (answers: Map<string, boolean>, name: string, find: () => boolean): boolean {
  const known = answers.get(name)
  if (known !== undefined) return known
  const found = find()
  if (name.length > MAX_REMEMBERED_LENGTH) return found
  if (answers.size >= MAX_REMEMBERED) answers.clear()
  answers.set(ownCopy(name), found)
  return found
}

function count ({ listed: [start, end], added, removed }: NameRange): number {
  return end - start + added.length - removed.length
}

function segmentAt (name: string, start: number): string {
  const dot = name.indexOf('.', start)
  return dot === -1 ? name.slice(start) : name.slice(start, dot)
}

/** The position, in a sorted list, of the first name that is equal to `name` or comes after it. */
function positionOf (sorted: readonly string[], name: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareNames(sorted[middle] as string, name) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether a sorted list has a name. */
function holds (sorted: readonly string[], name: string): boolean {
  return sorted[positionOf(sorted, name)] === name
}

/** A copy of a sorted list without some of its names and with new ones. */
function amend (sorted: readonly string[], without: ReadonlySet<string>, more: readonly string[]): readonly string[] {
  if (without.size === 0 && more.length === 0) return sorted
  const kept = without.size === 0 ? sorted : sorted.filter(name => !without.has(name))
  return [...kept, ...more].sort(compareNames)
}

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

/** How many names the store is asked about in one round trip. */
const BATCH = 250

/**
 * One listing of all shared variables in the store. Its names are collected in a list of their own while the index stays in use, and then replace the
 * names of the index in one step.
 */
export class EnvironListing {
  readonly #index: EnvironIndex
  readonly #store: Store
  readonly #prefix: string
  readonly #accepts: (key: string) => boolean
  readonly #onReplaced: () => void
  readonly #builder = new NameListBuilder()
  #names = NameList.empty

  /**
   * @param accepts whether the name of a key can be written as a path in a template
   * @param onReplaced called when the listing has taken the place of the old one
   */
  constructor (index: EnvironIndex, store: Store, prefix: string, accepts: (key: string) => boolean, onReplaced: () => void) {
    this.#index = index
    this.#store = store
    this.#prefix = prefix
    this.#accepts = accepts
    this.#onReplaced = onReplaced
    index.beginListing()
  }

  /** Adds keys to the listing, in any order, as the store lists them. */
  async add (keys: readonly string[]): Promise<void> {
    await this.#builder.add(keys.filter(this.#accepts).map(key => keyToPath(key, this.#prefix)))
  }

  /** Ends what the store lists: from now on `has` tells of it. */
  async seal (): Promise<void> {
    this.#names = await this.#builder.finish()
  }

  /** Whether the store has listed a key. */
  has (key: string): boolean {
    return this.#names.has(keyToPath(key, this.#prefix))
  }

  /**
   * Adds to the listing those names of the index whose keys pass a test, although the store has not listed them, because they are held.
   */
  async keep (isKept: (key: string) => boolean): Promise<void> {
    const slices = createSlices()
    let kept: string[] = []
    for (const name of this.#index) {
      if (isKept(pathToKey(name, this.#prefix))) kept.push(name)
      if (!slices.isDue()) continue
      await this.#builder.add(kept)
      kept = []
      await slices.pause()
    }
    await this.#builder.add(kept)
  }

  /**
   * Ends the listing. Every name that is in the index and not in the listing is looked up in the store once more. For example, while a Redis cluster
   * moves a key from one node to another, it can happen that neither node lists the key.
   */
  async finish (): Promise<void> {
    this.#names = await this.#builder.finish()
    const missing: string[] = []
    for await (const name of missingNames(this.#index, this.#names)) if (!this.#index.hasChangedMeanwhile(name)) missing.push(name)
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH)
      const exist = await this.#store.has(batch.map(name => pathToKey(name, this.#prefix)))
      // The index has these names already, so the call changes none of them. But it makes the index record that they exist: so `replace` does not remove
      // them, although the listing lacks them.
      this.#index.apply(batch.filter((name, position) => exist[position] === true && !this.#index.hasChangedMeanwhile(name)).map(name => [name, true]))
    }
  }

  /** Replaces the names of the index by the new listing. Call it after `finish`. */
  replace (): void {
    this.#index.replace(this.#names)
    this.#onReplaced()
  }

  /** Abandons the listing and leaves the index as it is. */
  abandon (): void {
    this.#index.endListing()
  }
}
