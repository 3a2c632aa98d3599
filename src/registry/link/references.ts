import { type Reference } from '../../template/language.ts'
import { toPath } from '../../store/keys.ts'

/** The id that is looked up first for the name of a partial: that of a prompt in the same module, or extension, as the prompt that includes it. */
export function siblingOf (id: string, name: string): string {
  return `${id.slice(0, id.lastIndexOf('.') + 1)}${name}`
}

/**
 * The two ids that the name of a partial can stand for; the first registered one counts. The first id is that of a prompt in the same module, or
 * extension, as the including prompt. The second id is the whole name.
 */
export function idsMeant (id: string, name: string): readonly [sibling: string, full: string] {
  const full = toPath(name)
  return [siblingOf(id, full), full]
}

/** Whether a reference is to another prompt. */
export function isPartial ({ kind }: Reference): boolean {
  return kind === 'partial' || kind === 'maybe-partial'
}

/** Whether it is no error when nothing is registered under the name of a reference. */
export function isOptional ({ kind }: Reference): boolean {
  return kind === 'maybe-function' || kind === 'maybe-partial'
}
