import { createHash } from 'node:crypto'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { describeViolations, type Violation } from '../../base/errors.ts'
import { type JsonPath } from '../../base/json-places.ts'
import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { type CommonDefinition, type ToolDefinition } from './definition.ts'
import { type Diagnostic } from './diagnostic.ts'
import { clearCredentials, parseHeaders } from './headers.ts'
import { type Operator } from '../operator.ts'
import { type Parameters, parseParameters } from '../schema/parameters.ts'
import { own } from './endpoint.ts'
import { parsePolicy } from '../call/policy.ts'
import { type ToolType } from '../tool-type.ts'
import { type CompiledSchema, compileSchema, SchemaError } from '../schema/schema.ts'

/** The result of parsing a tool's registration: a definition with advice, or the reasons why there is none. */
export interface ParsedDefinition {
  readonly definition: ToolDefinition | undefined
  /** The advice about the definition, or errors when there is none. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Parses registrations of tools. */
export interface ToolReader {
  /**
   * Parses one registration, in the flat form (`url`, `method`) or the nested one, where a member has the name of the tool's type. Never throws: any
   * value gives a definition or a list of reasons.
   * @param name the name of the function in templates: `codebase_lookup_ref`
   * @param id the tool's id: `codebase.lookup_ref`
   */
  read (name: string, id: string, value: Json): ParsedDefinition
  /**
   * Warns when the address of a tool is not known at present. It is asked for apart from all other advice, because the addresses of modules change
   * without their tools being registered anew.
   */
  adviseOnAddress (definition: ToolDefinition): Diagnostic[]
}

/** Makes the parser of tool registrations. @param types the types that a tool can have @param operator what the operator of this service allows */
export function createToolReader (types: readonly ToolType[], operator: Operator): ToolReader {
  /** The schema against which publishers can validate, too. It is compiled for the first tool, so that a store without tools starts sooner. */
  let schema: CompiledSchema | undefined
  return {
    read (name, id, value) {
      schema ??= compileSchema(readRegistrationSchema(types))
      const violations = schema.validate(value, 'tool')
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

/**
 * The schema of registrations, without its conditions over several fields. Those are checked by the types of tools, with better messages than a
 * schema gives.
 */
function readRegistrationSchema (types: readonly ToolType[]): Json {
  const { allOf: _conditions, ...schema } = readPublishedSchema<{ allOf: Json, properties: Record<'type', JsonObject> }>('tool')
  const { type } = schema.properties
  return { ...schema, properties: { ...schema.properties, type: { ...type, enum: types.map(({ name }) => name) } } }
}

function rejected (code: string, message: string, violation?: Violation): ParsedDefinition {
  return { definition: undefined, diagnostics: [{ severity: 'error', code, message, ...(violation === undefined ? {} : { field: fieldOf(violation) }) }] }
}

/** Turns the path of a violation, `tool.headers["x-a"][0]`, into the names and indexes that lead from the registration to the wrong part. */
function fieldOf ({ path }: Violation): JsonPath {
  return Array.from(
    path.slice('tool'.length).matchAll(/\.([^.[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g),
    ([, name, index, quoted]) => name ?? index ?? (JSON.parse(quoted as string) as string)
  )
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

/** Parses the part of a registration that depends on the tool's type. The type may be left out when a nested member names it, and when it is the first one. */
function parseByType (types: readonly ToolType[], common: CommonDefinition, operator: Operator): ToolDefinition {
  const { registration } = common
  const named = text(registration, 'type')
  const type = types.find(({ name }) => named === undefined ? Object.hasOwn(registration, name) : name === named) ?? types[0] as ToolType
  const nested = own(registration, type.name) ?? {}
  if (!isObject(nested)) throw new Error(`"${type.name}" must be an object`)
  return type.parse(common, { ...pick(registration, ['url', 'method']), ...nested as JsonObject }, operator)
}

function advise (definition: ToolDefinition): Diagnostic[] {
  return clearCredentials(definition.headers).map(name => ({
    severity: 'warning',
    code: 'TOOL_CREDENTIAL_IN_CLEAR',
    message: `header "${name}" looks like a credential in clear`,
    hint: 'let the operator define it as a secret, and refer to it by name'
  }))
}

/** Parses `parameters` or `returns`. `[]` and `{}` declare a tool without parameters, and a missing member declares nothing. */
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
