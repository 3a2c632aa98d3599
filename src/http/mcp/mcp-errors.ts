import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { roleMissing, ServiceError } from '../../base/errors.ts'
import { type Caller } from '../../access/caller.ts'
import { type Role } from '../../access/role.ts'

/**
 * Runs the function that answers a request of an MCP client, and turns errors of the service into JSON-RPC errors, whose `data` has the
 * service's own code and details.
 * @throws ProtocolError: -32602 for a fault of the client, -32603 for any other error of the service
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

/** Refuses a caller without the role that an MCP method needs in addition to the role of the endpoint. @throws ROLE_MISSING */
export function demandRole ({ name, roles }: Caller, role: Role): void {
  if (!roles.has(role)) throw roleMissing(name, role, [...roles])
}
