import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import type { Tagged } from '../api/tagged.ts'
import { broughtBack, type Edited, failed, halfTyped, heard, isChanged, opened, postponed, refused, resolved, saved, sent, typed } from './edited.ts'
import { keep, keysIn, local, session } from '../parts/storage.ts'
import { offerUndo } from '../parts/undo.tsx'
import { isSame } from './merge.ts'

/** One thing that a person edits, and what can be done with it. */
export interface Editing<T> {
  /** `undefined` until it was read. */
  readonly state: Edited<T> | undefined
  readonly isChanged: boolean
  readonly isSaving: boolean
  readonly error: unknown
  readonly type: (mine: T) => void
  /** Keeps a text that cannot be read yet. @param of the editor that shows it again */
  readonly typeHalf: (of: string, text: string) => void
  /** Replaces what was opened, or nothing. @param note describes the change */
  readonly save: (note?: string) => Promise<void>
  /** Takes a value in place of both, what was typed and what somebody else has stored. */
  readonly resolve: (mine: T) => void
  readonly postpone: () => void
  /** Drops what was typed for another value, or for what is stored. It can be brought back. @param says what was done */
  readonly drop: (says: string, given?: T) => void
  /** Changes what was typed by one press, which can be taken back. @param back of what has become of it since */
  readonly alter: (says: string, mine: T, back: (now: T) => T) => void
  /** When a draft that was found in this browser had last been changed, in ms since 1970; `undefined` if none was found. */
  readonly foundOf: number | undefined
  /** Whether this browser keeps what was typed until it is saved. */
  readonly isKept: boolean
  /** The draft of another tab of this browser, which differs from this one. */
  readonly elsewhere: Draft<T> | undefined
}

/**
 * Keeps the state of what a person edits on this page (edited.ts).
 * @param place `name` says the kind, too; `stored` is the value and its tag as far as the page knows, `undefined` until they were read;
 * `put` takes the tag of what may be replaced (`undefined` for nothing) and gives the new one
 */
export function useEdited<T> ({ name, stored, read, put }: {
  readonly name: string
  readonly stored: Tagged<T> | undefined
  readonly read: () => Promise<Tagged<T>>
  readonly put: (value: T, tag: string | undefined, note: string) => Promise<string | undefined>
}): Editing<T> {
  const [state, setState] = useState<Edited<T>>()
  const [error, setError] = useState<unknown>()
  const latest = useRef<Edited<T>>(undefined)
  const found = useRef<number>(undefined)
  const [isKept, setKept] = useState(true)
  const [change] = useState(() => (next: (before: Edited<T>) => Edited<T>) => {
    if (latest.current === undefined) return
    latest.current = next(latest.current)
    if (newest<T>(name) === change) setKept(keepState(name, latest.current))
    setState(latest.current)
  })
  useEffect(() => { changes.set(name, change as Change<unknown>) }, [name, change])
  useEffect(() => {
    if (stored === undefined) return
    if (latest.current === undefined) {
      const draft = takeDraft<T>(name)
      found.current = draft?.at
      latest.current = draft === undefined ? opened(stored) : { ...draft, isRefused: false }
    }
    const { doubted } = latest.current
    change(before => heard(before, stored))
    if (doubted !== undefined && latest.current.doubted === undefined) setError(undefined)
  }, [stored])
  const hasChanged = state !== undefined && isChanged(state)
  useEffect(() => { if (state !== undefined && !hasChanged) found.current = undefined }, [state, hasChanged])
  useEffect(() => {
    if (isKept) return
    const ask = (event: BeforeUnloadEvent) => { event.preventDefault() }
    addEventListener('beforeunload', ask)
    return () => { removeEventListener('beforeunload', ask) }
  }, [isKept])
  const others = useOthers<T>(name, state !== undefined)
  const save = async (note = '') => {
    const before = latest.current
    if (before === undefined || before.sent !== undefined || before.half !== undefined) return
    setError(undefined)
    change(sent)
    try {
      const tag = await put(before.mine, before.base.tag, note)
      change(now => saved(now, tag))
    } catch (failure) {
      const isTaken = failure instanceof ApiError && failure.status === 412
      const theirs = isTaken ? await read().catch(() => undefined) : undefined
      if (theirs !== undefined) {
        change(now => refused(now, theirs))
        // An earlier save has come to the service, though its reply was lost: what was typed since goes on top of it.
        if (latest.current?.isRefused === false && !isSame(before.mine, theirs.value)) await save(note)
      } else {
        change(now => failed(now, !(failure instanceof ApiError)))
        setError(failure)
      }
    }
  }
  return {
    state,
    isChanged: hasChanged,
    isSaving: state?.sent !== undefined,
    error,
    type: mine => {
      setError(undefined)
      change(before => typed(before, mine))
    },
    typeHalf: (of, text) => { change(before => halfTyped(before, of, text)) },
    save,
    resolve: mine => { change(before => resolved(before, mine)) },
    postpone: () => { change(postponed) },
    drop: (says, value) => {
      const before = latest.current
      if (before === undefined) return
      const given = value ?? (before.theirs ?? before.base).value
      change(now => value === undefined ? resolved(now, given) : typed(now, given))
      if (!isChanged(before)) return
      const dropped: Draft<T> = { base: before.base, mine: before.mine, half: before.half, at: Date.now() }
      const bringBack = () => { newest<T>(name)?.(now => broughtBack(now, given, dropped) ?? parked(name, dropped, now)) }
      offerUndo(says, async () => { bringBack() }, bringBack)
    },
    alter: (says, mine, back) => {
      change(now => typed(now, mine))
      offerUndo(says, async () => { newest<T>(name)?.(now => ({ ...now, mine: back(now.mine) })) })
    },
    foundOf: found.current,
    isKept,
    elsewhere: others.find(({ mine }) => !isSame(mine, state?.mine))
  }
}

/** Changes the state of what is edited, also of what is edited on a screen that was left. */
type Change<T> = (next: (before: Edited<T>) => Edited<T>) => void

/** Since the page was loaded, by the name of what was edited: the last one who opened it. */
const changes = new Map<string, Change<unknown>>()

const newest = <T>(name: string) => changes.get(name) as Change<T> | undefined

/** @param isOpen whether the draft of this tab was taken, perhaps from another one */
function useOthers<T> (name: string, isOpen: boolean): ReadonlyArray<Draft<T>> {
  const [others, setOthers] = useState<ReadonlyArray<Draft<T>>>([])
  useEffect(() => {
    if (!isOpen) return
    setOthers(otherDrafts(name))
    return followDrafts(name, () => { setOthers(otherDrafts(name)) })
  }, [name, isOpen])
  return others
}

/*
 * What a person has typed and not saved is kept in the browser, by each tab for itself. A tab that has nothing takes over what another one
 * has left; one that is still open keeps its text and stores it again with its next change.
 */

interface Draft<T> extends Pick<Edited<T>, 'base' | 'mine' | 'half'> {
  /** In ms since 1970. */
  readonly at: number
}

const PREFIX = 'prompt-shell.draft.'

/** This tab, also after it was loaded again. */
const TAB = (() => {
  const kept = session.getItem('prompt-shell.tab') ?? crypto.randomUUID()
  keep(session, 'prompt-shell.tab', kept)
  return kept
})()

const keyOf = (name: string, tab: string): string => `${PREFIX}${name}\n${tab}`

/** @param name of what is edited, with its kind */
function takeDraft<T> (name: string): Draft<T> | undefined {
  const own = readAt<T>(keyOf(name, TAB))
  if (own !== undefined) return own
  const [newest] = keysOf(name).map(key => ({ key, draft: readAt<T>(key) })).sort((a, b) => (b.draft?.at ?? 0) - (a.draft?.at ?? 0))
  if (newest?.draft === undefined) return undefined
  local.removeItem(newest.key)
  keepDraft(name, newest.draft)
  return newest.draft
}

/** The drafts that other tabs of this browser have, the newest first. */
function otherDrafts<T> (name: string): ReadonlyArray<Draft<T>> {
  const others = keysOf(name).filter(key => key !== keyOf(name, TAB))
  return others.map(key => readAt<T>(key)).filter(draft => draft !== undefined).sort((a, b) => b.at - a.at)
}

/** Whether a tab of this browser has a draft of it. @param name of what is edited, with its kind */
export function hasDraft (name: string): boolean {
  return keysOf(name).length > 0
}

function keysOf (name: string): readonly string[] {
  return keysIn(local, keyOf(name, ''))
}

function readAt<T> (key: string): Draft<T> | undefined {
  try {
    return JSON.parse(local.getItem(key) ?? '') as Draft<T>
  } catch {
    return undefined
  }
}

/** @returns false where the browser has no room: the draft exists on this page only */
function keepState<T> (name: string, state: Edited<T>): boolean {
  if (isChanged(state)) return keepDraft(name, { base: state.base, mine: state.mine, half: state.half, at: Date.now() })
  local.removeItem(keyOf(name, TAB))
  return true
}

/** Keeps a draft as if another tab had it. The browser tells other tabs only that it has changed. */
function parked<T> (name: string, draft: Draft<T>, state: Edited<T>): Edited<T> {
  const key = keyOf(name, crypto.randomUUID())
  keep(local, key, JSON.stringify(draft))
  dispatchEvent(new StorageEvent('storage', { key }))
  return state
}

function keepDraft<T> (name: string, draft: Draft<T>): boolean {
  return keep(local, keyOf(name, TAB), JSON.stringify(draft))
}

/** Calls `tell` whenever another tab of this browser has changed its draft. @returns a function that ends it */
function followDrafts (name: string, tell: () => void): () => void {
  const listen = ({ key }: StorageEvent) => { if (key?.startsWith(keyOf(name, '')) === true) tell() }
  addEventListener('storage', listen)
  return () => { removeEventListener('storage', listen) }
}
