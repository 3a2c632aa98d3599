import { keyToFunction, toPath } from '../../store/store.ts'
import type { Reference } from '../../template/language.ts'
import { reject } from '../diagnostic.ts'

export function siblingOf (id: string, name: string): string {
  return `${id.slice(0, id.lastIndexOf('.') + 1)}${name}`
}

/** The first registered one counts. */
export function idsMeant (id: string, name: string): readonly [sibling: string, full: string] {
  const full = toPath(name)
  return [siblingOf(id, full), full]
}

export function toFunctionName (name: string): string {
  return keyToFunction(name, '')
}

export function isPartial ({ kind }: Reference): boolean {
  return kind === 'partial' || kind === 'maybe-partial'
}

/** Then it is no error when nothing is registered under the name. */
export function isOptional ({ kind }: Reference): boolean {
  return kind === 'maybe-function' || kind === 'maybe-partial'
}

export interface PromptReference {
  readonly id: string
  readonly label?: string
  readonly version?: number
}

/** `id@production` or `id@7`; `undefined` for a text without a label or version. */
export function readReference (text: string): PromptReference | undefined {
  const at = text.lastIndexOf('@')
  if (at <= 0) return undefined
  const [id, wanted] = [text.slice(0, at), text.slice(at + 1)]
  if (/^[1-9]\d{0,14}$/.test(wanted)) return { id, version: Number(wanted) }
  return /^[a-z][a-z0-9_-]{0,63}$/.test(wanted) ? { id, label: wanted } : undefined
}

/** `review@production` would be taken for a label of `review`. @throws RejectedEntry */
export function checkPromptId (id: string): void {
  if (id.includes('@')) throw reject('KEY_INVALID', `the id "${id}" has an "@", behind which a label or a version of a prompt is named`, 'give it another id')
}

/** With all that a partial can mean; functions as `tool git_status`. */
export function namesIn (id: string, texts: ReadonlyArray<{ readonly references: readonly Reference[] }>, offered: readonly string[] = []): readonly string[] {
  const references = texts.flatMap(({ references }) => references)
  const named = references.flatMap(reference => isPartial(reference) ? idsMeant(id, reference.name) : `tool ${reference.name}`)
  return [...new Set([...named, ...offered.map(name => `tool ${toFunctionName(name)}`)])]
}

export function nameOfVersion (id: string, version: number): string {
  return `${id}@${version}`
}
