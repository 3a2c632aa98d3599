import { type OperatorFile } from '../../../config/operator.ts'
import { type Executors } from '../../../exec/executors.ts'
import { judgeCommand } from '../../../session/command-rules.ts'
import { type ExecEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type Perform } from './performing.ts'
import { runWith } from './run-with.ts'
import { type WorkspaceLocks } from './workspace-locks.ts'

/** Runs commands on targets, as far as the operator's rules of now let them. */
export function runCommandOn (executors: Executors, { targets, rules }: OperatorFile, lockOf: WorkspaceLocks): Perform<ExecEffect> {
  return async ({ effect, signal, publish }) => {
    const target = targets.get(effect.target)
    const executor = await executors.ofTarget(effect.target)
    if (target === undefined || executor === undefined) return { kind: 'failure', code: 'TARGET_UNKNOWN', message: `the operator of this service offers no target "${effect.target}"` }
    // The session was judged by the rules of its start, which may be those of another operator's file.
    const judgement = judgeCommand(effect, { rules, isAuto: target.mayRunUnasked })
    if (judgement.answer === 'deny') return { kind: 'failure', code: 'POLICY_DENIED', message: judgement.reason }
    const run = (): Promise<Outcome> => runWith(executor, effect, effect.command, signal, publish)
    return target.type === 'local' ? await lockOf(target.workspace.name).beside(signal, run) : await run()
  }
}
