import { type Json, type JsonObject } from '../../base/json.ts'
import { type HeaderTemplate } from './headers.ts'
import { type Parameters } from '../schema/parameters.ts'
import { type ToolPolicy } from '../call/policy.ts'

/** The part of a registered tool that is the same for all types of tools. */
export interface CommonDefinition {
  /** The tool's dotted id: `codebase.lookup_ref`. */
  readonly id: string
  /** The name of the function in templates: `codebase_lookup_ref`. */
  readonly name: string
  readonly module: string | undefined
  readonly description: string
  readonly supports: readonly string[]
  /** The declared parameters; `undefined` when the registration declares none: the tool then takes one object, unchecked. */
  readonly parameters: Parameters | undefined
  readonly returns: Parameters | undefined
  readonly policy: ToolPolicy
  /** The value that replaces the result of a failed call: `default` of the registration, or else `default` of `returns`; `undefined` for none. */
  readonly fallback: Json | undefined
  readonly headers: readonly HeaderTemplate[]
  /** A hash of all members above. Tools with equal hashes are the same tool. */
  readonly revision: string
  /** The registration as it was stored. */
  readonly registration: JsonObject
}

/** A registered tool. Each type of tools adds what is needed to reach it. */
export interface ToolDefinition extends CommonDefinition {
  /** The name of the tool's `ToolType`. */
  readonly type: string
  /** Whether the tool's URL is relative, and the base URL of its module completes it. */
  readonly isRelative: boolean
  /** What the registration is in words, such as `an MCP server`, when it brings the tools of a server and is no tool itself. */
  readonly standsFor?: string | undefined
  /** The tool's name on the server that offers it, for a tool of an MCP server. */
  readonly tool?: string | undefined
}
