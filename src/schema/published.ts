import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { default as Ajv, ValidateFunction } from 'ajv/dist/core.js'

type FixedValidators<Name extends string> = Readonly<Record<Name, () => ValidateFunction>>

/** For the build, which generates the functions' code. */
const sources = new WeakMap<object, { readonly ajv: Ajv.default, readonly ids: Readonly<Record<string, string>> }>()

/** Compiling would take a sixth of a start, so `scripts/build.js` replaces each module that calls this by generated code. */
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

export function sourceOf (validators: object): { readonly ajv: Ajv.default, readonly ids: Readonly<Record<string, string>> } {
  const source = sources.get(validators)
  if (source === undefined) throw new Error('expected checkers of fixedValidators')
  return source
}

/** From `jsonschema/`, against which publishers can validate their entries, too. */
export function readPublishedSchema<T> (name: string): T {
  return JSON.parse(textOf(name)) as T
}

/** SHA-256 in hexadecimal, kept with data made under the schema, to show later whether the schema has changed. */
export function hashOfPublishedSchema (name: string): string {
  return createHash('sha256').update(textOf(name)).digest('hex')
}

function textOf (name: string): string {
  // One folder below the root, in src and in the built code alike: scripts/build.js keeps that depth.
  return readFileSync(new URL(`../../jsonschema/${name}.json`, import.meta.url), 'utf8')
}
