import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { default as Ajv, ValidateFunction } from 'ajv/dist/core.js'

/** The functions that check values against schemas, by name. Each function is compiled at its first use. */
type FixedValidators<Name extends string> = Readonly<Record<Name, () => ValidateFunction>>

/** The schemas from which each set of checking functions was made, by that set, so that the build can generate the functions' code. */
const sources = new WeakMap<object, { readonly ajv: Ajv.default, readonly ids: Readonly<Record<string, string>> }>()

/**
 * Makes the functions that check values against schemas which are known when the service is built. Compiling these schemas would take a sixth of a
 * start. So `scripts/build.js` replaces each module that calls this function by generated code that does the same.
 * @param ids the id of each function's schema in `ajv`, by the function's name
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

/** The schemas from which a set of checking functions was made, for the build. */
export function sourceOf (validators: object): { readonly ajv: Ajv.default, readonly ids: Readonly<Record<string, string>> } {
  const source = sources.get(validators)
  if (source === undefined) throw new Error('expected checkers of fixedValidators')
  return source
}

/**
 * Reads one of the JSON Schemas in `jsonschema/`, against which publishers can validate their entries, too.
 * @param name the name of the schema's file, without the ending
 */
export function readPublishedSchema<T> (name: string): T {
  return JSON.parse(textOf(name)) as T
}

/**
 * The SHA-256 of a schema's file, in hexadecimal. Data that was made under the schema is kept with this hash, which later shows whether the
 * schema has changed.
 */
export function hashOfPublishedSchema (name: string): string {
  return createHash('sha256').update(textOf(name)).digest('hex')
}

function textOf (name: string): string {
  // This file lies one folder below the root, in src and in the built code alike: scripts/build.js keeps that depth.
  return readFileSync(new URL(`../../jsonschema/${name}.json`, import.meta.url), 'utf8')
}
