import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'

/** The preferences that the service remembers for a user and for a project. The names of the fields have no prefix `user.` or `project.` here. */
export interface Memory {
  readonly user: JsonObject
  readonly project: JsonObject
}

export const NO_MEMORY: Memory = { user: {}, project: {} }

/** The largest length of the memory as a text for the model, in UTF-16 units. Every request of a plan to the model carries this text. */
const MAX_BLOCK = 12 * 1024

const isText = (value: Json): boolean => typeof value === 'string' && value !== ''
const isOneOf = (...words: readonly string[]) => (value: Json): boolean => typeof value === 'string' && words.includes(value)
const isTextList = (value: Json): boolean => Array.isArray(value) && value.length > 0 && value.every(each => typeof each === 'string' && each !== '')

/** The fields that a `Memory` is allowed to have, each with a function that checks its value. */
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

/** The names of fields in an older form of the memory, with their present names. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['preferred_style', 'user.preferred_style'],
  ['default_language', 'user.default_language'],
  ['test_command', 'project.default_test_command'],
  ['lint_command', 'project.default_lint_command'],
  ['format_command', 'project.default_format_command']
])

/** Divides a model's changes of the memory into the fields that `MEMORY_FIELDS` allows, and the names of all others. */
export function cleanPatch (patch: JsonObject): { readonly patch: JsonObject, readonly dropped: readonly string[] } {
  const names = Object.keys(patch)
  const taken = names.filter(name => MEMORY_FIELDS.get(name)?.(patch[name] as Json) === true)
  return { patch: Object.fromEntries(taken.map(name => [name, patch[name] as Json])), dropped: names.filter(name => !taken.includes(name)) }
}

/** The allowed fields of a memory that comes from a file; older names of fields count too. The file is not trusted: anybody can have written it. */
export function cleanMemory (user: Json | undefined, project: Json | undefined): Memory {
  const old = { ...fieldsOf(project), ...fieldsOf(user) }
  const flat = {
    ...Object.fromEntries([...OLD_NAMES].filter(([name]) => Object.hasOwn(old, name)).map(([name, now]) => [now, old[name] as Json])),
    ...Object.fromEntries(Object.entries(fieldsOf(user)).map(([name, value]) => [`user.${name}`, value])),
    ...Object.fromEntries(Object.entries(fieldsOf(project)).map(([name, value]) => [`project.${name}`, value]))
  }
  const { patch } = cleanPatch(flat)
  return { user: fieldsBelow('user.', patch), project: fieldsBelow('project.', patch) }
}

/** The fields of `patch` whose names begin with `prefix`, such as `user.`. The names in the result are without the prefix. */
function fieldsBelow (prefix: string, patch: JsonObject): JsonObject {
  const below = Object.entries(patch).filter(([key]) => key.startsWith(prefix))
  return Object.fromEntries(below.map(([key, value]) => [key.slice(prefix.length), value]))
}

/** The lines before and after the memory in the text for the model. They are fixed by the plan protocol. */
const BLOCK_HEAD = 'ENGINEERING_MEMORY (trusted by user; update only when user requests):'
const BLOCK_FOOT = 'Use ENGINEERING_MEMORY as defaults. If user explicitly asks to change — suggest updating memory and show new JSON.'

/** The text of the memory for the model, at the end of the system message; empty when nothing is remembered. */
export function memoryBlock (memory: Memory): string {
  const { user, project } = shortened(memory)
  const layers = { ...(Object.keys(user).length === 0 ? {} : { user }), ...(Object.keys(project).length === 0 ? {} : { project }) }
  if (Object.keys(layers).length === 0) return ''
  return `${BLOCK_HEAD}\n${stringifyJson(layers)}\n\n${BLOCK_FOOT}`
}

/** The memory without its longest fields: they are removed one by one until the rest is no longer than `MAX_BLOCK`. */
function shortened (memory: Memory): Memory {
  let { user, project } = memory
  while (stringifyJson({ user, project }).length > MAX_BLOCK) {
    const fields = [...Object.entries(user), ...Object.entries(project)]
    const [longest] = fields.toSorted(([, one], [, other]) => stringifyJson(other).length - stringifyJson(one).length)
    const without = (layer: JsonObject): JsonObject => Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== longest?.[1]))
    ;[user, project] = [without(user), without(project)]
  }
  return { user, project }
}

function fieldsOf (value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
