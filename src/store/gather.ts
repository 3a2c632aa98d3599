import { type ChangeListener } from './store.ts'

/** In ms; one save in an editor is several events. */
const GATHER_MS = 20

/** The listener is called at once. No key may be dropped: an unreported deletion looks as if the store had lost the key. */
const MAX_GATHERED_KEYS = 10_000

export interface Gatherer {
  add (key: string): void
  /** Perhaps even another store is there now: the noted keys are dropped, since they can belong to the old one. */
  addAll (): void
  addUnknown (): void
  stop (): void
}

/** The wait, in ms, counts from the first change, so that a steady stream of writes cannot delay the call for ever. */
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
    // The single keys come last: a call with `undefined` cancels all keys that were reported before it.
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
