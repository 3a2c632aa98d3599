import { type Reference } from '../../template/language.ts'
import { toPath } from '../../store/keys.ts'

/** The id that a partial's name stands for first: a prompt in the module, or extension, of the prompt that includes it. */
export function siblingOf (id: string, name: string): string {
  return `${id.slice(0, id.lastIndexOf('.') + 1)}${name}`
}

/** The ids that a partial's name may stand for; the first one that is registered wins: a prompt beside the one that includes it, then a full id. */
export function idsMeant (id: string, name: string): readonly [sibling: string, full: string] {
  const full = toPath(name)
  return [siblingOf(id, full), full]
}

/** Whether a reference is to another prompt. */
export function isPartial ({ kind }: Reference): boolean {
  return kind === 'partial' || kind === 'maybe-partial'
}

/** Whether a name may stand for nothing that is registered. */
export function isOptional ({ kind }: Reference): boolean {
  return kind === 'maybe-function' || kind === 'maybe-partial'
}
