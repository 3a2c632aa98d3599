import { entryChanged } from '../base/errors.ts'
import { contentTag } from '../registry/kinds/content-tag.ts'
import { type Kind } from '../registry/kinds/kind.ts'
import { type Expected, type StoredValue } from '../store/store.ts'

/** What must be stored for a change to be made; tags are those of `contentTag`. Left out: whatever. */
export interface Precondition {
  /** One of these, or `any` content. */
  readonly matches?: readonly string[] | 'any'
  /** None of these, or none for `any`. */
  readonly noneMatches?: readonly string[] | 'any'
}

export function isUnconditional ({ matches, noneMatches }: Precondition): boolean {
  return matches === undefined && noneMatches === undefined
}

/** @param tag of what is there; `undefined` for what cannot be read @param isStored whether anything is there */
export function holdsFor ({ matches, noneMatches }: Precondition, tag: string | undefined, isStored: boolean): boolean {
  const isAmong = (tags: readonly string[] | 'any') => tags === 'any' ? isStored : tag !== undefined && tags.includes(tag)
  return (matches === undefined || isAmong(matches)) && (noneMatches === undefined || !isAmong(noneMatches))
}

export function holds (precondition: Precondition, kind: Kind, stored: StoredValue): boolean {
  return holdsFor(precondition, tagOf(kind, stored), stored.kind !== 'missing')
}

/** What cannot be read cannot be compared when it is changed. */
export function expectation (stored: StoredValue): Expected | undefined {
  return stored.kind === 'bad' ? undefined : stored
}

/** The error of a change whose precondition does not hold. */
export function changedSince (kind: Kind, key: string, stored: StoredValue): Error {
  const problem = stored.kind === 'missing' ? 'nothing is stored there' : tagOf(kind, stored) === undefined ? 'what is stored there cannot be read' : undefined
  return entryChanged(key, tagOf(kind, stored), problem)
}

function tagOf (kind: Kind, stored: StoredValue): string | undefined {
  return stored.kind === 'text' ? contentTag(kind, stored.text) : undefined
}
