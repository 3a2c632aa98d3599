import { entryChanged } from '../base/errors.ts'
import { contentTag } from '../registry/kinds/content-tag.ts'
import { type Kind } from '../registry/kinds/kind.ts'
import { type Expected, type StoredValue } from '../store/store.ts'

/**
 * The condition under which a stored value may be changed, from the headers `If-Match` and `If-None-Match`: it compares the value's tag, a
 * hash made by `contentTag`. A member that is left out sets no condition.
 */
export interface Precondition {
  /** The stored value must have one of these tags (hashes of values); `any`: there must be a stored value. */
  readonly matches?: readonly string[] | 'any'
  /** The stored value must have none of these tags (hashes of values); `any`: there must be no stored value. */
  readonly noneMatches?: readonly string[] | 'any'
}

export function isUnconditional ({ matches, noneMatches }: Precondition): boolean {
  return matches === undefined && noneMatches === undefined
}

/**
 * Whether a stored value meets a precondition.
 * @param tag the tag (hash) of the stored value; `undefined` if the value cannot be read
 * @param isStored whether there is a stored value
 */
export function holdsFor ({ matches, noneMatches }: Precondition, tag: string | undefined, isStored: boolean): boolean {
  const isAmong = (tags: readonly string[] | 'any') => tags === 'any' ? isStored : tag !== undefined && tags.includes(tag)
  return (matches === undefined || isAmong(matches)) && (noneMatches === undefined || !isAmong(noneMatches))
}

export function holds (precondition: Precondition, kind: Kind, stored: StoredValue): boolean {
  return holdsFor(precondition, tagOf(kind, stored), stored.kind !== 'missing')
}

/** The stored value that a write must still find in the store (compare-and-set); `undefined` if that value cannot be read: then the write has no condition. */
export function expectation (stored: StoredValue): Expected | undefined {
  return stored.kind === 'bad' ? undefined : stored
}

/** The error for a change whose precondition is not met, since somebody else has changed the entry. */
export function changedSince (kind: Kind, key: string, stored: StoredValue): Error {
  const problem = stored.kind === 'missing' ? 'nothing is stored there' : tagOf(kind, stored) === undefined ? 'what is stored there cannot be read' : undefined
  return entryChanged(key, tagOf(kind, stored), problem)
}

function tagOf (kind: Kind, stored: StoredValue): string | undefined {
  return stored.kind === 'text' ? contentTag(kind, stored.text) : undefined
}
