import { type PathNeed, type Position } from '../template/language.ts'
import { type CompiledMessage } from './compile-prompt.ts'
import { type LinkedMessage, type Prompt } from './generation.ts'

/** A path that one message of a prompt reads. */
export interface OwnPath {
  readonly need: PathNeed
  /** Which message, from 0. */
  readonly message: number
}

/** Every path that a prompt's own text reads, without the names that turn out to be tools. */
export function * ownPaths (prompt: Prompt): Generator<OwnPath> {
  for (const [message, compiled] of prompt.entry.compiled.messages.entries()) {
    const tools = namesOfTools(compiled, prompt.messages[message])
    for (const need of compiled.paths) if (!tools.has(need)) yield { need, message }
  }
}

const NONE: ReadonlySet<PathNeed> = new Set()

/** Handlebars notes `{{name}}` as a path too: the first one of that name from the tag on is the tool's. */
function namesOfTools ({ references, paths }: CompiledMessage, linked: LinkedMessage | undefined): ReadonlySet<PathNeed> {
  const tools = references.filter(({ kind }, index) => kind === 'maybe-function' && linked?.links[index] !== undefined).sort(byPosition)
  if (tools.length === 0) return NONE
  const taken = new Set<PathNeed>()
  const waiting = new Map<string, Position[]>()
  for (const tool of tools) {
    const places = waiting.get(tool.name)
    if (places === undefined) waiting.set(tool.name, [tool])
    else places.push(tool)
  }
  for (const need of [...paths].sort(byPosition)) {
    const places = waiting.get(need.path.slice(need.path.lastIndexOf('.') + 1))
    const [next] = places ?? []
    if (next === undefined || byPosition(next, need) > 0) continue
    taken.add(need)
    places?.shift()
  }
  return taken
}

function byPosition (a: Position, b: Position): number {
  return a.line - b.line || a.column - b.column
}
