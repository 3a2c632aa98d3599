/*
 * What a person has typed and not saved is kept in the browser, by each tab for itself. A tab that has nothing takes over what another one
 * has left; one that is still open keeps its text and stores it again with its next change.
 */
import type { Edited } from './edited.ts'

export interface Draft<T> extends Pick<Edited<T>, 'base' | 'mine' | 'half'> {
  /** In ms since 1970. */
  readonly at: number
}

const PREFIX = 'prompt-shell.draft.'

/** This tab, also after it was loaded again. */
const TAB = (() => {
  const kept = sessionStorage.getItem('prompt-shell.tab') ?? crypto.randomUUID()
  sessionStorage.setItem('prompt-shell.tab', kept)
  return kept
})()

const keyOf = (name: string, tab: string): string => `${PREFIX}${name}\n${tab}`

/** @param name of what is edited, with its kind */
export function takeDraft<T> (name: string): Draft<T> | undefined {
  const own = readAt<T>(keyOf(name, TAB))
  if (own !== undefined) return own
  const [newest] = keysOf(name).map(key => ({ key, draft: readAt<T>(key) })).sort((a, b) => (b.draft?.at ?? 0) - (a.draft?.at ?? 0))
  if (newest?.draft === undefined) return undefined
  localStorage.removeItem(newest.key)
  keepDraft(name, newest.draft)
  return newest.draft
}

/** The drafts that other tabs of this browser have, the newest first. */
export function otherDrafts<T> (name: string): ReadonlyArray<Draft<T>> {
  const others = keysOf(name).filter(key => key !== keyOf(name, TAB))
  return others.map(key => readAt<T>(key)).filter(draft => draft !== undefined).sort((a, b) => b.at - a.at)
}

function keysOf (name: string): readonly string[] {
  return Object.keys(localStorage).filter(key => key.startsWith(keyOf(name, '')))
}

function readAt<T> (key: string): Draft<T> | undefined {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '') as Draft<T>
  } catch {
    return undefined
  }
}

/** Where the browser has no room, the draft exists in this tab only. */
export function keepDraft<T> (name: string, draft: Draft<T>): void {
  try {
    localStorage.setItem(keyOf(name, TAB), JSON.stringify(draft))
  } catch {
    localStorage.removeItem(keyOf(name, TAB))
  }
}

export function dropDraft (name: string): void {
  localStorage.removeItem(keyOf(name, TAB))
}

/** Calls `tell` whenever another tab of this browser has changed its draft. @returns a function that ends it */
export function followDrafts (name: string, tell: () => void): () => void {
  const listen = ({ key }: StorageEvent) => { if (key?.startsWith(keyOf(name, '')) === true) tell() }
  addEventListener('storage', listen)
  return () => { removeEventListener('storage', listen) }
}
