import { type OperatorFile } from '../../../config/operator.ts'
import { type Executor, ExecutorError } from '../../../exec/executor.ts'
import { type Executors } from '../../../exec/executors.ts'
import { type CheckEffect, type ExecEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type WorkspaceLocks } from './files.ts'
import { LiveOutput } from './live-output.ts'
import { type Perform, type Performing } from './performer.ts'

/** The most bytes of a command's stdout, and the most bytes of its stderr, that the session's log keeps. */
const KEPT = 64 * 1024

/** Makes the performer that runs commands on targets (machines). Each command has been checked before against the operator's rules. */
export function runCommandsOn (executors: Executors, { targets }: OperatorFile, lockOf: WorkspaceLocks): Perform<ExecEffect> {
  return async performing => {
    const { effect, signal } = performing
    const target = targets.get(effect.target)
    const executor = await executors.ofTarget(effect.target)
    if (target === undefined || executor === undefined) return notOffered('TARGET_UNKNOWN', `target "${effect.target}"`)
    const run = (): Promise<Outcome> => runWith(executor, effect.command, performing)
    return target.type === 'local' ? await lockOf(target.workspace.name).beside(signal, run) : await run()
  }
}

/** Makes the performer that runs checks: commands to which the operator's file gives names, such as the tests of a workspace. */
export function runChecksIn (executors: Executors, { workspaces }: OperatorFile, lockOf: WorkspaceLocks): Perform<CheckEffect> {
  return async performing => {
    const { effect: { workspace, check }, signal } = performing
    const command = workspaces.get(workspace)?.checks.get(check)
    const executor = await executors.ofWorkspace(workspace)
    if (command === undefined || executor === undefined) return notOffered('CHECK_UNKNOWN', `check "${check}" of a workspace "${workspace}"`)
    return await lockOf(workspace).beside(signal, () => runWith(executor, command, performing))
  }
}

function notOffered (code: string, what: string): Outcome {
  return { kind: 'failure', code, message: `the operator of this service offers no ${what}` }
}

/** What a run of a command needs: its folder and time limit, the signal that ends the run, and the function that publishes the output. */
interface RunRequest extends Pick<Performing<ExecEffect>, 'signal' | 'publish'> {
  readonly effect: Pick<ExecEffect, 'id' | 'cwd' | 'timeout'>
}

/** Runs a command, and publishes its output to the followers of the session while the command runs. */
async function runWith (executor: Executor, command: string, { effect, signal, publish }: RunRequest): Promise<Outcome> {
  const { id, cwd, timeout } = effect
  const live = new LiveOutput(id, publish)
  try {
    const { outcome, ...ran } = await executor.run(command, { cwd, timeout, signal, keep: KEPT, onOutput: (stream, text) => { live.append(stream, text) } })
    return outcome === 'lost' ? { kind: 'unknown' } : { kind: 'result', result: { outcome, ...ran, command } }
  } catch (error) {
    if (error instanceof ExecutorError) return { kind: 'failure', code: error.code, message: error.message }
    throw error
  } finally {
    live.end()
  }
}
