import { useEffect, useRef, useSyncExternalStore } from 'react'
import { useLocation } from 'wouter'
import { keep, local } from './storage.ts'

/** The name under which the browser stores that the user wants to be notified. */
const KEY = 'prompt-shell.notify'

/** Something that waits for the user. `id` stays the same as long as it is the same thing. */
export interface Waiting {
  readonly id: string
  readonly title: string
  readonly text: string
  /** The path of the page where the user deals with it. */
  readonly path: string
}

/** `impossible`: the browser has no notifications here, for example on a page without TLS. `refused`: the user has forbidden them to this site. */
type Wish = 'on' | 'off' | 'refused' | 'impossible'

/** Whether the browser has notifications, but not from a page: those of phones let only service workers notify. */
let isForWorkers = false

const listeners = new Set<() => void>()

export function useWish (): Wish {
  return useSyncExternalStore(listen, wish)
}

function wish (): Wish {
  if (isForWorkers || !('Notification' in globalThis) || !isSecureContext) return 'impossible'
  if (Notification.permission === 'denied') return 'refused'
  return Notification.permission === 'granted' && local.getItem(KEY) === 'on' ? 'on' : 'off'
}

/** Turns notifications on or off. The browser asks the user for permission, if it has not yet: so this is called only when the user presses a button. */
export async function changeWish (isOn: boolean): Promise<void> {
  if (isOn) keep(local, KEY, 'on')
  else local.removeItem(KEY)
  if (isOn && Notification.permission === 'default') await Notification.requestPermission()
  for (const listener of listeners) listener()
}

function listen (listener: () => void): () => void {
  listeners.add(listener)
  return () => { listeners.delete(listener) }
}

/**
 * Notifies the user of each thing that begins to wait while the page is hidden, if the user wants that. What no longer waits takes its
 * notification with it. @param waiting `undefined` until it is known what waits
 */
export function useNotifications (waiting: readonly Waiting[] | undefined): void {
  const known = useRef<ReadonlySet<string>>(undefined)
  const shown = useRef(new Map<string, Notification>())
  const [, go] = useLocation()
  useEffect(() => {
    if (waiting === undefined) return
    const now = new Set(waiting.map(({ id }) => id))
    for (const [id, notification] of shown.current) {
      if (now.has(id)) continue
      notification.close()
      shown.current.delete(id)
    }
    const { current: before } = known
    known.current = now
    if (before === undefined || document.visibilityState === 'visible' || wish() !== 'on') return
    for (const each of waiting) if (!before.has(each.id)) notify(each)
  }, [waiting])

  function notify ({ id, title, text, path }: Waiting): void {
    try {
      // Of several tabs with the same tag the browser shows one.
      const notification = new Notification(title, { body: text, tag: id })
      shown.current.set(id, notification)
      notification.onclick = () => {
        focus()
        go(path)
        notification.close()
      }
    } catch {
      isForWorkers = true
      for (const listener of listeners) listener()
    }
  }
}
