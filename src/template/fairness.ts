/** How long passes may run in one turn of the event loop, in ms, before the next pass waits for the next turn. */
const TURN_MILLISECONDS = 10

// Shared by all runs of the process on purpose: it is the one event loop that they share.
let spent = 0
let resetIsDue = false

/** Notes the time that a pass took, in ms. */
export function accountPass (milliseconds: number): void {
  spent += milliseconds
  if (resetIsDue) return
  resetIsDue = true
  setImmediate(() => {
    spent = 0
    resetIsDue = false
  })
}

/** A promise of the next turn when this one has run long enough, else `undefined`, so that the common case does not wait. */
export function waitForTurn (): Promise<void> | undefined {
  return spent < TURN_MILLISECONDS ? undefined : nextTurn()
}

async function nextTurn (): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
  return waitForTurn()
}
