import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createPreparation } from '../../src/tool/preparation.ts'

/** A preparation that gives 1, 2, 3 …, and fails at the attempts that are named. */
function prepareNumbers (test: TestContext, failAt: readonly number[] = []) {
  const disposed: number[] = []
  let attempts = 0
  const preparation = createPreparation<number>({
    prepare: async () => {
      attempts++
      if (failAt.includes(attempts)) throw new Error(`no ${attempts}`)
      return attempts
    },
    dispose: value => { disposed.push(value) }
  })
  test.after(() => preparation.close())
  return { preparation, disposed, attempts: () => attempts }
}

/** Lets everything run that waits for nothing but its turn. */
const settle = () => new Promise(resolve => setImmediate(resolve))

describe('a preparation', () => {
  it('begins at once, and calls wait for its first attempt', async test => {
    const { preparation } = prepareNumbers(test)
    assert.equal(preparation.state(), 'preparing')
    assert.equal(await preparation.get(), 1)
    assert.equal(preparation.state(), 'ready')
  })

  it('tries again after a growing delay, and lets no call wait meanwhile', async test => {
    test.mock.timers.enable({ apis: ['setTimeout'] })
    const { preparation, attempts } = prepareNumbers(test, [1, 2])
    await preparation.attempted
    await assert.rejects(preparation.get(), { code: 'UNREACHABLE', message: 'could not be reached: no 1' })
    test.mock.timers.tick(500)
    await settle()
    assert.equal(attempts(), 2)
    test.mock.timers.tick(999)
    await settle()
    assert.deepEqual([attempts(), preparation.state()], [2, 'failed'])
    test.mock.timers.tick(1)
    await settle()
    assert.equal(await preparation.get(), 3)
  })

  it('tells of a failure once while it repeats itself', async test => {
    test.mock.timers.enable({ apis: ['setTimeout'] })
    const told: string[] = []
    const reasons = ['refused', 'refused', 'reset', 'refused']
    const preparation = createPreparation<number>({
      prepare: () => Promise.reject(new Error(reasons.shift() ?? 'refused')),
      dispose: () => {},
      failed: ({ message }) => told.push(message)
    })
    test.after(() => preparation.close())
    await preparation.attempted
    while (reasons.length > 0) {
      test.mock.timers.tick(60_000)
      await settle()
    }
    assert.deepEqual(told, ['refused', 'reset', 'refused'])
  })

  it('that is lost soon after it was ready waits before it begins anew', async test => {
    test.mock.timers.enable({ apis: ['setTimeout'] })
    const { preparation, disposed, attempts } = prepareNumbers(test)
    preparation.renew(await preparation.get(), 'it died')
    await settle()
    assert.deepEqual([disposed, attempts()], [[1], 1])
    await assert.rejects(preparation.get(), { message: 'it died' })
    test.mock.timers.tick(500)
    await settle()
    assert.equal(await preparation.get(), 2)
  })

  it('that is lost after a while begins anew at once', async test => {
    const { preparation } = prepareNumbers(test)
    const lost = await preparation.get()
    const later = performance.now() + 6000
    test.mock.method(performance, 'now', () => later)
    preparation.renew(lost, 'it died')
    await settle()
    assert.equal(await preparation.get(), 2)
  })

  it('does not give up what is new for the loss of what was old', async test => {
    const { preparation, attempts } = prepareNumbers(test)
    await preparation.get()
    preparation.renew(0, 'an old one died')
    assert.deepEqual([preparation.state(), attempts()], ['ready', 1])
  })

  it('disposes of what it has when it is closed, and tries no more', async test => {
    const { preparation, disposed } = prepareNumbers(test)
    await preparation.get()
    await preparation.close()
    assert.deepEqual(disposed, [1])
    await assert.rejects(preparation.get(), { message: 'is closed' })
  })

  it('does not mind what cannot be disposed of', async () => {
    const preparation = createPreparation({ prepare: async () => 1, dispose: () => { throw new Error('stuck') } })
    await preparation.get()
    await preparation.close()
  })
})
