import { createSlices } from '../../../runtime/slices.ts'
import { keyToPath, pathToKey } from '../../../store/keys.ts'
import { type Store } from '../../../store/store.ts'
import { type EnvironIndex } from './environ-index.ts'
import { missingNames, NameListBuilder } from './name-list-builder.ts'
import { type NameList } from './name-list.ts'

/** How many names are asked for in one round trip. */
const BATCH = 250

/** One whole listing of the shared variables, made beside the index that is in force. */
export class EnvironListing {
  readonly #index: EnvironIndex
  readonly #store: Store
  readonly #prefix: string
  readonly #accepts: (key: string) => boolean
  readonly #onReplaced: () => void
  readonly #builder = new NameListBuilder()
  #names: NameList | undefined
  #listed = 0

  /** @param accepts whether a key has a name that paths can say @param onReplaced told when the listing is in force */
  constructor (index: EnvironIndex, store: Store, prefix: string, accepts: (key: string) => boolean, onReplaced: () => void) {
    this.#index = index
    this.#store = store
    this.#prefix = prefix
    this.#accepts = accepts
    this.#onReplaced = onReplaced
    index.beginListing()
  }

  /** How many keys the store has shown. */
  get listed (): number {
    return this.#listed
  }

  /** Takes keys as the store lists them, in any order. */
  async add (keys: readonly string[]): Promise<void> {
    this.#listed += keys.length
    await this.#builder.add(keys.filter(this.#accepts).map(key => keyToPath(key, this.#prefix)))
  }

  /** Takes those names of the index for listed whose keys pass a test, such as those of a node that is held. */
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
   * Ends the listing. Whatever it does not show and the index has is asked for by name: a key that a cluster moves from
   * node to node may be shown by neither.
   * @throws StoreError
   */
  async finish (): Promise<void> {
    const names = await this.#builder.finish()
    const missing: string[] = []
    for await (const name of missingNames(this.#index, names)) if (!this.#index.hasChangedMeanwhile(name)) missing.push(name)
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH)
      const exist = await this.#store.has(batch.map(name => pathToKey(name, this.#prefix)))
      // Applying what the index knows already notes it as a change that the listing must not undo.
      this.#index.apply(batch.filter((name, position) => exist[position] === true && !this.#index.hasChangedMeanwhile(name)).map(name => [name, true]))
    }
    this.#names = names
  }

  /** Puts the listing in force. Call it after `finish`. */
  replace (): void {
    if (this.#names !== undefined) this.#index.replace(this.#names)
    this.#onReplaced()
  }

  /** Leaves the index as it is. */
  abandon (): void {
    this.#index.endListing()
  }
}
