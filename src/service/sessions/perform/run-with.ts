import { type JsonObject } from '../../../base/json.ts'
import { type Executor, ExecutorError } from '../../../exec/executor.ts'
import { type Outcome } from '../../../session/performer.ts'
import { LiveOutput } from './live-output.ts'

/** What the log keeps of each stream, in bytes. */
const KEPT = 64 * 1024

/** What is asked for, of the effects that run a command. */
interface RunRequest {
  readonly id: string
  readonly cwd?: string
  readonly timeout: number
}

/** Runs a command, and tells the session's followers what it prints. */
export async function runWith (executor: Executor, { id, cwd, timeout }: RunRequest, command: string, signal: AbortSignal, publish: (live: JsonObject) => void): Promise<Outcome> {
  const live = new LiveOutput(id, publish)
  try {
    const { outcome, ...ran } = await executor.run(command, { cwd, timeout, signal, keep: KEPT, onOutput: (stream, text) => { live.append(stream, text) } })
    if (outcome === 'lost') return { kind: 'unknown' }
    return { kind: 'result', result: { outcome, ...ran, command } }
  } catch (error) {
    if (!(error instanceof ExecutorError)) throw error
    return { kind: 'failure', code: error.code, message: error.message }
  } finally {
    live.end()
  }
}
