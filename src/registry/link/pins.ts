import { idsMeant, isPartial } from './references.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'
import { readReference } from './prompt-reference.ts'

/** Counts which versions of prompts are pinned: named with their number in the texts of other prompts, such as `{{> "review.system@7"}}`. */
export class Pins {
  readonly #counts = new Map<string, Map<number, number>>()

  /** Adds the pins of a prompt's texts. @returns the ids of the pinned prompts */
  add (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, 1)
  }

  /** Removes the pins of a prompt's texts. @returns the ids of the pinned prompts */
  remove (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, -1)
  }

  /** The pinned versions of a prompt. */
  of (id: string): readonly number[] {
    return [...this.#counts.get(id)?.keys() ?? []]
  }

  #change (entry: PromptEntry | undefined, by: 1 | -1): readonly string[] {
    const ids: string[] = []
    for (const { id, version } of pinsOf(entry)) {
      const counts = this.#counts.get(id) ?? new Map<number, number>()
      const count = (counts.get(version) ?? 0) + by
      if (count > 0) counts.set(version, count)
      else counts.delete(version)
      if (counts.size > 0) this.#counts.set(id, counts)
      else this.#counts.delete(id)
      ids.push(id)
    }
    return ids
  }
}

/** The versions that the texts of a prompt pin (name with their number), once for each id that a name may stand for. */
export function pinsOf (entry: PromptEntry | undefined): Array<{ readonly id: string, readonly version: number }> {
  const references = entry?.compiled.texts.flatMap(({ references }) => references) ?? []
  return references
    .filter(reference => reference.name.includes('@') && isPartial(reference))
    .flatMap(({ name }) => idsMeant((entry as PromptEntry).id, name))
    .flatMap(meant => {
      const { id, version } = readReference(meant) ?? {}
      return id === undefined || version === undefined ? [] : [{ id, version }]
    })
}
