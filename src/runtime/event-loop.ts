/** The longest work in one turn of the event loop, in ms. */
const TURN_MILLISECONDS = 10

// Global to the process on purpose: all its work shares one event loop.
const waiting: Array<() => void> = []
let spent = 0
let pumpIsDue = false

/** Runs long synchronous work, perhaps in a later turn, first come, first served, so that sockets are read between. Throws what `work` throws. */
export function inTurn<T> (work: () => T): T | Promise<T> {
  if (hasTurnToSpare()) return timed(work)
  return new Promise(resolve => {
    waiting.push(() => { resolve((async () => timed(work))()) })
    schedulePump()
  })
}

export function hasTurnToSpare (): boolean {
  return waiting.length === 0 && spent < TURN_MILLISECONDS
}

function timed<T> (work: () => T): T {
  const started = performance.now()
  try {
    return work()
  } finally {
    spent += performance.now() - started
    schedulePump()
  }
}

function schedulePump (): void {
  if (pumpIsDue) return
  pumpIsDue = true
  setImmediate(pump)
}

/** Runs right after I/O; the limit is for the work before and after it together, so I/O comes between two long pieces. */
function pump (): void {
  pumpIsDue = false
  const earlier = spent
  for (let next = takeNext(); next !== undefined; next = takeNext()) next()
  spent -= earlier
  if (waiting.length > 0 || spent > 0) schedulePump()
}

function takeNext (): (() => void) | undefined {
  return spent < TURN_MILLISECONDS ? waiting.shift() : undefined
}

/** The longest busy time before a pause is due, in ms. */
const SLICE_MILLISECONDS = 5

export interface Slices {
  isDue (): boolean
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
