import { type Json, type JsonObject } from '../../base/json.ts'
import { type HeaderTemplate } from './headers.ts'
import { type Parameters } from '../schema/parameters.ts'
import { type ToolPolicy } from '../call/policy.ts'

/** The part of a tool's registration that is the same for all types of tools. */
export interface CommonDefinition {
  /** The tool's id, such as `codebase.lookup_ref`. */
  readonly id: string
  /** The name of the function by which templates call the tool, such as `codebase_lookup_ref`. */
  readonly name: string
  readonly module: string | undefined
  readonly description: string
  readonly supports: readonly string[]
  /** The declared parameters. `undefined` when the registration declares none: the tool then takes one object, which is not checked. */
  readonly parameters: Parameters | undefined
  readonly returns: Parameters | undefined
  readonly policy: ToolPolicy
  /** The value that replaces the result of a failed call: `default` of the registration, else `default` of `returns`; `undefined` for no value. */
  readonly fallback: Json | undefined
  readonly headers: readonly HeaderTemplate[]
  /** A hash of the id, the name and the registration. Definitions with equal revisions are the same tool. */
  readonly revision: string
  /** The JSON object that was registered. */
  readonly registration: JsonObject
}

/** The definition of a registered tool. Each type of tools adds how the tool is reached. */
export interface ToolDefinition extends CommonDefinition {
  /** The name of the tool's type, such as `restful`. */
  readonly type: string
  /** Whether the tool's URL is relative, so that the base URL of its module (the program that offers the tool) completes it. */
  readonly isRelative: boolean
  /** What the registration is for, if it is not one tool but brings all tools of a server: words such as `an MCP server`. Absent for a single tool. */
  readonly standsFor?: string | undefined
  /** The tool's name on its server, for a tool of an MCP server. */
  readonly tool?: string | undefined
}
