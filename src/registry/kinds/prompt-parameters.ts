import { RE2JS } from 're2js'
import { isJsonObject, type Json, type JsonObject, listOf, ownField } from '../../base/json.ts'
import { type BareNames } from '../../template/scope.ts'
import { toLinearPattern } from '../../schema/pattern.ts'
import { parseParameters, violationsOfDefaults } from '../../tool/parameters.ts'
import { SchemaError } from '../../schema/compile.ts'
import { type Violation } from '../../base/errors.ts'
import { ofPart, RejectedEntry } from '../diagnostic.ts'

export interface PromptParameters {
  readonly names: ReadonlySet<string>
  /** Read without `variables.`: declared names and `patternProperties`; `undefined` for every name (`additionalProperties`). */
  readonly bareNames: BareNames | undefined
  readonly schema: JsonObject
  readonly defaults: JsonObject
  /** Refuses a render without them, unless they have a default. */
  readonly required: ReadonlySet<string>
  /** Found on first read: compiling the schemas of all prompts at once would slow every start. */
  readonly wrongDefaults: readonly Violation[]
  /** Such as `variables.user.name`, as far as the schema describes objects. */
  missingFrom (variables: JsonObject): readonly string[]
  validate (variables: JsonObject): readonly Violation[]
}

export function parsePromptParameters (declared: Json | undefined): PromptParameters | undefined {
  if (declared === undefined || declared === null || Object.keys(declared).length === 0) return undefined
  try {
    const parameters = parseParameters(declared)
    const { names, defaults, schema, compiled } = parameters
    let wrong: readonly Violation[] | undefined
    return {
      names: new Set(names),
      bareNames: bareNamesOf(schema, new Set(names)),
      schema,
      defaults,
      required: new Set(requiredOf(schema)),
      get wrongDefaults () {
        return (wrong ??= violationsOfDefaults(parameters, 'variables'))
      },
      missingFrom: variables => missingIn(schema, variables, 'variables'),
      validate: variables => compiled.validate(variables, 'variables')
    }
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    throw new RejectedEntry([ofPart(['parameters'], { severity: 'error', code: 'PARAMETERS_INVALID', message: `parameters: ${error.message}` })])
  }
}

const MAX_MATCHED = 1000

export function bareNamesOf (schema: JsonObject, names: ReadonlySet<string>): BareNames | undefined {
  const others = Object.hasOwn(schema, 'additionalProperties') ? schema['additionalProperties'] : false
  if (others !== false) return undefined
  const sources = Object.keys(objectAt(schema, 'patternProperties') ?? {})
  if (sources.length === 0) return names
  let patterns: readonly RE2JS[] | undefined
  const matched = new Map<string, boolean>()
  return {
    has (name) {
      if (names.has(name)) return true
      let isMatch = matched.get(name)
      if (isMatch === undefined) {
        // Compiling the schema has found the patterns to be linear in time, and within their bounds.
        patterns ??= sources.map(source => RE2JS.compile(toLinearPattern(source)))
        isMatch = patterns.some(pattern => pattern.test(name))
        if (matched.size >= MAX_MATCHED) matched.clear()
        matched.set(name, isMatch)
      }
      return isMatch
    }
  }
}

function missingIn (schema: JsonObject, value: JsonObject, path: string): readonly string[] {
  const own = requiredOf(schema).filter(name => !Object.hasOwn(value, name)).map(name => `${path}.${name}`)
  const properties = objectAt(schema, 'properties') ?? {}
  return [...own, ...Object.keys(properties).flatMap(name => {
    const [property, member] = [objectAt(properties, name), objectAt(value, name)]
    return property === undefined || member === undefined ? [] : missingIn(property, member, `${path}.${name}`)
  })]
}

function objectAt (holder: JsonObject, name: string): JsonObject | undefined {
  const member = ownField(holder, name)
  return isJsonObject(member) ? member : undefined
}

function requiredOf (schema: JsonObject): readonly string[] {
  const required = ownField(schema, 'required')
  return listOf(required).map(String)
}
