import { isJsonObject, type Json, type JsonObject, objectOf } from '../base/json.ts'

/** Plans check by these rules what a model wants remembered, REST what a person writes, and memory files what they store and read. */
interface FieldRule {
  readonly expected: string
  readonly allows: (value: Json) => boolean
}

export type MemoryLayer = 'user' | 'project'

/** By names without `user.` and `project.`. */
export interface Memory {
  readonly user: JsonObject
  readonly project: JsonObject
}

/** The text in UTF-16 units. */
const MAX_TEXT = 1000
const MAX_TEXTS = 50

const isText = (value: Json, most = MAX_TEXT): boolean => typeof value === 'string' && value !== '' && value.length <= most && value.isWellFormed()
const text = (most = MAX_TEXT): FieldRule => ({ expected: `a text of 1 to ${most} characters`, allows: value => isText(value, most) })
const oneOf = (...values: ReadonlyArray<string | number>): FieldRule => ({
  expected: `one of ${values.join(', ')}`,
  allows: value => values.some(each => each === value)
})
const TEXTS: FieldRule = {
  expected: `a list of 1 to ${MAX_TEXTS} texts of at most ${MAX_TEXT} characters`,
  allows: value => Array.isArray(value) && value.length > 0 && value.length <= MAX_TEXTS && value.every((each: Json) => isText(each))
}

/** Each `output_format` is safe: it chooses a plan's mode only if neither the request nor the user's words do. */
export const MEMORY_FIELDS: ReadonlyMap<string, FieldRule> = new Map([
  ['user.preferred_style', oneOf('brief', 'normal', 'verbose')],
  ['user.ask_budget', oneOf(0, 1, 2)],
  ['user.risk_tolerance', oneOf('low', 'medium', 'high')],
  ['user.default_language', text(40)],
  ['user.output_format', oneOf('patch_first', 'plan_first', 'plan', 'apply')],
  ['project.default_test_command', text()],
  ['project.default_lint_command', text()],
  ['project.default_format_command', text()],
  ['project.package_manager', text()],
  ['project.build_command', text()],
  ['project.src_roots', TEXTS],
  ['project.test_roots', TEXTS],
  ['project.ci_notes', text()]
])

/** In an older form of the memory, a user's file had the fields of the project too. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['preferred_style', 'user.preferred_style'],
  ['default_language', 'user.default_language'],
  ['test_command', 'project.default_test_command'],
  ['lint_command', 'project.default_lint_command'],
  ['format_command', 'project.default_format_command']
])

/** `null` forgets a field. */
export function readPatch (patch: JsonObject) {
  const refused: Array<{ readonly name: string, readonly reason: string }> = []
  const taken = Object.entries(patch).filter(([name, value]) => {
    const rule = MEMORY_FIELDS.get(name)
    if (rule !== undefined && (value === null || rule.allows(value))) return true
    refused.push({ name, reason: rule === undefined ? 'there is no such field' : `expected ${rule.expected}, got ${describeValue(value)}` })
    return false
  })
  return { patch: Object.fromEntries(taken), refused }
}

export function fieldsIn (layer: MemoryLayer, patch: JsonObject): JsonObject {
  const own = Object.entries(patch).filter(([name]) => name.startsWith(`${layer}.`))
  return Object.fromEntries(own.map(([name, value]) => [name.slice(layer.length + 1), value]))
}

/** Anybody can have written the files. An older name counts where the present one is missing or wrong. */
export function memoryIn (user: Json | undefined, project: Json | undefined): Memory {
  const [own, shared] = [user, project].map(objectOf) as [JsonObject, JsonObject]
  const older = { ...shared, ...own }
  const { patch } = readPatch(withoutNulls([...OLD_NAMES].flatMap(([name, now]) => Object.hasOwn(older, name) ? [[now, older[name] as Json] as const] : [])))
  const present = readPatch(withoutNulls([
    ...Object.entries(own).map(([name, value]) => [`user.${name}`, value] as const),
    ...Object.entries(shared).map(([name, value]) => [`project.${name}`, value] as const)
  ]))
  const all = { ...patch, ...present.patch }
  return { user: fieldsIn('user', all), project: fieldsIn('project', all) }
}

function withoutNulls (members: ReadonlyArray<readonly [string, Json]>): JsonObject {
  return Object.fromEntries(members.filter(([, value]) => value !== null))
}

function describeValue (value: Json): string {
  if (typeof value === 'string') return value.length > MAX_TEXT ? `${value.length} characters` : JSON.stringify(value.slice(0, 60))
  return Array.isArray(value) ? `a list of ${value.length}` : isJsonObject(value) ? 'an object' : String(value)
}
