import { type default as Ajv, type ValidateFunction } from 'ajv/dist/core.js'

/** Gives checkers by their names, each made when it is first asked for. */
export type FixedValidators<Name extends string> = Readonly<Record<Name, () => ValidateFunction>>

/** What checkers of schemas that never change are made of, where code is made of them beforehand. */
const sources = new WeakMap<object, { readonly ajv: Ajv.default, readonly ids: Readonly<Record<string, string>> }>()

/**
 * Checkers of schemas that are known when the service is built: to compile them takes a sixth of a start. `scripts/build.js`
 * puts modules of the same form in the place of those that call this, with code that was made by the same ajv.
 * @param ids of the schemas that the ajv holds, by the names of the checkers
 */
export function fixedValidators<Name extends string> (ajv: Ajv.default, ids: Readonly<Record<Name, string>>): FixedValidators<Name> {
  const entries = Object.entries<string>(ids).map(([name, id]) => [name, () => {
    const validate = ajv.getSchema(id)
    if (validate === undefined) throw new Error(`no schema ${id}`)
    return validate
  }] as const)
  const validators = Object.fromEntries(entries) as FixedValidators<Name>
  sources.set(validators, { ajv, ids })
  return validators
}

/** What the checkers were made of, for the build. */
export function sourceOf (validators: object): { readonly ajv: Ajv.default, readonly ids: Readonly<Record<string, string>> } {
  const source = sources.get(validators)
  if (source === undefined) throw new Error('expected checkers of fixedValidators')
  return source
}
