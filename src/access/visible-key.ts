import { type Generation } from '../registry/generation/generation.ts'
import { type KindAccess } from '../registry/kinds/kind-access.ts'
import { keyToPath, kindPrefix } from '../store/keys.ts'
import { type Caller } from './caller.ts'
import { mayRun } from './may-run.ts'

/** What decides which entries a caller sees: the caller's name patterns, and the extensions that have at least one prompt visible to the caller. */
interface Seen extends Pick<Caller, 'prompts' | 'environs' | 'runs'>, Pick<Generation, 'extensions'> {}

/** The known kinds of entries, and the prefix of the store's keys. */
export interface KnownKeys {
  readonly keyPrefix: string
  readonly kinds: readonly KindAccess[]
}

/**
 * Whether a caller may learn that the store has an entry at a key, valid or not. An entry of an unknown kind is hidden from every caller who has name
 * patterns for prompts or shared variables, because no such pattern can allow it.
 * @param generation the registry's entries as the caller sees them
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

/** Whether a caller may learn that an entry exists, given its kind and its dotted name. */
export function isVisibleEntry (kind: KindAccess, path: string, { prompts, environs, runs, extensions }: Seen): boolean {
  switch (kind.access) {
    case 'open': return true
    case 'prompts': return prompts?.allows(path) ?? true
    case 'environs': return environs?.allows(path) ?? true
    case 'shown': return prompts === undefined || extensions.has(path)
    case 'runs': return mayRun(kind.key, path, { prompts, environs, runs })
  }
}
