import { type TextName } from '../../base/errors.ts'
import { type Reference } from '../../template/language.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'

/** The inclusion of a prompt in another one, by one of that one's references. */
export interface Inclusion {
  readonly entry: PromptEntry
  readonly reference: Reference
  /** The text of the including prompt that the reference is in. */
  readonly where: TextName | undefined
}

/**
 * Whether a prompt is included at every render of the text around the call: no block lies around the call. A call with inline partials in
 * force is not certain to include what its target names, because they may replace those prompts.
 */
export function isCertain ({ reference: { calls = [] } }: Inclusion): boolean {
  return calls.some(({ isConditional, inlines }) => !isConditional && (inlines?.size ?? 0) === 0)
}

/** Whether every way from a prompt to one that it includes hands on an inline partial with a name. */
export function isAlwaysGiven (name: string, from: PromptEntry, to: PromptEntry, inclusionsOf: (entry: PromptEntry) => readonly Inclusion[]): boolean {
  const [without, having] = [new Set([from]), new Set<PromptEntry>()]
  const queue: Array<readonly [user: PromptEntry, isGiven: boolean]> = [[from, false]]
  for (const [user, isGiven] of queue) {
    for (const { entry, reference } of inclusionsOf(user)) {
      // An inline partial also replaces the registered prompt of the same name.
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

/** Whether a call hands an inline partial on. Go has no inline partials, and hands none on. */
function isHandedOn (name: string, isGiven: boolean, { calls = [] }: Reference, to: PromptEntry): boolean {
  if (to.compiled.syntax !== 'handlebars') return false
  return isGiven || (calls.length > 0 && calls.every(({ inlines }) => inlines?.has(name) === true))
}
