import { RE2JS } from 're2js'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type BareNames } from '../../template/scope.ts'
import { isObject } from '../../template/value.ts'
import { toLinearPattern } from '../../tool/schema/ecma-pattern.ts'
import { parseParameters, violationsOfDefaults } from '../../tool/parameters.ts'
import { SchemaError } from '../../tool/schema/schema.ts'
import { type Violation } from '../../base/errors.ts'
import { ofPart, RejectedEntry } from '../diagnostic.ts'

/** The variables that a prompt declares: their names, JSON Schema and defaults. */
export interface PromptParameters {
  readonly names: ReadonlySet<string>
  /**
   * The names that are read from the variables without `variables.` in front: those that are declared, and those that the schema admits besides by
   * `patternProperties`; `undefined` for every name, as with `additionalProperties`.
   */
  readonly bareNames: BareNames | undefined
  /** The JSON Schema of the object that holds all variables. */
  readonly schema: JsonObject
  readonly defaults: JsonObject
  /** The names of variables without which a render is refused, unless they have a default. */
  readonly required: ReadonlySet<string>
  /**
   * The defaults that break the schema. They are found when this member is first read, since that needs the compiled schema: compiling the schemas of all
   * prompts at once would slow every start.
   */
  readonly wrongDefaults: readonly Violation[]
  /** The paths of required values that the variables lack, such as `variables.user.name`. The schema is followed as far as it describes objects. */
  missingFrom (variables: JsonObject): readonly string[]
  /** Every violation of the schema by the variables, not only the first. */
  validate (variables: JsonObject): readonly Violation[]
}

/** Reads a prompt's parameters, in any of the forms that publishers write. An empty list or map declares nothing, and gives `undefined`. */
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

/** The names that a prompt with these parameters reads from the variables without `variables.` in front. */
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
        // Compiling the schema has found that the patterns can be run in linear time, and are within their bounds.
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
  const member = Object.hasOwn(holder, name) ? holder[name] as Json : null
  return isObject(member) ? member as JsonObject : undefined
}

function requiredOf (schema: JsonObject): readonly string[] {
  const required = Object.hasOwn(schema, 'required') ? schema['required'] : undefined
  return Array.isArray(required) ? required.map(String) : []
}
