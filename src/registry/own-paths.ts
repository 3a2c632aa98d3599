import { type PathNeed, type Reference } from '../template/language.ts'
import { type Prompt } from './generation.ts'

/** A path that one message of a prompt reads. */
export interface OwnPath {
  readonly need: PathNeed
  /** Which message, from 0. */
  readonly message: number
}

/** Every path that a prompt's own text reads, without the names that turn out to be tools. */
export function * ownPaths (prompt: Prompt): Generator<OwnPath> {
  for (const [message, { paths, references }] of prompt.entry.compiled.messages.entries()) {
    const tools = references.filter((reference, index) => reference.kind === 'maybe-function' && prompt.messages[message]?.links[index] !== undefined)
    const taken = new Set(tools.map(tool => pathOf(tool, paths)))
    for (const need of paths) if (!taken.has(need)) yield { need, message }
  }
}

/** A name that may be a tool is noted as a path too: the first one of that name from the tag on. */
function pathOf (tool: Reference, paths: readonly PathNeed[]): PathNeed | undefined {
  return paths.find(({ path, line, column }) =>
    (path === tool.name || path.endsWith(`.${tool.name}`)) &&
    (line > tool.line || (line === tool.line && column >= tool.column)))
}
