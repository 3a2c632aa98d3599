import { afterEach, beforeEach, type TestContext } from 'node:test'

// Imported first by each process of tests (scripts/testing/lanes.js): a test that waits for ever is ended with its name, before the runner ends
// the whole process and can say nothing of it. So is a process that does not end when its tests have ended.

/** Longer than any test takes on a slow machine, in ms. */
const LONGEST = 15 * 60_000

let last = 'before the first test'
// It keeps no process alive.
const timer = setTimeout(() => {
  // The runner reads what tests print, and whoever reads of a failure has the end of it only.
  process.stderr.write(`nothing began or ended for ${LONGEST / 60_000} minutes ${last}; the process waits for: ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit(1)
}, LONGEST).unref()

function note (when: string): (context: unknown) => void {
  return context => {
    last = `${when} "${(context as TestContext).fullName}"`
    timer.refresh()
  }
}

beforeEach(note('in'))
afterEach(note('after'))
