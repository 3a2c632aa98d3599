/** How long background work may keep the event loop at a time, in ms. */
const SLICE_MILLISECONDS = 5

/** Cuts long background work into slices, so that requests are served between them. */
export function createSlices () {
  let started = performance.now()
  return {
    /** Whether the work has run long enough; costs a clock reading. */
    isDue: () => performance.now() - started > SLICE_MILLISECONDS,
    /** Lets everything else run once. */
    async pause (): Promise<void> {
      await new Promise(resolve => setImmediate(resolve))
      started = performance.now()
    }
  }
}
