import { type TextName } from '../../base/errors.ts'
import { type Reference } from '../../template/language.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'

/** A prompt that another includes, by one of its references. */
export interface Inclusion {
  readonly entry: PromptEntry
  readonly reference: Reference
  /** In which text of the other. */
  readonly where: TextName | undefined
}

/**
 * Whether a prompt is included whenever the text around the call is rendered: no block lies around it. With an inline partial
 * in force, the one that is called may not call those that it names.
 */
export function isCertain ({ reference: { calls = [] } }: Inclusion): boolean {
  return calls.some(({ isConditional, inlines }) => !isConditional && (inlines?.size ?? 0) === 0)
}

/** Whether every way from a prompt to one that it includes hands an inline partial of that name on. */
export function isAlwaysGiven (name: string, from: PromptEntry, to: PromptEntry, inclusionsOf: (entry: PromptEntry) => readonly Inclusion[]): boolean {
  const [without, having] = [new Set([from]), new Set<PromptEntry>()]
  const queue: Array<readonly [user: PromptEntry, isGiven: boolean]> = [[from, false]]
  for (const [user, isGiven] of queue) {
    for (const { entry, reference } of inclusionsOf(user)) {
      // Where it is given, it stands in for the prompt of that name, too.
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

/** Go has no inline partials, and hands none on. */
function isHandedOn (name: string, isGiven: boolean, { calls = [] }: Reference, to: PromptEntry): boolean {
  if (to.compiled.syntax !== 'handlebars') return false
  return isGiven || (calls.length > 0 && calls.every(({ inlines }) => inlines?.has(name) === true))
}
