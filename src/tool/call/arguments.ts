import { type Json, type JsonObject, type MutableObject, setMember } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { type Parameters, propertiesOf } from '../schema/parameters.ts'
import { type Violation } from '../../base/errors.ts'

/**
 * Maps the arguments of a tool call in a template to the one object that the tool takes. Positional arguments get the declared names in
 * order, named ones keep their names, and a single object counts as the object of all arguments. Defaults fill in what is missing. It never
 * throws, since a wrong call must not fail the whole render: an argument without a name is kept as `arguments[2]`, which `checkArguments`
 * reports.
 */
export function mapArguments (parameters: Parameters | undefined, positional: readonly Json[], named: JsonObject): JsonObject {
  const sole = positional.length === 1 && Object.keys(named).length === 0 ? positional[0] as Json : null
  if (isObject(sole)) {
    const whole = withDefaults(parameters, sole as JsonObject)
    if (parameters === undefined || !firstAdmitsObject(parameters) || parameters.compiled.validate(whole).length === 0) return whole
  }
  const given: MutableObject = {}
  for (const [index, value] of positional.entries()) setMember(given, parameters?.names[index] ?? surplusName(index), value)
  for (const name of Object.keys(named)) setMember(given, name, named[name] as Json)
  return withDefaults(parameters, given)
}

/** Checks the arguments of a tool call. @returns the violations; the call is made only when there are none */
export function checkArguments (parameters: Parameters | undefined, mapped: JsonObject): Violation[] {
  const surplus = Object.keys(mapped).filter(name => SURPLUS.test(name))
  if (surplus.length > 0) return surplus.map(name => ({ path: name, message: `is one too many: ${takes(parameters)}` }))
  return parameters?.compiled.validate(mapped, 'arguments') ?? []
}

const SURPLUS = /^arguments\[\d+\]$/

function surplusName (index: number): string {
  return `arguments[${index}]`
}

function takes (parameters: Parameters | undefined): string {
  const names = parameters?.names ?? []
  return names.length === 0 ? 'the tool declares no parameters' : `the tool takes ${names.join(', ')}`
}

function withDefaults (parameters: Parameters | undefined, given: JsonObject): JsonObject {
  const leftOut = Object.entries(parameters?.defaults ?? {}).filter(([name]) => !Object.hasOwn(given, name))
  if (leftOut.length === 0) return given
  const whole: MutableObject = { ...given }
  for (const [name, value] of leftOut) setMember(whole, name, value)
  return whole
}

/** Whether the schema lets the first parameter be an object. Then a sole object can be that parameter, instead of holding all arguments. */
function firstAdmitsObject ({ names, schema }: Parameters): boolean {
  const first = names[0]
  if (first === undefined) return false
  const property = propertiesOf(schema)[first] as Json
  if (!isObject(property) || !Object.hasOwn(property, 'type')) return property !== false
  return property['type'] === 'object' || (Array.isArray(property['type']) && property['type'].includes('object'))
}
