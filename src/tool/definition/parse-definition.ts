import { createHash } from 'node:crypto'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { describeViolations } from '../../base/errors.ts'
import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { type CommonDefinition, type ToolDefinition } from './definition.ts'
import { type Diagnostic } from './diagnostic.ts'
import { clearCredentials, parseHeaders } from './headers.ts'
import { type Operator } from '../operator.ts'
import { type Parameters, parseParameters } from '../schema/parameters.ts'
import { own, parseGrpc, parseMcp, parseRestful } from './parse-endpoint.ts'
import { parsePolicy } from '../call/policy.ts'
import { type CompiledSchema, compileSchema, SchemaError } from '../schema/schema.ts'

/** What became of a registration: a definition with advice, or the reasons why it is none. */
export interface ParsedDefinition {
  readonly definition: ToolDefinition | undefined
  /** Errors, if and only if there is no definition. */
  readonly diagnostics: readonly Diagnostic[]
}

/** What publishers validate against is what we validate with. Compiled for the first tool: a store without any starts sooner. */
let registrationSchema: CompiledSchema | undefined

/**
 * Reads one registered tool, in the flat form (`url`, `method`) or the nested one (`restful{}`, `grpc{}`, `mcp{}`).
 * Never throws: whatever a publisher writes is a definition or a list of reasons.
 *
 * @param name the function's name in templates: `codebase_lookup_ref`
 * @param id the tool's id: `codebase.lookup_ref`
 * @param operator what the operator of this service allows
 */
export function parseToolDefinition (name: string, id: string, value: Json, operator: Operator): ParsedDefinition {
  registrationSchema ??= compileSchema(readRegistrationSchema())
  const violations = registrationSchema.validate(value, 'tool')
  if (violations.length > 0) return rejected('TOOL_INVALID', describeViolations(violations))
  const registration = value as JsonObject
  try {
    const common = parseCommon(name, id, registration, operator)
    const definition = parseByType(common, registration, operator)
    return { definition, diagnostics: advise(definition) }
  } catch (error) {
    return rejected(error instanceof SchemaError ? 'TOOL_SCHEMA' : 'TOOL_INVALID', (error as Error).message)
  }
}

/** Without what concerns several fields at once: that is checked below, and told in better words than a schema's. */
function readRegistrationSchema (): Json {
  const { allOf: _conditions, ...fields } = readPublishedSchema<JsonObject>('tool')
  return fields
}

function rejected (code: string, message: string): ParsedDefinition {
  return { definition: undefined, diagnostics: [{ severity: 'error', code, message }] }
}

function parseCommon (name: string, id: string, registration: JsonObject, operator: Operator): CommonDefinition {
  const returns = part(registration, 'returns')
  return {
    id,
    name,
    module: text(registration, 'module'),
    description: text(registration, 'description') ?? '',
    supports: (own(registration, 'supports') ?? []) as string[],
    parameters: part(registration, 'parameters'),
    returns,
    policy: parsePolicy(registration, operator.policy),
    fallback: Object.hasOwn(registration, 'default') ? registration['default'] : own(returns?.schema ?? {}, 'default'),
    headers: parseHeaders((own(registration, 'headers') ?? {}) as JsonObject, operator.secrets),
    revision: createHash('sha256').update(canonicalJson([id, name, registration])).digest('base64url'),
    registration
  }
}

/** The type may be left out where a nested member says it. */
function parseByType (common: CommonDefinition, registration: JsonObject, operator: Operator): ToolDefinition {
  const type = text(registration, 'type') ?? ['restful', 'grpc', 'mcp'].find(each => Object.hasOwn(registration, each)) ?? 'restful'
  const nested = own(registration, type) ?? {}
  if (!isObject(nested)) throw new Error(`"${type}" must be an object`)
  const endpoint = { ...pick(registration, ['url', 'method']), ...nested as JsonObject }
  switch (type) {
    case 'grpc': return parseGrpc(common, endpoint, operator)
    case 'mcp': return parseMcp(common, endpoint, operator)
    default: return parseRestful(common, endpoint, operator)
  }
}

function advise (definition: ToolDefinition): Diagnostic[] {
  return clearCredentials(definition.headers).map(name => ({
    severity: 'warning',
    code: 'TOOL_CREDENTIAL_IN_CLEAR',
    message: `header "${name}" looks like a credential in clear`,
    hint: 'let the operator define it as a secret, and refer to it by name'
  }))
}

/**
 * Whether the tool can be reached as far as is known now. Apart from all other advice: modules come and go without their
 * tools being registered anew.
 */
export function adviseOnAddress (definition: ToolDefinition, { baseUrls }: Pick<Operator, 'baseUrls'>): Diagnostic[] {
  if (!isRelative(definition) || baseUrls.knows(definition.module)) return []
  return [{
    severity: 'warning',
    code: 'TOOL_BASE_URL_MISSING',
    message: `the url is relative and no base URL is known for ${definition.module === undefined ? 'a tool without a module' : `module "${definition.module}"`}`,
    hint: 'set TOOL_BASE_URLS or TOOL_BASE_URL, or publish the environ modules:{module}'
  }]
}

/** Whether the tool's address is completed by its module's base URL. */
function isRelative (definition: ToolDefinition): boolean {
  if (definition.type === 'restful') return definition.url.origin === undefined
  return definition.type === 'grpc' && definition.target === undefined
}

/** `[]` and `{}` declare a tool without parameters, a missing member declares nothing. */
function part (registration: JsonObject, name: 'parameters' | 'returns'): Parameters | undefined {
  const declared = own(registration, name)
  if (declared === undefined || (name === 'returns' && Array.isArray(declared) && declared.length === 0)) return undefined
  try {
    return parseParameters(declared)
  } catch (error) {
    throw new SchemaError(`${name}: ${(error as Error).message}`)
  }
}

function text (object: JsonObject, name: string): string | undefined {
  return own(object, name) as string | undefined
}

function pick (object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.filter(name => Object.hasOwn(object, name)).map(name => [name, object[name] as Json]))
}
