/** How long background work may keep the event loop at a time, in ms. */
const SLICE_MILLISECONDS = 5

/** Tells long background work when to let others go on. */
export interface Slices {
  /** Whether the work has run long enough; costs a clock reading. */
  isDue (): boolean
  /** Lets everything else run once. */
  pause (): Promise<void>
}

/** Cuts long background work into slices, so that requests are served between them. */
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
