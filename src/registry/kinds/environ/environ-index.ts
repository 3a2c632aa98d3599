import { ownCopy } from '../../../base/text.ts'
import { compareNames, NameList } from './name-list.ts'
import { amend, holds, positionOf } from './sorted-names.ts'

/**
 * The bounds of the cache of answers to `has` and `hasBelow`: how many names it remembers, and how long such a name can be. The cache makes the
 * look-ups of renders fast. It needs bounds, because callers can ask for any name, of any length.
 */
const MAX_REMEMBERED = 20_000
const MAX_REMEMBERED_LENGTH = 200

/** The most changes that the index keeps beside the names that the store last listed. With more, listing all names anew is worth its cost. */
const MAX_CHANGES = 20_000

/** A range of sorted names: the positions in the list of names that the store last gave, and which names were added to that list or removed since. */
interface Range {
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

  #below (name: string): Range {
    return name === '' ? this.#range('', undefined) : this.#range(`${name}.`, `${name}/`)
  }

  /** The range of the names from `start` up to, but without, `end`. @param end `undefined` for all names from `start` on */
  #range (start: string, end: string | undefined): Range {
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

  * #names ({ listed: [start, end], added, removed }: Range): Generator<string> {
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

function count ({ listed: [start, end], added, removed }: Range): number {
  return end - start + added.length - removed.length
}

function segmentAt (name: string, start: number): string {
  const dot = name.indexOf('.', start)
  return dot === -1 ? name.slice(start) : name.slice(start, dot)
}
