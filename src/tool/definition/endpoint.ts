import { type Json, type JsonObject } from '../../base/json.ts'
import { type CommonDefinition } from './definition.ts'
import { type Operator } from '../operator.ts'
import { type ToolPolicy } from '../call/policy.ts'

/** Gives the policy by which a tool is called: the registered one, without retries if a repeated call can do harm. @param isRead whether calls only read */
export function policyOf ({ policy }: CommonDefinition, isRead = false): ToolPolicy {
  const isRepeatable = isRead || policy.isRepeatable
  return { ...policy, isRepeatable, retries: isRepeatable ? policy.retries : 0 }
}

/** Checks the host of a tool when it is registered: refuses what would be refused at each call, such as a forbidden address. @throws Error with the reason */
export function checkHost (host: string, common: CommonDefinition, operator: Operator): void {
  const refusal = operator.egress.refusal(host.replace(/:\d+$/, ''))
  if (refusal !== undefined) throw new Error(`url: ${refusal}`)
  for (const header of common.headers) {
    const unbound = header.secrets.find(secret => operator.secrets.reveal(secret, host) === undefined)
    if (unbound !== undefined) throw new Error(`secret "${unbound}" is not bound to ${host}`)
  }
}

/** Reads a required text from the endpoint (the part of a registration that says how to reach the tool). @throws Error that names the missing member */
export function required (endpoint: JsonObject, name: string, type: string): string {
  const value = own(endpoint, name)
  if (typeof value !== 'string') throw new Error(`a ${type} tool needs a "${name}"`)
  return value
}

/** Reads a member of an untrusted object. Inherited members, such as `constructor`, count as missing. */
export function own (object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Runs `parse`. When it throws an error, the name of the parsed member is put in front of the message. */
export function about<T> (member: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new Error(`${member}: ${(error as Error).message}`)
  }
}
