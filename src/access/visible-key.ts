import { type Generation } from '../registry/generation/generation.ts'
import { type KindAccess } from '../registry/kinds/kind-access.ts'
import { keyToPath, kindPrefix } from '../store/keys.ts'
import { type Caller } from './caller.ts'
import { mayRun } from './may-run.ts'

/** What decides what a caller sees: its patterns, and what they leave of the extensions. */
interface Seen extends Pick<Caller, 'prompts' | 'environs' | 'runs'>, Pick<Generation, 'extensions'> {}

/** The table of kinds, and what keys begin with. */
export interface KnownKeys {
  readonly keyPrefix: string
  readonly kinds: readonly KindAccess[]
}

/**
 * Whether a caller may know of an entry of the store by its key, be it good or not. What patterns say nothing of, such as a
 * kind that is not known here, is hidden from every caller that has some.
 * @param generation as the caller sees it
 */
export function isVisibleKey (
  key: string,
  { keyPrefix, kinds }: KnownKeys,
  { extensions }: Generation,
  { prompts, environs, runs }: Pick<Caller, 'prompts' | 'environs' | 'runs'>
): boolean {
  const kind = kinds.find(each => key.startsWith(kindPrefix(keyPrefix, each.key)))
  if (kind === undefined) return prompts === undefined && environs === undefined
  return isVisibleEntry(kind, keyToPath(key, kindPrefix(keyPrefix, kind.key)), { prompts, environs, runs, extensions })
}

/** The same for one by its kind and its dotted name. */
export function isVisibleEntry (kind: KindAccess, path: string, { prompts, environs, runs, extensions }: Seen): boolean {
  switch (kind.access) {
    case 'open': return true
    case 'prompts': return prompts?.allows(path) ?? true
    case 'environs': return environs?.allows(path) ?? true
    case 'shown': return prompts === undefined || extensions.has(path)
    case 'runs': return mayRun(kind.key, path, { prompts, environs, runs })
  }
}
