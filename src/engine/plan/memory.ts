import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'

/** What is remembered of a user and of a project, each field as its name is without the layer. */
export interface Memory {
  readonly user: JsonObject
  readonly project: JsonObject
}

export const NO_MEMORY: Memory = { user: {}, project: {} }

/** The block may be so long, in UTF-16 units: every question to the model carries it. */
const MAX_BLOCK = 12 * 1024

const isText = (value: Json): boolean => typeof value === 'string' && value !== ''
const isOneOf = (...words: readonly string[]) => (value: Json): boolean => typeof value === 'string' && words.includes(value)
const isTextList = (value: Json): boolean => Array.isArray(value) && value.length > 0 && value.every(each => typeof each === 'string' && each !== '')

/** Every field that may be remembered, with what it may hold. */
export const MEMORY_FIELDS: ReadonlyMap<string, (value: Json) => boolean> = new Map<string, (value: Json) => boolean>([
  ['user.preferred_style', isOneOf('brief', 'normal', 'verbose')],
  ['user.ask_budget', value => value === 0 || value === 1 || value === 2],
  ['user.risk_tolerance', isOneOf('low', 'medium', 'high')],
  ['user.default_language', isText],
  ['user.output_format', isOneOf('patch_first', 'plan_first', 'plan', 'apply')],
  ['project.default_test_command', isText],
  ['project.default_lint_command', isText],
  ['project.default_format_command', isText],
  ['project.package_manager', isText],
  ['project.build_command', isText],
  ['project.src_roots', isTextList],
  ['project.test_roots', isTextList],
  ['project.ci_notes', isText]
])

/** Names of an older form, and what they are now. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['preferred_style', 'user.preferred_style'],
  ['default_language', 'user.default_language'],
  ['test_command', 'project.default_test_command'],
  ['lint_command', 'project.default_lint_command'],
  ['format_command', 'project.default_format_command']
])

/** Of what a model wants remembered, the fields that may be, and the names of those that may not. */
export function cleanPatch (patch: JsonObject): { readonly patch: JsonObject, readonly dropped: readonly string[] } {
  const names = Object.keys(patch)
  const taken = names.filter(name => MEMORY_FIELDS.get(name)?.(patch[name] as Json) === true)
  return { patch: Object.fromEntries(taken.map(name => [name, patch[name] as Json])), dropped: names.filter(name => !taken.includes(name)) }
}

/** Of what was remembered, the fields that may be; names of the older form too. Whoever wrote the file is not trusted. */
export function cleanMemory (user: Json | undefined, project: Json | undefined): Memory {
  const old = { ...fieldsOf(project), ...fieldsOf(user) }
  const flat = {
    ...Object.fromEntries([...OLD_NAMES].filter(([name]) => Object.hasOwn(old, name)).map(([name, now]) => [now, old[name] as Json])),
    ...Object.fromEntries(Object.entries(fieldsOf(user)).map(([name, value]) => [`user.${name}`, value])),
    ...Object.fromEntries(Object.entries(fieldsOf(project)).map(([name, value]) => [`project.${name}`, value]))
  }
  const { patch } = cleanPatch(flat)
  const layer = (name: string): JsonObject => Object.fromEntries(Object.entries(patch).filter(([key]) => key.startsWith(`${name}.`)).map(([key, value]) => [key.slice(name.length + 1), value]))
  return { user: layer('user'), project: layer('project') }
}

/** What the model is told of it, behind the system message; empty when there is nothing to tell. */
export function memoryBlock (memory: Memory): string {
  const { user, project } = shortened(memory)
  const layers = { ...(Object.keys(user).length === 0 ? {} : { user }), ...(Object.keys(project).length === 0 ? {} : { project }) }
  if (Object.keys(layers).length === 0) return ''
  return `ENGINEERING_MEMORY (trusted by user; update only when user requests):\n${stringifyJson(layers)}\n\nUse ENGINEERING_MEMORY as defaults. If user explicitly asks to change — suggest updating memory and show new JSON.`
}

/** Without its longest fields, as many as it takes to fit. */
function shortened (memory: Memory): Memory {
  let { user, project } = memory
  while (stringifyJson({ user, project }).length > MAX_BLOCK) {
    const [longest] = [...Object.entries(user), ...Object.entries(project)].toSorted(([, one], [, other]) => stringifyJson(other).length - stringifyJson(one).length)
    const without = (layer: JsonObject): JsonObject => Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== longest?.[1]))
    ;[user, project] = [without(user), without(project)]
  }
  return { user, project }
}

function fieldsOf (value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
