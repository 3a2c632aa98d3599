import { ownCopy } from '../../base/text.ts'
import { createSlices, type Slices } from '../../runtime/event-loop.ts'
import { keyToPath, pathToKey, type Store } from '../../store/store.ts'

/** UTF-8 in one buffer: a million names take 34 MB in two objects, as strings 64 MB and a million objects for the garbage collector. */
export class NameList {
  static readonly empty = new NameList(Buffer.alloc(0), Uint32Array.of(0))

  readonly #bytes: Buffer
  readonly #starts: Uint32Array

  constructor (bytes: Buffer, starts: Uint32Array) {
    this.#bytes = bytes
    this.#starts = starts
  }

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

  /** From 0, below `length`. */
  at (index: number): string {
    return this.#bytes.toString('utf8', this.#starts[index], this.#starts[index + 1])
  }

  has (name: string): boolean {
    const wanted = Buffer.from(name)
    const index = this.#from(wanted)
    return index < this.length && this.#compare(index, wanted) === 0
  }

  /** The first name at or after it; `length` if there is none. */
  from (name: string): number {
    return this.#from(Buffer.from(name))
  }

  copyTo (target: NameWriter, index: number): void {
    target.write(this.#bytes, this.#starts[index] as number, this.#starts[index + 1] as number)
  }

  /** Below 0 when it comes first, 0 when they are equal. */
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

/** Names must come in order and without repeats. */
class NameWriter {
  readonly #bytes: Buffer
  readonly #starts: Uint32Array
  #count = 0
  #end = 0

  /** The most names, and their most bytes: memory is set aside for them. */
  constructor (names: number, bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes)
    this.#starts = new Uint32Array(names + 1)
  }

  write (bytes: Buffer, start: number, end: number): void {
    const target = this.#bytes
    let to = this.#end
    // For short names a loop is faster than a call that leaves JavaScript.
    for (let from = start; from < end; from++) target[to++] = bytes[from] as number
    this.#end = to
    this.#starts[++this.#count] = to
  }

  finish (): NameList {
    return new NameList(this.#bytes.subarray(0, this.#end), this.#starts.subarray(0, this.#count + 1))
  }
}

/** By UTF-8 bytes, the order of code points; UTF-16 differs for rare characters beyond the basic plane. */
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

/** Bounds the cache of `has` and `hasBelow`, which renders need: callers can ask for any name, of any length. */
const MAX_REMEMBERED = 20_000
const MAX_REMEMBERED_LENGTH = 200

/** With more changes, listing all names anew is worth its cost. */
const MAX_CHANGES = 20_000

interface NameRange {
  readonly listed: readonly [start: number, end: number]
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** One flat sorted list of names, and the changes since; everything below `a.b` lies between `a.b.` and `a.b/`. */
export class EnvironIndex {
  #listed = NameList.empty
  /** Sorted, none of them in `#listed`; a change makes a new array. */
  #added: readonly string[] = []
  #removed: readonly string[] = []
  /** Changes during a listing, which perhaps saw them or not; `undefined` when no listing is under way. */
  #meanwhile: Map<string, boolean> | undefined
  readonly #known = new Map<string, boolean>()
  readonly #knownBelow = new Map<string, boolean>()

  get size (): number {
    return this.#listed.length + this.#added.length - this.#removed.length
  }

  get needsCompaction (): boolean {
    return this.#added.length + this.#removed.length > MAX_CHANGES
  }

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
    // It is as the store last listed it again, so nothing needs to be kept for it.
    const restored = new Set([...added].filter(name => holds(this.#removed, name)))
    const dropped = new Set([...removed].filter(name => holds(this.#added, name)))
    this.#added = amend(this.#added, dropped, [...added].filter(name => !restored.has(name)))
    this.#removed = amend(this.#removed, restored, [...removed].filter(name => !dropped.has(name)))
  }

  /** Called before the store lists all names, because the listing perhaps misses a change. */
  beginListing (): void {
    this.#meanwhile = new Map()
  }

  hasChangedMeanwhile (name: string): boolean {
    return this.#meanwhile?.has(name) ?? false
  }

  /** Changes recorded since the listing began are newer, and are kept. */
  replace (names: NameList): void {
    const meanwhile = [...this.#meanwhile ?? []]
    this.#listed = names
    this.#added = meanwhile.filter(([name, exists]) => exists && !names.has(name)).map(([name]) => name).sort(compareNames)
    this.#removed = meanwhile.filter(([name, exists]) => !exists && names.has(name)).map(([name]) => name).sort(compareNames)
    this.endListing()
    this.#known.clear()
    this.#knownBelow.clear()
  }

  endListing (): void {
    this.#meanwhile = undefined
  }

  has (name: string): boolean {
    return remembered(this.#known, name, () => holds(this.#added, name) || (this.#listed.has(name) && !holds(this.#removed, name)))
  }

  hasBelow (name: string): boolean {
    return remembered(this.#knownBelow, name, () => count(this.#below(name)) > 0)
  }

  /** Sorted; `undefined` when there are more than `limit`. */
  namesBelow (name: string, limit: number): readonly string[] | undefined {
    const range = this.#below(name)
    return count(range) > limit ? undefined : [...this.#names(range)]
  }

  segmentsBelow (name: string): readonly string[] {
    const skip = name === '' ? 0 : name.length + 1
    const { listed: [start, end], added, removed } = this.#below(name)
    const segments = new Set(added.map(each => segmentAt(each, skip)))
    for (let index = start; index < end;) {
      const path = this.#listed.at(index)
      const dot = path.indexOf('.', skip)
      const way = dot === -1 ? path : path.slice(0, dot)
      if (removed.length === 0 || this.has(way) || this.hasBelow(way)) segments.add(way.slice(skip))
      // After a last segment comes the next name; otherwise all names below the segment are skipped at once.
      index = dot === -1 ? index + 1 : this.#listed.from(`${way}/`)
    }
    return [...segments].sort()
  }

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

  /** The names come in order, as they were when the iteration began. */
  [Symbol.iterator] (): Generator<string> {
    return this.#names(this.#range('', undefined))
  }

  #below (name: string): NameRange {
    return name === '' ? this.#range('', undefined) : this.#range(`${name}.`, `${name}/`)
  }

  /** Without `end`; `undefined` for all names from `start` on. */
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

  /** Whether it exists, and whether something lies below each name above it. */
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

function holds (sorted: readonly string[], name: string): boolean {
  return sorted[positionOf(sorted, name)] === name
}

function amend (sorted: readonly string[], without: ReadonlySet<string>, more: readonly string[]): readonly string[] {
  if (without.size === 0 && more.length === 0) return sorted
  const kept = without.size === 0 ? sorted : sorted.filter(name => !without.has(name))
  return [...kept, ...more].sort(compareNames)
}

/** Sorted without a pause, in 1 to 2 ms. */
const RUN_LENGTH = 2000

/** Names that are merged before the clock is asked whether a pause is due. */
const NAMES_PER_LOOK = 500

/** In slices, for a million names; lists of similar length are merged, so at most twice the result's memory is in use. */
export class NameListBuilder {
  readonly #slices = createSlices()
  #pending: string[] = []
  readonly #runs: NameList[] = []

  /** A name that is added twice counts once. */
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

/** `before` must be sorted. Pauses, so that it does not block the process. */
async function * missingNames (before: Iterable<string>, after: NameList): AsyncGenerator<string> {
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

const BATCH = 250

/** Collects names beside the index in use, and replaces its names in one step. */
export class EnvironListing {
  readonly #index: EnvironIndex
  readonly #store: Store
  readonly #prefix: string
  readonly #accepts: (key: string) => boolean
  readonly #onReplaced: () => void
  readonly #builder = new NameListBuilder()
  #names = NameList.empty

  /** `onReplaced` is called when the listing has taken the place of the old one. */
  constructor (index: EnvironIndex, store: Store, prefix: string, accepts: (key: string) => boolean, onReplaced: () => void) {
    this.#index = index
    this.#store = store
    this.#prefix = prefix
    this.#accepts = accepts
    this.#onReplaced = onReplaced
    index.beginListing()
  }

  async add (keys: readonly string[]): Promise<void> {
    await this.#builder.add(keys.filter(this.#accepts).map(key => keyToPath(key, this.#prefix)))
  }

  async seal (): Promise<void> {
    this.#names = await this.#builder.finish()
  }

  has (key: string): boolean {
    return this.#names.has(keyToPath(key, this.#prefix))
  }

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

  /** Looks up unlisted names of the index once more: a key that moves between nodes of a Redis cluster can be listed by neither. */
  async finish (): Promise<void> {
    this.#names = await this.#builder.finish()
    const missing: string[] = []
    for await (const name of missingNames(this.#index, this.#names)) if (!this.#index.hasChangedMeanwhile(name)) missing.push(name)
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH)
      const exist = await this.#store.has(batch.map(name => pathToKey(name, this.#prefix)))
      // Changes nothing, but records that they exist, so that `replace` does not remove them.
      this.#index.apply(batch.filter((name, position) => exist[position] === true && !this.#index.hasChangedMeanwhile(name)).map(name => [name, true]))
    }
  }

  /** `finish` must be called before. */
  replace (): void {
    this.#index.replace(this.#names)
    this.#onReplaced()
  }

  abandon (): void {
    this.#index.endListing()
  }
}
