import { toPath } from '../../store/store.ts'
import type { Reference } from '../../template/language.ts'
import { reject } from '../diagnostic.ts'

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

/** A reference to a prompt as callers and templates write it: the id, and a label or a version where one is given. */
export interface PromptReference {
  readonly id: string
  readonly label?: string
  readonly version?: number
}

/** Reads a reference such as `id@production` or `id@7`; `undefined` for a text without a label or version. */
export function readReference (text: string): PromptReference | undefined {
  const at = text.lastIndexOf('@')
  if (at <= 0) return undefined
  const [id, wanted] = [text.slice(0, at), text.slice(at + 1)]
  if (/^[1-9]\d{0,14}$/.test(wanted)) return { id, version: Number(wanted) }
  return /^[a-z][a-z0-9_-]{0,63}$/.test(wanted) ? { id, label: wanted } : undefined
}

/**
 * Refuses an id that reads as a reference: a prompt called `review@production` would be taken for what a label of `review` means.
 * @throws RejectedEntry
 */
export function checkPromptId (id: string): void {
  if (id.includes('@')) throw reject('KEY_INVALID', `the id "${id}" has an "@", behind which a label or a version of a prompt is named`, 'give it another id')
}

/** The name of a version in errors and explanations. */
export function nameOfVersion (id: string, version: number): string {
  return `${id}@${version}`
}
