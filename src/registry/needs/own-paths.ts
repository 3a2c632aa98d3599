import { type Position } from '../../template/position.ts'
import { type PathNeed } from '../../template/language.ts'
import { type CompiledText } from '../kinds/prompt/compile-prompt.ts'
import { type LinkedText, type Prompt } from '../generation/generation.ts'
import { type EnvironNames, firstSegment, isModule, isReserved } from './path-owner.ts'

/** A path (such as `variables.user.name`) that one text of a prompt reads. */
export interface OwnPath {
  readonly need: PathNeed
  /** Which of the prompt's texts reads the path; `undefined` when the prompt has only one text. */
  readonly where: CompiledText['where']
}

/** Every path that a prompt's own texts certainly or possibly read. Names that turn out to be tools are left out. */
export function * everyPath (prompt: Pick<Prompt, 'entry' | 'texts'>): Generator<OwnPath> {
  for (const [index, compiled] of prompt.entry.compiled.texts.entries()) {
    for (const need of withoutTools(compiled, prompt.texts[index])) yield { need, where: compiled.where }
  }
}

/**
 * The paths that a prompt's own texts read from the root of all values. A path that is perhaps a member of another value is left out: in a block over a
 * user, `{{name}}` can be the user's name.
 * @param environs tells which names belong to the root because shared variables of that name are published
 */
export function * ownPaths (prompt: Pick<Prompt, 'entry' | 'texts'>, environs?: EnvironNames): Generator<OwnPath> {
  for (const [index, compiled] of prompt.entry.compiled.texts.entries()) {
    const needs = withoutTools(compiled, prompt.texts[index])
    const heads = new Set(needs.filter(({ use }) => use !== 'possible').map(({ path }) => firstSegment(path)))
    const isOfRoot = (head: string): boolean => heads.has(head) || isReserved(head) || (environs !== undefined && isModule(head, environs))
    for (const need of needs) if (need.use !== 'possible' || isOfRoot(firstSegment(need.path))) yield { need, where: compiled.where }
  }
}

function withoutTools (compiled: CompiledText, linked: LinkedText | undefined): readonly PathNeed[] {
  const tools = namesOfTools(compiled, linked)
  return tools.size === 0 ? compiled.paths : compiled.paths.filter(need => !tools.has(need))
}

const NONE: ReadonlySet<PathNeed> = new Set()

/**
 * The paths that are in truth names of tools. Handlebars lists `{{name}}` as a path, too, because only the registry knows whether it is a tool. The
 * path that belongs to a tool is the first one of the same name at or after the tool's tag.
 */
function namesOfTools ({ references, paths }: CompiledText, linked: LinkedText | undefined): ReadonlySet<PathNeed> {
  const tools = references.filter(({ kind }, index) => kind === 'maybe-function' && linked?.links[index] !== undefined).sort(byPosition)
  if (tools.length === 0) return NONE
  const taken = new Set<PathNeed>()
  const waiting = new Map<string, Position[]>()
  for (const tool of tools) {
    const places = waiting.get(tool.name)
    if (places === undefined) waiting.set(tool.name, [tool])
    else places.push(tool)
  }
  let last: PathNeed | undefined
  for (const need of [...paths].sort(byPosition)) {
    const name = lastSegment(need.path)
    const places = waiting.get(name)
    const [next] = places ?? []
    // It happens that one name is listed as several paths at the same place.
    const isSame = last !== undefined && byPosition(last, need) === 0 && lastSegment(last.path) === name
    if (!isSame && (next === undefined || byPosition(next, need) > 0)) continue
    taken.add(need)
    if (!isSame) places?.shift()
    last = need
  }
  return taken
}

function lastSegment (path: string): string {
  return path.slice(path.lastIndexOf('.') + 1)
}

function byPosition (a: Position, b: Position): number {
  return a.line - b.line || a.column - b.column
}
