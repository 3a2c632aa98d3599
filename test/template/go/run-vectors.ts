import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Verdict } from './judge.ts'

/** Enough for 100,000 templates inside each other, which Go allows. */
const STACK_MEGABYTES = 900

/** Runs every case of a file of vectors, one JSON object a line, on a large stack. */
export async function runVectors (file: string): Promise<readonly Verdict[]> {
  const worker = new Worker(new URL('./start-vector-worker.js', import.meta.url), { workerData: file, resourceLimits: { stackSizeMb: STACK_MEGABYTES } })
  const [verdicts] = await once(worker, 'message') as [readonly Verdict[]]
  await worker.terminate()
  return verdicts
}
