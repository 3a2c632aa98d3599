/** The longest time for which work runs in one turn of the event loop before further work has to wait for the next turn, in ms. */
const TURN_MILLISECONDS = 10

// These variables are global to the process on purpose, because all its work shares one event loop.
const waiting: Array<() => void> = []
let spent = 0
let pumpIsDue = false

/**
 * Runs synchronous work that can take long, such as one run of a template or the parsing of a body. The work runs at once if less than
 * `TURN_MILLISECONDS` of this turn of the event loop are used and no other work waits. Otherwise it runs in a later turn, first come, first served, so
 * that the process reads its sockets between two pieces of work.
 * @throws what the work throws, or rejects with it
 */
export function inTurn<T> (work: () => T): T | Promise<T> {
  if (hasTurnToSpare()) return timed(work)
  return new Promise(resolve => {
    waiting.push(() => { resolve((async () => timed(work))()) })
    schedulePump()
  })
}

/** Whether new work can begin in this turn of the event loop: the turn's time is not used up, and no earlier work waits for a turn. */
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

/**
 * Runs the work in `waiting`, right after Node has handled I/O. The limit `TURN_MILLISECONDS` is for the work just before and just after this I/O
 * together, so I/O always comes between two long pieces of work.
 */
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
