import { type Caller } from '../../../access/caller.ts'
import { operatorFor } from '../../../access/operator-view.ts'
import { roleMissing, targetNotFound, terminalUnsupported } from '../../../base/errors.ts'
import { type OperatorFile, type Target } from '../../../config/operator.ts'
import { nearMatches } from '../../../registry/diagnostic/near-matches.ts'

/** Refuses a caller without the role `terminal`, which `admin` does not include. @throws ROLE_MISSING */
export function requireTerminalRole ({ name, roles }: Caller): void {
  if (!roles.has('terminal')) throw roleMissing(name, 'terminal', [...roles])
}

/** Finds a target by its name, if the caller may use terminals (shells for a person) there. @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED */
export function targetForTerminal (operator: OperatorFile, caller: Caller, name: string): Target {
  requireTerminalRole(caller)
  const { targets } = operatorFor(operator, caller)
  const target = targets.get(name)
  if (target === undefined) throw targetNotFound(name, nearMatches(name, targets.keys()))
  if (target.mayOpenTerminal !== true) throw terminalUnsupported(name, 'the operator\'s file does not say terminal: true of it')
  return target
}
