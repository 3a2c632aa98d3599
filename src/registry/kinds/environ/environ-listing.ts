import { createSlices } from '../../../runtime/slices.ts'
import { keyToPath, pathToKey } from '../../../store/keys.ts'
import { type Store } from '../../../store/store.ts'
import { type EnvironIndex } from './environ-index.ts'
import { missingNames, NameListBuilder } from './name-list-builder.ts'
import { NameList } from './name-list.ts'

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
