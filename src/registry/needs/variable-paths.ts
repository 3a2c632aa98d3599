import type { PathNeed } from '../../template/language.ts'
import type { EnvironSource } from '../../template/run.ts'
import { type BareNames, KNOWN_MODULES, RESERVED_NAMES } from '../../template/scope.ts'
import type { LinkedText, Prompt } from '../generation.ts'
import type { CompiledText } from '../kinds/compile-prompt.ts'

/** Certainly or possibly; names that turn out to be tools are left out. */
export function * everyPath (prompt: Pick<Prompt, 'entry' | 'texts'>) {
  for (const [index, compiled] of prompt.entry.compiled.texts.entries()) {
    for (const need of withoutTools(compiled, prompt.texts[index])) yield { need, where: compiled.where }
  }
}

/** Leaves out what is perhaps a member of another value: in a block over a user, `{{name}}` can be the user's name. */
export function * ownPaths (prompt: Pick<Prompt, 'entry' | 'texts'>, environs?: EnvironNames) {
  for (const [index, compiled] of prompt.entry.compiled.texts.entries()) {
    const needs = withoutTools(compiled, prompt.texts[index])
    const heads = new Set(needs.filter(({ use }) => use !== 'possible').map(({ path }) => firstSegment(path)))
    const isOfRoot = (head: string): boolean => heads.has(head) || isReserved(head) || (environs !== undefined && isModule(head, environs))
    for (const need of needs) if (need.use !== 'possible' || isOfRoot(firstSegment(need.path))) yield { need, where: compiled.where }
  }
}

/** Only the registry knows that `{{name}}` is a tool. */
function withoutTools ({ paths }: CompiledText, linked: LinkedText | undefined): readonly PathNeed[] {
  return paths.filter(({ reference }) => reference === undefined || linked?.links[reference] === undefined)
}

export type EnvironNames = Pick<EnvironSource, 'has' | 'hasBelow' | 'hides'>

export interface OwnedPath {
  /** `caller`: the service itself, from the caller's verified identity. */
  readonly owner: 'variables' | 'environs' | 'caller'
  /** From the root: `variables.a.b`, also where the template writes `args.a.b` or `a.b`. */
  readonly path: string
  readonly isBare: boolean
}

/** By the same rules as a render; `declared` is `undefined` for every name. */
export function ownerOf (path: string, declared: BareNames | undefined, environs: EnvironNames): OwnedPath {
  const head = firstSegment(path)
  const rest = path.slice(head.length)
  if (head === 'variables' || head === 'args') return { owner: 'variables', path: `variables${rest}`, isBare: false }
  if (head === 'caller') return { owner: 'caller', path, isBare: false }
  // A bare name is never a variable when the prompt declares parameters and it is none of them.
  const isShared = head === '*' || isModule(head, environs) || (declared !== undefined && !declared.has(head))
  return isShared ? { owner: 'environs', path, isBare: false } : { owner: 'variables', path: `variables.${path}`, isBare: true }
}

function isReserved (name: string): boolean {
  return RESERVED_NAMES.has(name) || KNOWN_MODULES.has(name)
}

export function isModule (name: string, environs: EnvironNames): boolean {
  return KNOWN_MODULES.has(name) || environs.hasBelow(name) || environs.has(name) || environs.hides?.(name) === true
}

/** At the path itself, above it (`a` for `a.b`) or below it. */
export function isPublished (path: string, environs: EnvironNames): boolean {
  const segments = path.split('.')
  const wildcard = segments.indexOf('*')
  const written = wildcard === -1 ? segments : segments.slice(0, wildcard)
  if (written.length === 0 || environs.hasBelow(written.join('.'))) return true
  return written.some((_, index) => environs.has(written.slice(0, index + 1).join('.')))
}

export function firstSegment (path: string): string {
  const dot = path.indexOf('.')
  return dot === -1 ? path : path.slice(0, dot)
}

/** They are equal, or one leads to the other; `*` is any one segment. */
export function overlaps (a: readonly string[], b: readonly string[]): boolean {
  const shared = Math.min(a.length, b.length)
  for (let index = 0; index < shared; index++) {
    if (a[index] !== b[index] && a[index] !== '*' && b[index] !== '*') return false
  }
  return true
}
