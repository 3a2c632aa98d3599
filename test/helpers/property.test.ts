import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { leastOfUse, runsOf } from './property.ts'

/** Runs a property of its own in a process of its own. @returns what the runner printed */
function runProperty (check: string, environment: Readonly<Record<string, string>> = {}): string {
  const code = `
    import fc from 'fast-check'
    import { property } from '${new URL('property.ts', import.meta.url).href}'
    property('numbers', 200, given => {${check}})`
  // A runner in a runner would report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--test-reporter=tap', '--eval', code], { encoding: 'utf8', env: { ...env, PROPERTY_FACTOR: '1', ...environment } }).stdout
}

const FAILING = 'given.holds(fc.property(fc.integer(), n => n < 1000))'
const SAMPLE = 'console.log("sample " + given.sample(fc.integer()).join())'

describe('A property', () => {
  it('says the seed when it fails, and fails alike with it', () => {
    const first = runProperty(FAILING)
    const [, seed = ''] = /PROPERTY_SEED=(\d+) PROPERTY_FACTOR=1 makes the same values again/.exec(first) ?? []
    assert.match(seed, /^\d+$/)
    const counterexample = /Property failed after \d+ tests/
    assert.equal(counterexample.exec(runProperty(FAILING, { PROPERTY_SEED: seed }))?.[0], counterexample.exec(first)?.[0] ?? 'it has failed')
  })

  it('makes the same values of the same seed', () => {
    const [one, other] = [runProperty(SAMPLE, { PROPERTY_SEED: '7' }), runProperty(SAMPLE, { PROPERTY_SEED: '7' })].map(printed => /^(?:# )?sample .*$/m.exec(printed)?.[0])
    assert.match(String(one), /sample -?\d+,/)
    assert.equal(one, other)
  })

  it('fails when too few values were of use', () => {
    assert.match(runProperty('given.wasOfUse(40, 0.5)'), /only 40 of 200 were of use/)
    assert.match(runProperty('given.wasOfUse(90, 0.5)'), /^# pass 1$/m)
  })

  it('has as many runs as the factor says, but never hardly any', () => {
    assert.deepEqual([runsOf(10_000, 0.1), runsOf(10_000, 17), runsOf(300, 0.1), runsOf(20, 0.1), runsOf(20, 2)], [1000, 170_000, 50, 20, 40])
  })

  // The most that chance falls short of once in a million times, reckoned in exact fractions.
  for (const [runs, share, least] of [[20, 0.5, 1], [50, 0.1, 0], [50, 0.5, 9], [300, 0.9, 243], [1000, 0.7, 630]] as const) {
    it(`wants ${least} of ${runs} to be of use where ${share} of all are`, () => {
      assert.equal(leastOfUse(runs, share), least)
    })
  }
})
