import { type TextName } from '../../base/errors.ts'
import { type Reference } from '../../template/language.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'

/** An inclusion of one prompt in another: the included prompt (`entry`), and the reference by which the other prompt's text includes it. */
export interface Inclusion {
  readonly entry: PromptEntry
  readonly reference: Reference
  /** Which text of the including prompt has the reference; `undefined` when that prompt has only one text. */
  readonly where: TextName | undefined
}

/**
 * Whether a prompt is included at every render of the including text, because no block with a condition lies around the call. A call for which inline
 * partials (partials inside a template's own text) are defined does not count, because the inline partials can replace registered prompts.
 */
export function isCertain ({ reference: { calls = [] } }: Inclusion): boolean {
  return calls.some(({ isConditional, inlines }) => !isConditional && (inlines?.size ?? 0) === 0)
}

/**
 * Whether an inline partial reaches the prompt `to` by every chain of inclusions that leads from the prompt `from` to it.
 * @param name the inline partial's name
 */
export function isAlwaysGiven (name: string, from: PromptEntry, to: PromptEntry, inclusionsOf: (entry: PromptEntry) => readonly Inclusion[]): boolean {
  const [without, having] = [new Set([from]), new Set<PromptEntry>()]
  const queue: Array<readonly [user: PromptEntry, isGiven: boolean]> = [[from, false]]
  for (const [user, isGiven] of queue) {
    for (const { entry, reference } of inclusionsOf(user)) {
      // Here the inline partial takes the place of the registered prompt, so this reference does not include that prompt.
      if (isGiven && reference.name === name) continue
      const isHanded = isHandedOn(name, isGiven, reference, entry)
      if (!isHanded && entry === to) return false
      const seen = isHanded ? having : without
      if (seen.has(entry)) continue
      seen.add(entry)
      queue.push([entry, isHanded])
    }
  }
  return true
}

/**
 * Whether the included prompt `to` can use an inline partial: the prompt that includes `to` was given the partial, or defines it for every call of `to`.
 * A prompt in Go's template language can never use one.
 */
function isHandedOn (name: string, isGiven: boolean, { calls = [] }: Reference, to: PromptEntry): boolean {
  if (to.compiled.syntax !== 'handlebars') return false
  return isGiven || (calls.length > 0 && calls.every(({ inlines }) => inlines?.has(name) === true))
}
