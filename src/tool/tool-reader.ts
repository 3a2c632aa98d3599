import { createHash } from 'node:crypto'
import { describeViolations, type Violation } from '../base/errors.ts'
import type { JsonPath } from '../base/json-places.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject, ownField } from '../base/json.ts'
import { readPublishedSchema } from '../schema/published.ts'
import { parsePolicy, type ToolPolicy } from './guard.ts'
import type { Operator } from './operator.ts'
import { type Parameters, parseParameters } from './parameters.ts'
import { type CompiledSchema, compileSchema, SchemaError } from '../schema/compile.ts'
import { fieldOf } from '../schema/explain.ts'
import type { ToolType } from './tool-type.ts'
import { clearCredentials, type CommonDefinition, parseHeaders, type ToolDefinition } from './definition.ts'

/** An `error` rejects the registration; a warning or hint is advice. */
interface ToolDiagnostic {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly hint?: string
  /** The path of the member of the registration that this error or advice is about. */
  readonly field?: JsonPath
}

/** Turns registrations, which publishers write, into definitions of tools. */
export interface ToolReader {
  /**
   * Accepts `url` and `method` flat, or in a member named like the tool's type. Never throws: there are errors among the diagnostics if and only
   * if there is no definition.
   */
  read (name: string, id: string, value: Json): { readonly definition: ToolDefinition | undefined, readonly diagnostics: readonly ToolDiagnostic[] }
  /** Not part of `read`, since modules start and stop while the registration stays the same. */
  adviseOnAddress (definition: ToolDefinition): ToolDiagnostic[]
}

export function createToolReader (types: readonly ToolType[], operator: Operator): ToolReader {
  return {
    read (name, id, value) {
      const violations = registrationSchema(types).validate(value, 'tool')
      if (violations.length > 0) return rejected('TOOL_INVALID', describeViolations(violations), violations[0])
      const registration = value as JsonObject
      try {
        const definition = parseByType(types, parseCommon(name, id, registration, operator), operator)
        return { definition, diagnostics: advise(definition) }
      } catch (error) {
        return rejected(error instanceof SchemaError ? 'TOOL_SCHEMA' : 'TOOL_INVALID', (error as Error).message)
      }
    },
    adviseOnAddress ({ isRelative, module }) {
      if (!isRelative || operator.baseUrls.knows(module)) return []
      return [{
        severity: 'warning',
        code: 'TOOL_BASE_URL_MISSING',
        message: `the url is relative and no base URL is known for ${module === undefined ? 'a tool without a module' : `module "${module}"`}`,
        hint: 'set TOOL_BASE_URLS or TOOL_BASE_URL, or publish the environ modules:{module}'
      }]
    }
  }
}

const compiled = new WeakMap<readonly ToolType[], CompiledSchema>()

/** Gives the schema of registrations, which publishers can use too. It is compiled for the first registration: without tools, a service starts sooner. */
function registrationSchema (types: readonly ToolType[]): CompiledSchema {
  const schema = compiled.get(types) ?? compileSchema(readRegistrationSchema(types))
  compiled.set(types, schema)
  return schema
}

/** Without its conditions on several fields: each `ToolType` checks these itself, with better messages. */
function readRegistrationSchema (types: readonly ToolType[]): Json {
  const { allOf: _conditions, ...schema } = readPublishedSchema<{ allOf: Json, properties: Record<'type', JsonObject> }>('tool')
  const { type } = schema.properties
  return { ...schema, properties: { ...schema.properties, type: { ...type, enum: types.map(({ name }) => name) } } }
}

function rejected (code: string, message: string, violation?: Violation): ReturnType<ToolReader['read']> {
  return { definition: undefined, diagnostics: [{ severity: 'error', code, message, field: violation === undefined ? undefined : fieldOf(violation) }] }
}

function parseCommon (name: string, id: string, registration: JsonObject, operator: Operator): CommonDefinition {
  const returns = part(registration, 'returns')
  return {
    id,
    name,
    module: text(registration, 'module'),
    description: text(registration, 'description') ?? '',
    supports: (ownField(registration, 'supports') ?? []) as string[],
    parameters: part(registration, 'parameters'),
    returns,
    policy: parsePolicy(registration, operator.policy),
    fallback: Object.hasOwn(registration, 'default') ? registration['default'] : ownField(returns?.schema ?? {}, 'default'),
    headers: parseHeaders((ownField(registration, 'headers') ?? {}) as JsonObject, operator.secrets),
    revision: createHash('sha256').update(canonicalJson([id, name, registration])).digest('base64url'),
    registration
  }
}

/** The named `type` goes first, then one whose name is a member of the registration, then the first of `types`. */
function parseByType (types: readonly ToolType[], common: CommonDefinition, operator: Operator): ToolDefinition {
  const { registration } = common
  const named = text(registration, 'type')
  const type = types.find(({ name }) => named === undefined ? Object.hasOwn(registration, name) : name === named) ?? types[0] as ToolType
  const nested = ownField(registration, type.name) ?? {}
  if (!isJsonObject(nested)) throw new Error(`"${type.name}" must be an object`)
  return type.parse(common, { ...pick(registration, ['url', 'method']), ...nested }, operator)
}

function advise (definition: ToolDefinition): ToolDiagnostic[] {
  return clearCredentials(definition.headers).map(name => ({
    severity: 'warning',
    code: 'TOOL_CREDENTIAL_IN_CLEAR',
    message: `header "${name}" looks like a credential in clear`,
    hint: 'let the operator define it as a secret, and refer to it by name'
  }))
}

/** `parameters: []` and `{}` declare that there are none; a missing member and `returns: []` declare nothing, so nothing is checked. */
function part (registration: JsonObject, name: 'parameters' | 'returns'): Parameters | undefined {
  const declared = ownField(registration, name)
  if (declared === undefined || (name === 'returns' && Array.isArray(declared) && declared.length === 0)) return undefined
  try {
    return parseParameters(declared)
  } catch (error) {
    throw new SchemaError(`${name}: ${(error as Error).message}`)
  }
}

function text (object: JsonObject, name: string): string | undefined {
  return ownField(object, name) as string | undefined
}

function pick (object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.filter(name => Object.hasOwn(object, name)).map(name => [name, object[name] as Json]))
}

/** Without retries if a repeated call can do harm. */
export function policyOf ({ policy }: CommonDefinition, isRead = false): ToolPolicy {
  const isRepeatable = isRead || policy.isRepeatable
  return { ...policy, isRepeatable, retries: isRepeatable ? policy.retries : 0 }
}

/** Refuses at registration what each call would be refused for, such as a forbidden address. @throws Error with the reason */
export function checkHost (host: string, common: CommonDefinition, operator: Operator): void {
  const refusal = operator.egress.refusal(host.replace(/:\d+$/, ''))
  if (refusal !== undefined) throw new Error(`url: ${refusal}`)
  for (const header of common.headers) {
    const unbound = header.secrets.find(secret => operator.secrets.reveal(secret, host) === undefined)
    if (unbound !== undefined) throw new Error(`secret "${unbound}" is not bound to ${host}`)
  }
}

export function required (endpoint: JsonObject, name: string, type: string): string {
  const value = ownField(endpoint, name)
  if (typeof value !== 'string') throw new Error(`a ${type} tool needs a "${name}"`)
  return value
}

export function withMemberName<T> (member: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new Error(`${member}: ${(error as Error).message}`)
  }
}
