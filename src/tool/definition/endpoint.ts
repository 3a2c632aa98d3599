import { type Json, type JsonObject } from '../../base/json.ts'
import { type CommonDefinition } from './definition.ts'
import { type Operator } from '../operator.ts'
import { type ToolPolicy } from '../call/policy.ts'

/** The policy of a tool, without retries when a repeated call could do something twice that was meant once. */
export function policyOf ({ policy }: CommonDefinition, isRead = false): ToolPolicy {
  const isRepeatable = isRead || policy.isRepeatable
  return { ...policy, isRepeatable, retries: isRepeatable ? policy.retries : 0 }
}

/** Checks the host of a tool's URL when the tool is registered, because a forbidden host would make every call fail. @throws Error with the reason */
export function checkHost (host: string, common: CommonDefinition, operator: Operator): void {
  const refusal = operator.egress.refusal(host.replace(/:\d+$/, ''))
  if (refusal !== undefined) throw new Error(`url: ${refusal}`)
  for (const header of common.headers) {
    const unbound = header.secrets.find(secret => operator.secrets.reveal(secret, host) === undefined)
    if (unbound !== undefined) throw new Error(`secret "${unbound}" is not bound to ${host}`)
  }
}

/** A text member that the endpoint must have. @throws Error that names it */
export function required (endpoint: JsonObject, name: string, type: string): string {
  const value = own(endpoint, name)
  if (typeof value !== 'string') throw new Error(`a ${type} tool needs a "${name}"`)
  return value
}

/** A member of an object from a stranger, if it is the object's own. */
export function own (object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Parses a member. The error of a bad one names the member. */
export function about<T> (member: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new Error(`${member}: ${(error as Error).message}`)
  }
}
