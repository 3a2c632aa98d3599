import { type Caller } from '../../../access/caller.ts'
import { operatorFor, unknownTarget } from '../../../access/operator-view.ts'
import { roleMissing, terminalUnsupported } from '../../../base/errors.ts'
import { type OperatorFile, type Target } from '../../../config/operator.ts'

/** Refuses a caller without the role `terminal`, which `admin` does not include. @throws ROLE_MISSING */
export function requireTerminalRole ({ name, roles }: Caller): void {
  if (!roles.has('terminal')) throw roleMissing(name, 'terminal', [...roles])
}

/** Finds a target by its name, if the caller may use terminals (shells for a person) there. @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED */
export function targetForTerminal (operator: OperatorFile, caller: Caller, name: string): Target {
  requireTerminalRole(caller)
  const offered = operatorFor(operator, caller)
  const target = offered.targets.get(name)
  if (target === undefined) throw unknownTarget(offered, name)
  if (target.mayOpenTerminal !== true) throw terminalUnsupported(name, 'the operator\'s file does not say terminal: true of it')
  return target
}
