import { type ChangeListener } from './store.ts'

/** How long changes are gathered before the listener is told, in ms: one save of an editor is several events. */
const GATHER_MS = 20

/**
 * So many keys are told without waiting for more. Every key must be told: a listener that has not heard of a delete would
 * take it for a loss.
 */
const MAX_GATHERED_KEYS = 10_000

/** Gathers changes for a few ms, so that a burst becomes one call of the listener. */
export interface Gatherer {
  /** Notes one changed key. */
  add (key: string): void
  /** Notes that anything may have changed. Notes of single keys are dropped, since they may be older than that. */
  addAll (): void
  /** Notes that other keys may have changed too, and nobody can say which. */
  addUnknown (): void
  /** Forgets what was noted and tells nothing more. */
  stop (): void
}

/**
 * Creates a gatherer. The wait is counted from the first change, so that steady writes cannot starve the listener.
 * @param wait how long changes are gathered, in ms
 */
export function createGatherer (listener: ChangeListener, wait = GATHER_MS): Gatherer {
  let since = 0
  let keys: Set<string> | undefined = new Set()
  let hasUnknown = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  function emit (): void {
    clearTimeout(timer)
    const changed = keys
    const isAll = hasUnknown || changed === undefined
    keys = new Set()
    hasUnknown = false
    timer = undefined
    // Single keys come last, for "all" takes back what was told of them.
    if (isAll) listener(undefined, since)
    if (changed !== undefined && changed.size > 0) listener(changed, since)
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
      if (keys?.add(key).size === MAX_GATHERED_KEYS) emit()
    },
    addAll () {
      keys = undefined
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
