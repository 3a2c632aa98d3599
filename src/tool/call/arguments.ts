import { type Json, type JsonObject, type MutableObject, setMember } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { type Parameters, propertiesOf } from '../schema/parameters.ts'
import { type Violation } from '../../base/errors.ts'

/**
 * Maps the arguments of a template's call to the tool's one object of arguments. Positional arguments go to the declared names in their order, named
 * ones to their names; a single object is taken as the whole. Defaults fill what is not given. It never throws, because a call that does not fit is a
 * failed call, and must not fail the render: a surplus argument is kept under `arguments[2]`, where `checkArguments` finds it.
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

/** The reasons why a call cannot be made with these arguments. */
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

/** Whether a single object could be meant as the value of the first parameter, and not as the object of all arguments. */
function firstAdmitsObject ({ names, schema }: Parameters): boolean {
  const first = names[0]
  if (first === undefined) return false
  const property = propertiesOf(schema)[first] as Json
  if (!isObject(property) || !Object.hasOwn(property, 'type')) return property !== false
  return property['type'] === 'object' || (Array.isArray(property['type']) && property['type'].includes('object'))
}
