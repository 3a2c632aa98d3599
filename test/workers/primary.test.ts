import assert from 'node:assert/strict'
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { it } from 'node:test'
import { Primary } from '../../src/workers/primary.ts'
import { waitFor } from '../helpers/wait-for.ts'

it('a worker that dies before the others listen is replaced', async t => {
  cluster.setupPrimary({ exec: 'test/fixtures/worker.js', execArgv: [] })
  t.after(() => { for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL') })
  const listening: number[] = []
  cluster.on('listening', ({ id }) => listening.push(id))
  const primary = new Primary({ count: 2, patience: 5000, log: { info: () => {}, warn: () => {} } })
  const started = primary.start()
  const [first] = await once(cluster, 'listening') as [Worker]
  first.send('die')
  await once(cluster, 'exit')
  cluster.workers?.[2]?.send('listen')
  await started
  await waitFor('the replacement to listen', () => listening.length === 3)
  assert.deepEqual(listening, [1, 2, 3])
  await primary.stop(false)
})
