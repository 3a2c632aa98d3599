import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { followSession } from '../../src/session/follow.ts'
import { type Performer } from '../../src/session/effects.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { createRunner, heardIn, memoryStore, newId, readAll, until } from './runners.ts'
import { scripted } from './script-engine.ts'

const MIB = 1024 * 1024
const LARGE: Performer = { async perform () { return { kind: 'result', result: 'x'.repeat(8 * MIB) } }, isRepeatable: () => true }

describe('A log', () => {
  it('takes 64 MiB, and nothing is begun or heard beyond', async t => {
    const [store, id] = [memoryStore(t), newId()]
    const runner = createRunner(t, store, LARGE)
    await runner.start(id, scripted('a > b > c > d > e > f > g > h > i > j'))
    await until(runner, id, 'waiting_input')
    assert.deepEqual((await heardIn(runner, id)).map(each => each.split(' ')[1]), [...Array.from({ length: 9 }, () => 'result'), 'refused'].slice(-10))
    const size = (await readAll(store, id)).reduce((sum, transition) => sum + JSON.stringify(transition).length, 0)
    assert.ok(size > 64 * MIB && size < 80 * MIB, `${size}`)
    await assert.rejects(runner.input(id, { id: 'x', by: 'ann', text: 'a' }), { code: 'SESSION_FULL' })
  })
})

describe('Live words', () => {
  it('wait for a slow reader within a bound of their length', async t => {
    const [store, id, ending] = [memoryStore(t), newId(), new AbortController()]
    await createRunner(t, store, LARGE).start(id, scripted(''))
    const followed = followSession(store, id, 0, ending.signal)
    assert.ok('transition' in ((await followed.next()).value ?? {}))
    for (let count = 0; count < 100; count++) store.publish(id, { type: 'command.output', text: 'x'.repeat(16 * 1024) })
    const words: number[] = []
    for (let count = 0; count < 16; count++) {
      const next = (await followed.next()).value as { readonly live?: { readonly text?: string } }
      words.push(next.live?.text?.length ?? 0)
    }
    store.publish(id, { type: 'last' })
    assert.deepEqual((await followed.next()).value, { live: { type: 'last' } })
    assert.equal(words.reduce((sum, length) => sum + length, 0), 256 * 1024)
    ending.abort()
    await waitFor('the end', async () => (await followed.next()).done)
  })
})
