/** How long work may run in one turn of the event loop, in ms. Further work waits for the next turn. */
const TURN_MILLISECONDS = 10

// Shared by everything in the process on purpose: it is the one event loop that they share.
const waiting: Array<() => void> = []
let spent = 0
let pumpIsDue = false

/**
 * Runs synchronous work that may be long, such as a pass of a render or the parsing of a body. The work runs at once if this
 * turn of the event loop has time left and nothing waits. Otherwise it runs in a later turn, first come, first served, so
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

/** Whether this turn has time left that no waiting work needs: something new may begin. */
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
 * Node runs immediates right after I/O. The time spent since the last pump counts against this pump, and the time of this
 * pump counts against the work before the next. So I/O always comes between two long pieces of work.
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
