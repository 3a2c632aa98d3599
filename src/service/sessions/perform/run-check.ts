import { type OperatorFile } from '../../../config/operator.ts'
import { type Executors } from '../../../exec/executors.ts'
import { type CheckEffect } from '../../../session/model.ts'
import { type Perform } from './performing.ts'
import { runWith } from './run-with.ts'
import { type WorkspaceLocks } from './workspace-locks.ts'

/** Runs checks that the operator has named. */
export function runCheckIn (executors: Executors, { workspaces }: OperatorFile, lockOf: WorkspaceLocks): Perform<CheckEffect> {
  return async ({ effect, signal, publish }) => {
    const command = workspaces.get(effect.workspace)?.checks.get(effect.check)
    const executor = await executors.ofWorkspace(effect.workspace)
    if (command === undefined || executor === undefined) return { kind: 'failure', code: 'CHECK_UNKNOWN', message: `the operator of this service offers no check "${effect.check}" of a workspace "${effect.workspace}"` }
    return await lockOf(effect.workspace).beside(signal, () => runWith(executor, effect, command, signal, publish))
  }
}
