/** How long work may run in one turn of the event loop, in ms. Further work waits for the next turn. */
const TURN_MILLISECONDS = 10

// These variables are global to the process on purpose, because all its work shares one event loop.
const waiting: Array<() => void> = []
let spent = 0
let pumpIsDue = false

/**
 * Runs synchronous work that may be long, such as one run of a template or the parsing of a body. The work runs at once if this turn of the event
 * loop has time left and no other work waits. Otherwise it runs in a later turn, first come, first served, so that the process reads its sockets
 * between two pieces of work.
 * @throws what the work throws, or rejects with it
 */
export function inTurn<T> (work: () => T): T | Promise<T> {
  if (hasTurnToSpare()) return timed(work)
  return new Promise(resolve => {
    waiting.push(() => { resolve((async () => timed(work))()) })
    schedulePump()
  })
}

/** Whether this turn of the event loop has time left that no waiting work needs, so that new work may begin. */
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
 * Runs waiting work in the next turn of the event loop, right after Node has handled I/O. Time that was spent since the last call counts against this
 * call, and the time of this call counts against the work before the next one: so I/O always comes between two long pieces of work.
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
