import { type Json, type JsonObject } from '../../base/json.ts'
import { type HeaderTemplate } from './headers.ts'
import { type Parameters } from '../schema/parameters.ts'
import { type ToolPolicy } from '../call/policy.ts'
import { type UrlTemplate } from '../rest/url-template.ts'

/** A registered tool, whichever way it was written. */
export type ToolDefinition = RestfulDefinition | GrpcDefinition | McpDefinition

/** What all tools have. */
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
  /** What stands in for a failed call: `default` of the registration, else of `returns`; `undefined`: nothing. */
  readonly fallback: Json | undefined
  readonly headers: readonly HeaderTemplate[]
  /** A hash of all the above: equal revisions are the same tool. */
  readonly revision: string
  /** As it was registered. */
  readonly registration: JsonObject
}

export interface RestfulDefinition extends CommonDefinition {
  readonly type: 'restful'
  readonly method: RestfulMethod
  readonly url: UrlTemplate
}

export type RestfulMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface GrpcDefinition extends CommonDefinition {
  readonly type: 'grpc'
  /** `host:port`; `undefined` when the module's base URL says where. */
  readonly target: GrpcTarget | undefined
  /** The service with its package: `translate.Translator`. */
  readonly service: string
  readonly method: string
  /** Where the method is described; `undefined`: the server's reflection. */
  readonly source: GrpcDescription | undefined
}

export interface GrpcTarget { readonly host: string, readonly port: number, readonly tls: boolean }

export type GrpcDescription =
  | { readonly kind: 'proto', readonly text: string }
  | { readonly kind: 'descriptor-set', readonly bytes: Uint8Array }

export interface McpDefinition extends CommonDefinition {
  readonly type: 'mcp'
  readonly server: McpServer
  /** The tool's name on the server; `undefined`: this is the whole server, whose tools become `{name}_{tool}`. */
  readonly tool: string | undefined
  /** Whether the server puts the tool's result into an object `{"result": …}`, as its output schema shows (FastMCP does so). */
  readonly wrapsResult?: boolean
}

/** Where an MCP server is: an address, or the name of a command that the operator allows. */
export type McpServer =
  | { readonly kind: 'http', readonly url: string }
  | { readonly kind: 'stdio', readonly command: string }
