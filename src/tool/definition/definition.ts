import { type Json, type JsonObject } from '../../base/json.ts'
import { type HeaderTemplate } from './headers.ts'
import { type Parameters } from '../schema/parameters.ts'
import { type ToolPolicy } from '../call/policy.ts'

/** What all registrations say alike, whichever type of tool they are of. */
export interface CommonDefinition {
  /** `codebase.lookup_ref` */
  readonly id: string
  /** The function in templates: `codebase_lookup_ref`. */
  readonly name: string
  readonly module: string | undefined
  readonly description: string
  readonly supports: readonly string[]
  /** `undefined` when the registration declares none: the tool then takes one object, unchecked. */
  readonly parameters: Parameters | undefined
  readonly returns: Parameters | undefined
  readonly policy: ToolPolicy
  /** What stands in for a failed call: `default` of the registration, else `default` of `returns`. `undefined`: nothing. */
  readonly fallback: Json | undefined
  readonly headers: readonly HeaderTemplate[]
  /** A hash of all the above: equal revisions are the same tool. */
  readonly revision: string
  /** As it was registered. */
  readonly registration: JsonObject
}

/** A registered tool. Its type adds what reaches it. */
export interface ToolDefinition extends CommonDefinition {
  /** The name of its `ToolType`. */
  readonly type: string
  /** Whether its module's base URL completes the address. */
  readonly isRelative: boolean
  /** What the registration is, in words, such as `an MCP server`, where it brings the tools of a server and is no tool itself. */
  readonly standsFor?: string | undefined
  /** The tool's name on the server that offers it, where one does. */
  readonly tool?: string | undefined
}
