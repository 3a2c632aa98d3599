import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { roleMissing, ServiceError } from '../../base/errors.ts'
import { type Caller } from '../../access/caller.ts'
import { type Role } from '../../access/role.ts'

/**
 * Runs what answers a request; an error of the service becomes one of JSON-RPC, whose `data` has the service's own code and details.
 * @throws ProtocolError: -32602 for what the client can mend, -32603 for all else
 */
export async function inProtocol<T> (answer: () => T | Promise<T>): Promise<T> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const code = error.statusCode < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
    throw new ProtocolError(code, error.message, { code: error.code, ...(error.details === undefined ? {} : { details: error.details }) })
  }
}

/** @throws ROLE_MISSING, for what needs more than the role that the endpoint asks for */
export function demandRole ({ name, roles }: Caller, role: Role): void {
  if (!roles.has(role)) throw roleMissing(name, role, [...roles])
}
