import { type JsonObject } from '../../../base/json.ts'
import { type Executors } from '../../../exec/executors.ts'
import { type Perform } from './performing.ts'
import { type ReadFrom } from './read.ts'

/** Longer files are left out, in bytes. */
const MAX_FILE = 256 * 1024

/** Time for all files, in ms, when the effect has no less. */
const TIMEOUT = 5000

/** Reads files of targets: `{ path }` each. What is not there, or cannot be read in time, is left out. */
export function readTargetOf (executors: Executors): Perform<ReadFrom<'target'>> {
  return async ({ effect: { from, requests, timeout }, signal }) => {
    const executor = await executors.ofTarget(from.target)
    if (executor === undefined) return { kind: 'failure', code: 'TARGET_UNKNOWN', message: `the operator of this service offers no target "${from.target}"` }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.min(timeout, TIMEOUT))])
    const files: JsonObject[] = []
    for (const { path } of requests) {
      const text = typeof path === 'string' && !limit.aborted ? await executor.readText(path, MAX_FILE, limit).catch(() => undefined) : undefined
      if (text !== undefined) files.push({ path: path as string, text })
    }
    return { kind: 'result', result: { files } }
  }
}
