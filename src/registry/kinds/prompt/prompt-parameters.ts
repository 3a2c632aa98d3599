import { type Json, type JsonObject } from '../../../base/json.ts'
import { isObject } from '../../../template/value.ts'
import { parseParameters, violationsOfDefaults } from '../../../tool/schema/parameters.ts'
import { SchemaError } from '../../../tool/schema/schema.ts'
import { type Violation } from '../../../base/errors.ts'
import { ofPart, RejectedEntry } from '../../diagnostic/diagnostic.ts'

/** What a prompt declares about its variables. */
export interface PromptParameters {
  readonly names: ReadonlySet<string>
  /** The JSON Schema of the object of all of them. */
  readonly schema: JsonObject
  readonly defaults: JsonObject
  /** Names without which a render is refused, unless they have a default. */
  readonly required: ReadonlySet<string>
  /** The defaults that break the schema. They are found when first asked for: that compiles the schema, which would slow every start. */
  readonly wrongDefaults: readonly Violation[]
  /** The paths of required values that are missing, such as `variables.user.name`, as far as the schema describes objects. */
  missingFrom (variables: JsonObject): readonly string[]
  /** All violations of the variables at once. */
  validate (variables: JsonObject): readonly Violation[]
}

/**
 * Reads a prompt's parameters in any form that publishers write; an empty list or map declares nothing.
 * @throws RejectedEntry when they cannot be understood
 */
export function parsePromptParameters (declared: Json | undefined): PromptParameters | undefined {
  if (declared === undefined || declared === null || Object.keys(declared).length === 0) return undefined
  try {
    const parameters = parseParameters(declared)
    const { names, defaults, schema, compiled } = parameters
    let wrong: readonly Violation[] | undefined
    return {
      names: new Set(names),
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
