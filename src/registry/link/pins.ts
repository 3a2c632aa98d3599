import { idsMeant, isPartial } from './references.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'
import { readReference } from './prompt-reference.ts'

/** Counts which versions of prompts are pinned: named with their number in the texts of other prompts, such as `{{> "review.system@7"}}`. */
export class Pins {
  readonly #counts = new Map<string, Map<number, number>>()

  /** Counts the versions that a prompt's texts name with their number. @returns the ids of the named prompts */
  add (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, 1)
  }

  /** Takes back what `add` counted for a prompt. @returns the ids of the prompts that its texts name with a version's number */
  remove (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, -1)
  }

  /** The versions of this prompt that other prompts name with their number. */
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

/** The versions that the texts of a prompt name with their number. A name (`system@7`) that can mean either of two ids gives a version of each. */
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
