import { reject } from '../diagnostic/diagnostic.ts'

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
