import { type OperatorFile } from '../../../config/operator.ts'
import { type Executors } from '../../../exec/executors.ts'
import { type ExecEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type Perform } from './performing.ts'
import { runWith } from './run-with.ts'
import { type WorkspaceLocks } from './workspace-locks.ts'

/** Runs commands on targets. Whether they may run has been decided by then: a session's gate asks the operator's rules of now. */
export function runCommandOn (executors: Executors, { targets }: OperatorFile, lockOf: WorkspaceLocks): Perform<ExecEffect> {
  return async ({ effect, signal, publish }) => {
    const target = targets.get(effect.target)
    const executor = await executors.ofTarget(effect.target)
    if (target === undefined || executor === undefined) return { kind: 'failure', code: 'TARGET_UNKNOWN', message: `the operator of this service offers no target "${effect.target}"` }
    const run = (): Promise<Outcome> => runWith(executor, effect, effect.command, signal, publish)
    return target.type === 'local' ? await lockOf(target.workspace.name).beside(signal, run) : await run()
  }
}
