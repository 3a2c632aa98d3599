import cluster, { type Worker } from 'node:cluster'
import { on, once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { Primary } from '../../src/workers/primary.ts'
import { quietLog } from '../helpers/quiet-log.ts'

describe('the primary process', { timeout: 60_000 }, () => {
  cluster.setupPrimary({ exec: 'test/fixtures/worker.js', execArgv: [] })

  it('replaces a worker that dies before the others listen', async t => {
    const next = workersThatHear(t)
    const primary = primaryOf(2)
    // Not by killing the workers, which the primary would replace for ever.
    t.after(() => primary.stop(false))
    const started = primary.start()
    const first = await next()
    const second = await next()
    await listen(first)
    first.send('die')
    await listen(await next())
    await listen(second)
    await started
  })

  it('ends a worker in good order that did not hear yet when it was told to stop', async t => {
    const next = workersThatHear(t)
    const primary = primaryOf(1)
    const started = primary.start()
    const stopped = primary.stop(false)
    const worker = await next()
    worker.send('listen')
    await stopped
    await started
  })

  it('takes it for good order when a signal ends a worker that is to stop', async t => {
    const next = workersThatHear(t)
    const primary = primaryOf(1)
    const started = primary.start()
    const worker = await next()
    worker.send('ignore')
    await next()
    const stopped = primary.stop(false)
    worker.process.kill('SIGTERM')
    await stopped
    await started
  })

  it('takes it for good order when a worker stops, as it was told, before it listens', async t => {
    const next = workersThatHear(t)
    const primary = primaryOf(1)
    const started = primary.start()
    await next()
    await primary.stop(false)
    await started
  })
})

function primaryOf (count: number): Primary {
  return new Primary({ count, patience: 30_000, log: quietLog() })
}

/** What waits for the next worker that says that it hears. */
function workersThatHear (t: TestContext): () => Promise<Worker> {
  const messages = on(cluster, 'message')
  t.after(() => messages.return?.())
  return async () => {
    const { value: [worker] } = await messages.next() as { value: [Worker] }
    return worker
  }
}

async function listen (worker: Worker): Promise<void> {
  worker.send('listen')
  await once(worker, 'listening')
}
