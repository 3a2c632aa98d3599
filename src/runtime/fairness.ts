/** How long work may take in one turn of the event loop, in ms, before more of it waits for the next turn. */
const TURN_MILLISECONDS = 10

// Shared by everything in the process on purpose: it is the one event loop that they share.
const waiting: Array<() => void> = []
let spent = 0
let pumpIsDue = false

/**
 * Does synchronous work that may be long, such as a pass or the parsing of a body: at once if this turn of the event
 * loop has time left and nobody waits, so that the common case does not wait, else in a later turn, first come, first
 * served. Between two turns the process hears of what else has arrived.
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
 * Immediates run right after I/O. What was spent since the last pump counts against this one, and what this one spends
 * against what comes before the next, so that no two long pieces of work follow each other without I/O between them.
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
