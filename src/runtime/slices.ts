/** The longest time for which background work keeps the event loop busy before a pause is due, in ms. */
const SLICE_MILLISECONDS = 5

/** Tells long background work when to pause, so that other work can go on. */
export interface Slices {
  /** Whether a pause is due; reads the clock. */
  isDue (): boolean
  /** Lets all other work of the event loop run once. */
  pause (): Promise<void>
}

/** Makes the clock that cuts long background work into slices, so that requests are served between them. */
export function createSlices (): Slices {
  let started = performance.now()
  return {
    isDue: () => performance.now() - started > SLICE_MILLISECONDS,
    async pause () {
      await new Promise(resolve => setImmediate(resolve))
      started = performance.now()
    }
  }
}
