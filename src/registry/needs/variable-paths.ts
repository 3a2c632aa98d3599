import type { PathNeed } from '../../template/language.ts'
import type { EnvironSource } from '../../template/run.ts'
import { type BareNames, KNOWN_MODULES, RESERVED_NAMES } from '../../template/scope.ts'
import type { Position } from '../../template/tags.ts'
import type { LinkedText, Prompt } from '../generation.ts'
import type { CompiledText } from '../kinds/compile-prompt.ts'

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

/** Tells whether a name is published as a shared variable. */
export type EnvironNames = Pick<EnvironSource, 'has' | 'hasBelow' | 'hides'>

/** A path that a template reads, with the owner of its value. */
export interface OwnedPath {
  /** Who gives the value. `variables`: the caller. `environs`: only a shared variable. `caller`: the service itself, from the caller's verified identity. */
  readonly owner: 'variables' | 'environs' | 'caller'
  /** The path from the root of all values: `variables.a.b`, also where the template writes `args.a.b` or `a.b`. */
  readonly path: string
  /** Whether the path was written without `variables.` in front. */
  readonly isBare: boolean
}

/**
 * Tells who gives the value of a path, by the same rules as a render.
 * @param declared the names that are read from the variables without `variables.`; `undefined` for every name
 */
export function ownerOf (path: string, declared: BareNames | undefined, environs: EnvironNames): OwnedPath {
  const head = firstSegment(path)
  const rest = path.slice(head.length)
  if (head === 'variables' || head === 'args') return { owner: 'variables', path: `variables${rest}`, isBare: false }
  if (head === 'caller') return { owner: 'caller', path, isBare: false }
  // A name without `variables.` in front is never looked up in the variables when the prompt declares parameters and this name is none of them.
  const isShared = head === '*' || isModule(head, environs) || (declared !== undefined && !declared.has(head))
  return isShared ? { owner: 'environs', path, isBare: false } : { owner: 'variables', path: `variables.${path}`, isBare: true }
}

/** Whether a name belongs to the root of all values, even if no shared variable of that name is published. */
function isReserved (name: string): boolean {
  return RESERVED_NAMES.has(name) || KNOWN_MODULES.has(name)
}

/** Whether a name at the root belongs to the shared variables, published or not. */
export function isModule (name: string, environs: EnvironNames): boolean {
  return KNOWN_MODULES.has(name) || environs.hasBelow(name) || environs.has(name) || environs.hides?.(name) === true
}

/** Whether a published shared variable can give the value of a path: a variable at the path itself, above it (`a` for `a.b`) or below it. */
export function isPublished (path: string, environs: EnvironNames): boolean {
  const segments = path.split('.')
  const wildcard = segments.indexOf('*')
  const written = wildcard === -1 ? segments : segments.slice(0, wildcard)
  if (written.length === 0 || environs.hasBelow(written.join('.'))) return true
  return written.some((_, index) => environs.has(written.slice(0, index + 1).join('.')))
}

/** The name that a path begins with. */
export function firstSegment (path: string): string {
  const dot = path.indexOf('.')
  return dot === -1 ? path : path.slice(0, dot)
}

/**
 * Whether two paths have a value in common: they are equal, or one leads to the other. `*` stands for any one segment.
 * @param a segments of the one path
 * @param b segments of the other
 */
export function overlaps (a: readonly string[], b: readonly string[]): boolean {
  const shared = Math.min(a.length, b.length)
  for (let index = 0; index < shared; index++) {
    if (a[index] !== b[index] && a[index] !== '*' && b[index] !== '*') return false
  }
  return true
}
