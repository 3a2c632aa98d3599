import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Memory } from '../../files/memory/memory-rules.ts'

/** The largest length of the memory as a text for the model, in UTF-16 units. Every request of a plan to the model carries this text. */
const MAX_BLOCK = 12 * 1024

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
