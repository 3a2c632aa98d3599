import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/** What is remembered, of a user or of a project. */
export type Layer = 'user' | 'project'

/** Whether a value may be remembered. */
type Check = (value: Json) => boolean

const text: Check = value => typeof value === 'string' && value.length <= 1000
const texts: Check = value => Array.isArray(value) && value.length <= 50 && value.every(text)
const oneOf = (...words: readonly string[]): Check => value => typeof value === 'string' && words.includes(value)

/** All that may be remembered. The mode of a request goes before `output_format`, so any word is a good value for it. */
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

/** Names of older files, and the names that they have now. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['test_command', 'default_test_command'],
  ['lint_command', 'default_lint_command'],
  ['format_command', 'default_format_command']
])

/** What counts of a layer's file: known names with good values. An older name counts where its newer name is missing. */
export function knownFields (layer: Layer, given: JsonObject): JsonObject {
  const isGood = ([name, value]: readonly [string, Json]): boolean => FIELDS[layer].get(name)?.(value) === true
  const older = layer === 'user' ? [] : Object.entries(given).map(([name, value]) => [OLD_NAMES.get(name) ?? '', value] as const)
  return Object.fromEntries([...older.filter(isGood), ...Object.entries(given).filter(isGood)])
}

/** What a patch sets in each layer, `null` to forget a name, and the names that are not on the list or have a wrong value. */
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

/** Whether something is an object of fields. */
export function fieldsOf (value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
