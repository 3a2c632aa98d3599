import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { promptKind } from '../../src/registry/kinds/prompt-kind.ts'
import { StaleGuard } from '../../src/registry/stale-guard.ts'
import { quietLog } from '../helpers/quiet-log.ts'

/** A guard of the prompts that are loaded, with its own clock in ms. */
function guarding (loaded: readonly string[], { emptyHold = 600_000, announced = [] as readonly string[] } = {}) {
  let now = 0
  const keyOf = (name: string) => `shenma:templates:${name}`
  const guard = new StaleGuard({
    kinds: [promptKind],
    keyPrefix: 'shenma:',
    nodes: undefined,
    emptyHold,
    log: quietLog(),
    keysOf: () => loaded.map(keyOf),
    isAnnounced: key => announced.map(keyOf).includes(key)
  }, () => now)
  return {
    guard,
    /** What is held after a listing that comes at a time. @param written the names that were written since the listing began */
    async at (time: number, listed: readonly string[], written: readonly string[] = []): Promise<readonly string[]> {
      now = time
      const survives = listed.some(name => loaded.includes(name) && !written.includes(name))
      const tallies = new Map([[promptKind.key, { listed: listed.length, survives }]])
      const isHeld = await guard.judge({ keys: new Map(), tallies, isListed: key => listed.map(keyOf).includes(key) })
      return loaded.filter(name => !listed.includes(name) && isHeld?.(keyOf(name)) === true)
    }
  }
}

describe('StaleGuard', () => {
  it('believes a listing that has something of what was loaded', async () => {
    assert.deepEqual(await guarding(['a', 'b']).at(0, ['a']), [])
  })

  it('believes an empty listing when nothing was loaded', async () => {
    assert.deepEqual(await guarding([]).at(0, []), [])
  })

  it('believes an empty listing when every delete was seen', async () => {
    assert.deepEqual(await guarding(['a', 'b'], { announced: ['a', 'b'] }).at(0, []), [])
  })

  it('holds what was lost until its time is over', async () => {
    const { at } = guarding(['a', 'b'])
    const held = [await at(0, []), await at(599_999, []), await at(600_000, [])]
    assert.deepEqual(held, [['a', 'b'], ['a', 'b'], []])
  })

  it('holds what was lost though others were written before the first listing', async () => {
    assert.deepEqual(await guarding(['a', 'b']).at(0, ['new', 'a'], ['a']), ['b'])
  })

  it('holds the others after one came back, until nothing more has come back for as long', async () => {
    const { at } = guarding(['a', 'b', 'c'])
    const held = [await at(0, []), await at(500_000, ['a']), await at(900_000, ['a', 'b']), await at(1_499_999, ['a', 'b']), await at(1_500_000, ['a', 'b'])]
    assert.deepEqual(held, [['a', 'b', 'c'], ['b', 'c'], ['c'], ['c'], []])
  })

  it('waits for 60 s of quiet when something came back, also where an empty store is believed sooner', async () => {
    const { at } = guarding(['a', 'b'], { emptyHold: 1000 })
    const held = [await at(0, []), await at(500, ['a']), await at(60_499, ['a']), await at(60_500, ['a'])]
    assert.deepEqual(held, [['a', 'b'], ['b'], ['b'], []])
  })

  it('ends when all are back', async () => {
    const { guard, at } = guarding(['a', 'b'])
    await at(0, [])
    await at(1, ['a', 'b'])
    assert.equal(guard.isHolding, false)
  })

  it('believes the next listing after a release', async () => {
    const { guard, at } = guarding(['a'])
    await at(0, [])
    guard.release()
    assert.deepEqual(await at(1, []), [])
  })
})
