import { type CallableTool } from '../generation/generation.ts'
import { Linker, type Lookup } from './link-prompts.ts'
import { type LabelShare } from '../kinds/release/release-record.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'
import { type Slices } from '../../runtime/slices.ts'
import { type ReleasedVersion } from '../generation/generation.ts'

/** The versions of a prompt that a label means, each with its weight and its parsed entry. */
export type Shares = ReadonlyArray<LabelShare & { readonly entry: PromptEntry }>

/** What the names in the prompts of a label mean when the label has no version for them: the prompts that are served without a label, and the tools. */
export interface Surroundings {
  readonly latest: { get (id: string): PromptEntry | undefined }
  readonly tools: Pick<ReadonlyMap<string, CallableTool>, 'get'>
}

/** All prompts under one label, such as `production`. A partial is taken from the same label, if the partial's prompt has that label. */
export class LabelEnvironment {
  readonly #label: string
  readonly #shares = new Map<string, Shares>()
  readonly #linker: Linker
  /** The prompts of which the label stands for other versions than when the names in the texts were last resolved. */
  #stale = new Set<Lookup>()
  readonly #changed = new Set<string>()

  constructor (label: string, { latest, tools }: Surroundings) {
    this.#label = label
    this.#linker = new Linker({ get: id => heaviest(this.#shares.get(id))?.entry ?? latest.get(id) }, tools)
  }

  get isEmpty (): boolean {
    return this.#shares.size === 0
  }

  of (id: string): Shares | undefined {
    return this.#shares.get(id)
  }

  /** Sets which versions of a prompt the label stands for. @returns whether they differ from the versions that it stood for before */
  set (id: string, shares: Shares): boolean {
    const before = this.#shares.get(id) ?? []
    const isSame = before.length === shares.length && before.every((each, index) => each.entry === shares[index]?.entry && each.weight === shares[index].weight)
    if (isSame) return false
    if (shares.length === 0) this.#shares.delete(id)
    else this.#shares.set(id, shares)
    for (const { entry } of before) if (!shares.some(share => share.entry === entry)) this.#linker.drop(entry)
    this.#stale.add(`prompt ${id}`)
    this.#changed.add(id)
    return true
  }

  /**
   * The ids of the label's prompts whose names must be resolved anew.
   * @param names the names that stand for something else than before, for other reasons than a change of this label
   */
  async affected (names: readonly Lookup[], slices: Slices): Promise<ReadonlySet<string>> {
    const ids = new Set(this.#changed)
    for (const entry of await this.#linker.forget([...names, ...this.#stale], slices)) {
      if (this.#shares.get(entry.id)?.some(share => share.entry === entry) === true) ids.add(entry.id)
    }
    this.#stale = new Set()
    this.#changed.clear()
    return ids
  }

  /** The versions of a prompt under the label, with the names in their texts resolved. */
  link (id: string): readonly ReleasedVersion[] {
    return (this.#shares.get(id) ?? []).map(({ version, weight, entry }) => ({ version, weight, prompt: this.#linker.link(entry, this.#label) }))
  }
}

/**
 * The version with the greatest weight, of equal weights the newest; `undefined` when there are no versions. The version of a partial is chosen in this
 * way because it is chosen before any request, when no caller has sent a key yet by which one of the versions is chosen.
 */
export function heaviest<Share extends Pick<LabelShare, 'weight'>> (shares: readonly Share[] | undefined): Share | undefined {
  return shares?.reduce((most, share) => share.weight > most.weight ? share : most)
}
