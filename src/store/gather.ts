import { type ChangeListener } from './store.ts'

/** The time for which changes are gathered before the listener is called, in ms, because one save in an editor is several events. */
const GATHER_MS = 20

/**
 * At this number of changed keys, the listener is called without waiting longer. No key must be dropped: if the listener does not hear that a key was
 * deleted, it believes that the store has lost the key by accident.
 */
const MAX_GATHERED_KEYS = 10_000

/** Gathers changed keys for a few ms, so that a burst of changes becomes one call of the listener. */
export interface Gatherer {
  /** Notes one changed key. */
  add (key: string): void
  /** Notes that every key has perhaps changed, or even another store is there now. The keys noted so far are dropped: they can belong to the old store. */
  addAll (): void
  /** Notes that besides the noted keys others have perhaps changed, and that it is not known which. */
  addUnknown (): void
  /** Forgets what was noted, and never calls the listener again. */
  stop (): void
}

/**
 * Creates a gatherer of changes. The wait is counted from the first change, so that a steady stream of writes cannot delay the call for ever.
 * @param wait how long changes are gathered, in ms
 */
export function createGatherer (listener: ChangeListener, wait = GATHER_MS): Gatherer {
  let since = 0
  let keys = new Set<string>()
  let hasUnknown = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  function emit (): void {
    clearTimeout(timer)
    const changed = keys
    const isAll = hasUnknown
    keys = new Set()
    hasUnknown = false
    timer = undefined
    // The single keys are reported last, because a call with `undefined` (any key can have changed) cancels all keys that were reported before it.
    if (isAll) listener(undefined, since)
    if (changed.size > 0) listener(changed, since)
  }

  function schedule (): void {
    if (stopped || timer !== undefined) return
    since = performance.now()
    timer = setTimeout(emit, wait)
  }

  return {
    add (key) {
      if (stopped) return
      schedule()
      if (keys.add(key).size === MAX_GATHERED_KEYS) emit()
    },
    addAll () {
      keys = new Set()
      hasUnknown = true
      schedule()
    },
    addUnknown () {
      hasUnknown = true
      schedule()
    },
    stop () {
      stopped = true
      clearTimeout(timer)
    }
  }
}
