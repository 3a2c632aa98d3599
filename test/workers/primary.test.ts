import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { Primary } from '../../src/workers/primary.ts'
import { waitFor } from '../helpers/wait-for.ts'

describe('the primary process', { timeout: 60_000 }, () => {
  cluster.setupPrimary({ exec: 'test/fixtures/worker.js', execArgv: [] })

  it('replaces a worker that dies before the others listen', async t => {
    const primary = primaryOf(2)
    // Not by killing the workers, which the primary would replace for ever.
    t.after(() => primary.stop(false))
    const listening = new Set<number>()
    cluster.on('listening', ({ id }) => listening.add(id))
    const secondHears = once(cluster, 'message')
    const started = primary.start()
    const [first] = await once(cluster, 'listening') as [Worker]
    first.send('die')
    await once(cluster, 'exit')
    await secondHears
    cluster.workers?.[2]?.send('listen')
    await started
    await waitFor('the replacement to listen', () => listening.has(3))
  })

  it('ends a worker in good order that has only just been started', async () => {
    const primary = primaryOf(1)
    const started = primary.start()
    await primary.stop(false)
    await started
  })
})

function primaryOf (count: number): Primary {
  return new Primary({ count, patience: 30_000, log: { info: () => {}, warn: () => {} } })
}
