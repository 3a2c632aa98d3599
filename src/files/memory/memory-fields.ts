import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/** The layers of memory (stored preferences): those of a user, and those of a project. */
export type Layer = 'user' | 'project'

/** Checks whether a value is allowed in a field of memory. */
type Check = (value: Json) => boolean

const text: Check = value => typeof value === 'string' && value.length <= 1000
const texts: Check = value => Array.isArray(value) && value.length <= 50 && value.every(text)
const oneOf = (...words: readonly string[]): Check => value => typeof value === 'string' && words.includes(value)

/**
 * The fields of memory (stored preferences) with their checks. A model's patch can set no other fields. Each possible `output_format` is
 * safe, since it chooses the mode of a plan only if neither the request nor the user's words do.
 */
const FIELDS: Readonly<Record<Layer, ReadonlyMap<string, Check>>> = {
  user: new Map<string, Check>([
    ['preferred_style', oneOf('brief', 'normal', 'verbose')],
    ['ask_budget', value => typeof value === 'number' && [0, 1, 2].includes(value)],
    ['risk_tolerance', oneOf('low', 'medium', 'high')],
    ['default_language', value => text(value) && (value as string).length <= 40],
    ['output_format', oneOf('patch_first', 'plan_first', 'plan', 'apply')]
  ]),
  project: new Map<string, Check>([
    ...['default_test_command', 'default_lint_command', 'default_format_command', 'package_manager', 'build_command', 'ci_notes'].map(
      name => [name, text] as const
    ),
    ['src_roots', texts],
    ['test_roots', texts]
  ])
}

/** The names of fields in older files, with their present names. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['test_command', 'default_test_command'],
  ['lint_command', 'default_lint_command'],
  ['format_command', 'default_format_command']
])

/** The valid fields of a layer's file: known names with valid values. An older name counts when the field with its present name is missing or wrong. */
export function knownFields (layer: Layer, given: JsonObject): JsonObject {
  const isGood = ([name, value]: readonly [string, Json]): boolean => FIELDS[layer].get(name)?.(value) === true
  const older = layer === 'user' ? [] : Object.entries(given).map(([name, value]) => [OLD_NAMES.get(name) ?? '', value] as const)
  return Object.fromEntries([...older.filter(isGood), ...Object.entries(given).filter(isGood)])
}

/**
 * Reads a patch (changes) of memory. `set` has the fields to set in each layer (`null` removes a field); `dropped` has the names that are not
 * allowed or have a wrong value.
 */
export function readPatch (patch: JsonObject): { readonly set: Readonly<Record<Layer, JsonObject>>, readonly dropped: string[] } {
  const set: Record<Layer, Record<string, Json>> = { user: {}, project: {} }
  const dropped: string[] = []
  for (const [key, value] of Object.entries(patch)) {
    const [layer, name = ''] = key.split('.', 2) as [string, string?]
    const check = (layer === 'user' || layer === 'project') && key === `${layer}.${name}` ? FIELDS[layer].get(name) : undefined
    if (check !== undefined && (value === null || check(value))) (set[layer as Layer])[name] = value
    else dropped.push(key)
  }
  return { set, dropped }
}

/** The fields of a value, when it is a JSON object; none for any other value. */
export function fieldsOf (value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
