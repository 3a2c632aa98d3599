import { type EntryKind } from '../registry/sync/store-snapshot.ts'
import { type Generation } from '../registry/generation.ts'
import { keyToPath, kindPrefix, KINDS } from '../store/keys.ts'
import { type Caller } from './caller.ts'

/** What a caller sees of prompts, by its patterns and by what they leave of the extensions. */
interface Seen extends Pick<Caller, 'prompts'>, Pick<Generation, 'extensions'> {}

/**
 * Whether a caller may know of an entry of the store by its key, be it good or not. What patterns say nothing of, such as a
 * kind that is not known here, is hidden from every caller that has some.
 * @param generation as the caller sees it
 */
export function isVisibleKey (key: string, keyPrefix: string, { extensions }: Generation, { prompts, environs }: Pick<Caller, 'prompts' | 'environs'>): boolean {
  const kind = KINDS.find(each => key.startsWith(kindPrefix(keyPrefix, each)))
  if (kind === undefined) return prompts === undefined && environs === undefined
  const path = keyToPath(key, kindPrefix(keyPrefix, kind))
  return kind === 'environs' ? environs?.allows(path) ?? true : isVisibleEntry(kind, path, { prompts, extensions })
}

/** The same for one that is read as a whole, by its kind and its dotted name. */
export function isVisibleEntry (kind: EntryKind, path: string, { prompts, extensions }: Seen): boolean {
  switch (kind) {
    case 'tools': return true
    case 'templates': return prompts?.allows(path) ?? true
    // What is in an extension that cannot be read is not known; its prompts may be anybody's.
    case 'extensions': return prompts === undefined || extensions.has(path)
    default: return false
  }
}
