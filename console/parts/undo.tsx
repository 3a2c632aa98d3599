/*
 * What was done a moment ago, each with a way to take it back, for 10 s. The list belongs to the console, not to a screen, so it is still
 * there after the screen was left. Everything is done at once and taken back by a second act: nothing waits to be sent, so a tab that is
 * closed leaves nothing half done. What exists only in this browser comes back by itself when the tab is closed before.
 */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { t } from '../text/text.ts'
import { ErrorNote } from './error-note.tsx'
import { isShortcut, letterOf } from './writing.ts'

interface Done {
  readonly key: number
  readonly says: string
  /** Takes it back; `undefined` when that was done. */
  readonly undo: (() => Promise<unknown>) | undefined
  /** Called when the page is closed while it can still be taken back. */
  readonly onClose: (() => void) | undefined
}

/** How long something can be taken back, and how long it is said that it was, in ms. */
const [PATIENCE, MOMENT] = [10_000, 4000]

let list: readonly Done[] = []
let next = 0
const followers = new Set<() => void>()

function change (changed: readonly Done[]): void {
  list = changed
  for (const follower of followers) follower()
}

/**
 * Says what was done, and offers for 10 s to take it back. @param undo may be called after its screen was left @param onClose for what
 * only this browser has: called when the page is closed before
 */
export function offerUndo (says: string, undo: () => Promise<unknown>, onClose?: () => void): void {
  change([...list, { key: next++, says, undo, onClose }])
}

addEventListener('pagehide', () => {
  for (const { undo, onClose } of list) if (undo !== undefined) onClose?.()
})

/** The place where it is said, beside every screen. The key `u` takes back what was done last. */
function UndoList () {
  const all = useSyncExternalStore(follow, () => list)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isShortcut(event) || letterOf(event) !== 'u') return
      const buttons = document.querySelectorAll<HTMLElement>('.undo-list [data-undo]')
      buttons.item(buttons.length - 1)?.click()
    }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [])
  return <div className='undo-list stack tight' role='status' aria-live='polite'>{all.map(done => <OneDone key={done.key} done={done} />)}</div>
}

function follow (follower: () => void): () => void {
  followers.add(follower)
  return () => { followers.delete(follower) }
}

function OneDone ({ done: { key, says, undo } }: { readonly done: Done }) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  // The time stands still while somebody reads here with the pointer or the focus.
  const [isHeld, setHeld] = useState(false)
  const left = useRef(PATIENCE)
  useEffect(() => { left.current = undo === undefined ? MOMENT : PATIENCE }, [undo])
  useEffect(() => {
    if (isBusy || isHeld || error !== undefined) return
    const begun = Date.now()
    const timer = setTimeout(() => { remove(key) }, left.current)
    return () => {
      clearTimeout(timer)
      left.current -= Date.now() - begun
    }
  }, [key, undo, isBusy, isHeld, error])
  const act = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await undo?.()
      change(list.map(each => each.key === key ? { ...each, says: t.takenBack(says), undo: undefined } : each))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <div
      className='note'
      onPointerEnter={() => { setHeld(true) }}
      onPointerLeave={() => { setHeld(false) }}
      onFocus={() => { setHeld(true) }}
      onBlur={() => { setHeld(false) }}
    >
      <span className='grow wrap'>{says}</span>
      {error !== undefined && <ErrorNote error={error} />}
      {undo !== undefined && (
        <button type='button' data-undo className='button small' disabled={isBusy} onClick={() => { void act() }}>
          {error === undefined ? t.undo : t.retry} <kbd aria-hidden='true'>u</kbd>
        </button>
      )}
      <button type='button' className='button plain small' aria-label={t.close} onClick={() => { remove(key) }}>✕</button>
    </div>
  )
}

function remove (key: number): void {
  change(list.filter(each => each.key !== key))
}

// A screen reader announces what comes into a place that is there already, and screens that offer nothing load nothing of it.
createRoot(document.body.appendChild(document.createElement('div'))).render(<UndoList />)
