import assert from 'node:assert/strict'
import { it, type TestContext, type TestOptions } from 'node:test'
import fc from 'fast-check'

/** What of the full number of runs is made: a tenth in `npm test`, all in `npm run test:system`, more in `npm run test:long`. */
const FACTOR = Number(process.env['PROPERTY_FACTOR'] ?? 1)

/** Every run makes the same values, so that a change is judged by itself; the long tests look for new ones. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? (FACTOR > 1 ? Date.now() % 2 ** 31 : 1))

/** Runs that are made whatever the factor is, if there are as many. */
const LEAST_RUNS = 50

/** How likely a check of a share may fail by chance alone. */
const FALSE_ALARMS = 1e-6

/** What a property is checked with. */
export interface Given {
  /** How many values are made. */
  readonly runs: number
  /** What they are made from: the same seed makes the same. */
  readonly seed: number
  /** Checks that something holds of all values. @throws for the smallest value of which it does not */
  holds<T> (property: fc.IProperty<T>, more?: Omit<fc.Parameters<T>, 'numRuns' | 'seed'>): void
  /** The same, of what takes its time. */
  comesToHold<T> (property: fc.IAsyncProperty<T>, more?: Omit<fc.Parameters<T>, 'numRuns' | 'seed'>): Promise<void>
  /** Values to be used all together. */
  sample<T> (arbitrary: fc.Arbitrary<T>): T[]
  /**
   * Checks that a share of the runs was of use, so that a property does not hold of nothing. A false alarm is less likely than
   * one in a million.
   * @param share what of all values is of use at least, in the long run
   */
  wasOfUse (count: number, share: number): void
}

/**
 * A test of what holds of all values of a kind, some of which are made by chance. It says the seed when it fails; PROPERTY_SEED=… makes
 * the same values again.
 * @param runs how many values a full test has
 */
export function property (name: string, runs: number, check: (given: Given, t: TestContext) => void | Promise<void>, options: TestOptions = {}): void {
  const numRuns = runsOf(runs)
  const seed = SEED
  const given: Given = {
    runs: numRuns,
    seed,
    holds: (each, more = {}) => { fc.assert(each, { ...more, numRuns, seed }) },
    comesToHold: async (each, more = {}) => { await fc.assert(each, { ...more, numRuns, seed }) },
    sample: arbitrary => fc.sample(arbitrary, { numRuns, seed }),
    wasOfUse: (count, share) => { assert.ok(count >= leastOfUse(numRuns, share), `only ${count} of ${numRuns} were of use`) }
  }
  it(name, options, async t => {
    try {
      await check(given, t)
    } catch (error) {
      const { message } = error as Error
      throw new Error(`${message}\n\nPROPERTY_SEED=${seed} PROPERTY_FACTOR=${FACTOR} makes the same values again`, { cause: error })
    }
  })
}

/** How many of the runs of a full test are made now. */
export function runsOf (runs: number, factor: number = FACTOR): number {
  return Math.max(Math.min(runs, LEAST_RUNS), Math.round(runs * factor))
}

/** Fewer of use than this are no chance: by the binomial distribution, they come less than once in a million times. */
export function leastOfUse (runs: number, share: number): number {
  let logarithm = runs * Math.log1p(-share)
  let chance = 0
  for (let count = 0; count <= runs; count++) {
    chance += Math.exp(logarithm)
    if (chance >= FALSE_ALARMS) return count
    logarithm += Math.log((runs - count) / (count + 1)) + Math.log(share / (1 - share))
  }
  return runs
}
