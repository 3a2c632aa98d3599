/*
 * The state of what somebody edits: a prompt, its tests, or a shared variable. It knows what was opened (`base`), what the person has made
 * of it (`mine`), and what somebody else has stored since (`theirs`). A save replaces exactly what was opened, or nothing. Nothing that was
 * typed leaves `mine` but by a choice of the person.
 */
import type { Tagged } from '../api/tagged.ts'
import { isSame, merge } from './merge.ts'

export interface Edited<T> {
  readonly base: Tagged<T>
  readonly mine: T
  /** What a save that is on its way has sent. */
  readonly sent?: T | undefined
  /** What a save has sent whose reply was lost: perhaps it is stored. */
  readonly doubted?: T | undefined
  readonly theirs?: Tagged<T> | undefined
  /** Whether the person has to choose, since a save would have replaced what was not opened. */
  readonly isRefused: boolean
  /** A text of JSON that cannot be read yet: it belongs to `mine`, and its editor shows it again. */
  readonly half?: { readonly of: string, readonly text: string } | undefined
}

export function opened<T> (base: Tagged<T>): Edited<T> {
  return { base, mine: base.value, isRefused: false }
}

export function isChanged<T> ({ base, mine, half }: Edited<T>): boolean {
  return half !== undefined || !isSame(mine, base.value)
}

export function typed<T> (state: Edited<T>, mine: T): Edited<T> {
  return { ...state, mine, half: undefined }
}

export function halfTyped<T> (state: Edited<T>, of: string, text: string): Edited<T> {
  return { ...state, half: { of, text } }
}

/** The service tells what is stored. What nobody has changed here follows it; a save that is on its way says itself what became of it. */
export function heard<T> (state: Edited<T>, stored: Tagged<T>): Edited<T> {
  if (state.sent !== undefined) return state
  if (stored.tag === state.base.tag) return { ...state, theirs: undefined, isRefused: false }
  if (state.doubted !== undefined && isSame(stored.value, state.doubted)) {
    return { ...state, base: stored, doubted: undefined, theirs: undefined, isRefused: false }
  }
  if (isSame(stored.value, state.mine) && state.half === undefined) return opened(stored)
  // A choice replaces what the person was shown, and nothing newer: the save of it is refused then, and shows that.
  if (state.isRefused) return state
  return isChanged(state) ? { ...state, theirs: stored } : opened(stored)
}

export function sent<T> (state: Edited<T>): Edited<T> {
  return { ...state, sent: state.mine }
}

/** What was typed while the save was on its way is a change of what was saved. */
export function saved<T> (state: Edited<T>, tag: string | undefined): Edited<T> {
  return { ...state, base: { value: state.sent ?? state.mine, tag }, sent: undefined, doubted: undefined, theirs: undefined, isRefused: false }
}

/**
 * @param theirs what is stored now, which is why the save was refused. It is no one else's if an earlier save, whose reply was lost, has
 * stored it, or if it is what was to be saved.
 */
export function refused<T> (state: Edited<T>, theirs: Tagged<T>): Edited<T> {
  const { sent, doubted } = state
  if ([sent, doubted].some(own => own !== undefined && isSame(theirs.value, own))) {
    return { ...state, base: theirs, sent: undefined, doubted: undefined, theirs: undefined, isRefused: false }
  }
  return { ...state, sent: undefined, theirs, isRefused: true }
}

/** @param isInDoubt whether the save may have been stored all the same, since no reply came */
export function failed<T> (state: Edited<T>, isInDoubt: boolean): Edited<T> {
  return { ...state, sent: undefined, doubted: isInDoubt ? state.sent : state.doubted }
}

/** The person goes on with what was typed; the next save is refused again. */
export function postponed<T> (state: Edited<T>): Edited<T> {
  return { ...state, isRefused: false }
}

/** The person has chosen what is to be stored in place of theirs. */
export function resolved<T> (state: Edited<T>, mine: T): Edited<T> {
  return { ...state, base: state.theirs ?? state.base, mine, theirs: undefined, isRefused: false, half: undefined }
}

/**
 * What was dropped is there again, as a change of what it was begun with.
 * @returns `undefined` where something else than `given` has been typed since, which would be lost
 */
export function broughtBack<T> (state: Edited<T>, given: T, { base, mine, half }: Pick<Edited<T>, 'base' | 'mine' | 'half'>): Edited<T> | undefined {
  if (state.sent !== undefined || state.half !== undefined || !isSame(state.mine, given)) return undefined
  return heard({ base, mine, half, isRefused: false }, state.theirs ?? state.base)
}

/** Both changes in one, if none touches the other. */
export function joined<T> ({ base, mine, theirs }: Edited<T>): T | undefined {
  if (theirs === undefined) return undefined
  const { value, isWhole } = merge(base.value, mine, theirs.value)
  return isWhole ? value as T : undefined
}
