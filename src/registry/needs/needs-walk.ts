import { type LinkedPartial, type PartialCall } from '../../template/language.ts'
import { RESERVED_NAMES } from '../../template/run/scope.ts'
import { type Prompt } from '../generation/generation.ts'
import { ownPaths } from './own-paths.ts'
import { type EnvironNames, firstSegment, isModule, type OwnedPath, ownerOf } from './path-owner.ts'
import { type PromptPartial } from '../link/link-prompts.ts'
import { type PromptLookup } from './needs.ts'
import { type PromptParameters } from '../kinds/prompt/prompt-parameters.ts'

/** The greatest number of paths and references that are looked at for one prompt: partials that call each other with ever new arguments would never end. */
const MAX_LOOKED_AT = 20_000

/** Characters of an argument's path that count as one path looked at: each is as long as what it lies below, and more. */
const CHARACTERS_PER_LOOK = 100

/** An argument of a partial: the path at which it is found, `''` for the root, and whose defaults are below the variables there. */
export interface Given {
  readonly path: string
  readonly parameters: readonly PromptParameters[]
}

/** The members of a prompt, or of a version of one, that the walk needs. */
export type Text = Pick<Prompt, 'id' | 'entry' | 'texts'>

/** One visit of a prompt's text, with the arguments that it is called with. */
export interface Visit {
  readonly prompt: Text
  /** Whether this is the prompt at the top, not a partial. */
  readonly isTop: boolean
  /** The text's dot; `undefined` when the dot is at no path, such as a tool's result. */
  readonly dot: Given | undefined
  /** The named arguments of the call. */
  readonly named: ReadonlyMap<string, Given | undefined>
  /** The parameters that this prompt and the prompts above it declare, the outermost first. */
  readonly parameters: readonly PromptParameters[]
  /** Names of partials that inline partials replace. */
  readonly replaced: ReadonlySet<string>
  /** Whether the text may be called with these arguments: it depends on a value. */
  readonly isPossible: boolean
  /** Whether this visit only finds what names of modules mean in the dot, which is searched for them before the root. */
  readonly findsModulesInDot: boolean
  readonly outer: Visit | undefined
}

/** Walks over a prompt and its partials, each once for every argument that it is called with. */
export class NeedsWalk {
  /** Set to false when the walk ends early. */
  isComplete = true
  readonly #prompts: PromptLookup
  readonly #environs: EnvironNames
  readonly #queue: Visit[]
  readonly #seen = new Set<string>()
  #lookedAt = 0

  constructor (prompt: Prompt, prompts: PromptLookup, environs: EnvironNames) {
    this.#prompts = prompts
    this.#environs = environs
    const parameters = own(prompt)
    this.#queue = [{
      prompt,
      isTop: true,
      dot: { path: '', parameters },
      named: new Map(),
      parameters,
      replaced: new Set(),
      isPossible: false,
      findsModulesInDot: false,
      outer: undefined
    }]
  }

  /** Yields the prompt first, then its partials by distance. */
  * visits (): Generator<Visit> {
    for (const visit of this.#queue) {
      this.#lookedAt += costOf(visit.prompt)
      if (this.#lookedAt > MAX_LOOKED_AT && !visit.isTop) {
        this.isComplete = false
        return
      }
      yield visit
      if (this.#readsModulesInDot(visit)) yield { ...visit, isPossible: true, findsModulesInDot: true }
      this.#enqueuePartials(visit)
    }
  }

  /**
   * The path from the root for a path of a visited text, with its owner; `undefined` for a value without a path from the root, such as a
   * literal argument.
   */
  resolve (visit: Visit, path: string): OwnedPath | undefined {
    if (visit.findsModulesInDot && !this.#isFoundInDotFirst(visit, path)) return undefined
    const from = this.#startOf(visit, path)
    if (from === undefined) return undefined
    const whole = joined(from.path, path.slice(from.skipped))
    return whole === '' ? undefined : ownerOf(whole, visit.prompt.entry.parameters?.names, this.#environs)
  }

  /** The path that a text's path begins at, and how many of its characters that start replaces. */
  #startOf ({ isTop, dot, named, findsModulesInDot }: Visit, path: string): { readonly path: string, readonly skipped: number } | undefined {
    const head = firstSegment(path)
    if (isTop || RESERVED_NAMES.has(head)) return { path: '', skipped: 0 }
    if (named.has(head)) {
      const given = named.get(head)
      return given === undefined ? undefined : { path: given.path, skipped: head.length + 1 }
    }
    if (!findsModulesInDot && isModule(head, this.#environs)) return { path: '', skipped: 0 }
    return dot === undefined ? undefined : { path: dot.path, skipped: 0 }
  }

  #isFoundInDotFirst ({ named }: Visit, path: string): boolean {
    const head = firstSegment(path)
    return !RESERVED_NAMES.has(head) && !named.has(head) && isModule(head, this.#environs)
  }

  #readsModulesInDot (visit: Visit): boolean {
    if (visit.dot === undefined || !isVariable(visit.dot.path)) return false
    for (const { need } of ownPaths(visit.prompt)) if (this.#isFoundInDotFirst(visit, need.path)) return true
    return false
  }

  #enqueuePartials (visit: Visit): void {
    for (const [text, { references }] of visit.prompt.entry.compiled.texts.entries()) {
      for (const [index, { name, calls = [undefined] }] of references.entries()) {
        const link = visit.prompt.texts[text]?.links[index]
        const prompt = link?.kind === 'partial' && !visit.replaced.has(name) ? promptOf(link) ?? this.#prompts.get(link.id) : undefined
        if (prompt !== undefined) calls.forEach(call => this.#enqueue(visit, prompt, call))
      }
    }
  }

  #enqueue (outer: Visit, prompt: Text, call: PartialCall | undefined): void {
    // Only one level of possible calls is followed: possible calls of possible calls would multiply with each level.
    if (call?.isPossible === true && outer.isPossible) return
    const visit = this.#visitOf(outer, prompt, call)
    for (const given of [visit.dot, ...visit.named.values()]) this.#lookedAt += Math.floor((given?.path.length ?? 0) / CHARACTERS_PER_LOOK)
    const key = keyOf(visit)
    const possibleKey = `possible ${key}`
    if (this.#seen.has(key) || (visit.isPossible && this.#seen.has(possibleKey)) || goesDeeper(visit)) return
    this.#seen.add(visit.isPossible ? possibleKey : key)
    this.#queue.push(visit)
  }

  #visitOf (outer: Visit, prompt: Text, call: PartialCall | undefined): Visit {
    const keeps = call?.dot === ''
    const dot = keeps ? outer.dot : call?.dot === undefined ? undefined : this.#give(outer, call.dot)
    const named = new Map([
      ...(keeps ? outer.named : []),
      ...(call?.named ?? []).map(({ name, path }) => [name, path === undefined ? undefined : this.#give(outer, path)] as const)
    ])
    const parameters = [...outer.parameters, ...own(prompt)]
    return {
      prompt,
      isTop: false,
      dot: dot?.path === '' ? { path: '', parameters } : dot,
      named,
      parameters,
      replaced: replacedIn(prompt, outer, call),
      isPossible: call?.isPossible === true || outer.isPossible,
      findsModulesInDot: false,
      outer
    }
  }

  #give (outer: Visit, path: string): Given | undefined {
    if (path === '') return { path, parameters: outer.parameters }
    const owned = this.resolve(outer, path)
    return owned && { path: owned.path, parameters: givenAt(outer, owned.path)?.parameters ?? outer.parameters }
  }
}

/** The argument that a path lies in; `undefined` for a path that a text reads by itself. */
export function givenAt ({ dot, named }: Visit, path: string): Given | undefined {
  return [dot, ...named.values()].find(given => given !== undefined && given.path !== '' && isBelow(path, given.path))
}

/** The key that tells a visit of a prompt from its other visits. */
function keyOf ({ prompt, dot, named, replaced }: Visit): string {
  return JSON.stringify([prompt.id, dot?.path, [...named].map(([name, given]) => [name, given?.path]).sort(), [...replaced].sort()])
}

/** Whether a partial calls itself, through others or not, with a part of its own arguments: a tree has no deepest level. */
function goesDeeper ({ prompt, dot, named, outer }: Visit): boolean {
  for (let visit = outer; visit !== undefined; visit = visit.outer) {
    const above = visit
    const isSame = above.prompt.entry === prompt.entry && isPartOf(dot, above.dot)
    if (isSame && [...named].every(([name, given]) => isPartOf(given, above.named.get(name)))) return true
  }
  return false
}

function isPartOf (given: Given | undefined, other: Given | undefined): boolean {
  return given === undefined || other === undefined ? given === other : isBelow(given.path, other.path)
}

/** Whether a path equals another one, or leads on from it. */
function isBelow (path: string, other: string): boolean {
  return other === '' || path === other || path.startsWith(`${other}.`)
}

function isVariable (path: string): boolean {
  return isBelow(path, 'variables')
}

function joined (path: string, rest: string): string {
  return path === '' ? rest : rest === '' ? path : `${path}.${rest}`
}

/** The names of partials that inline partials replace in a called text. Handlebars hands inline partials on; Go has none. */
function replacedIn ({ entry }: Text, { replaced }: Visit, call: PartialCall | undefined): ReadonlySet<string> {
  return new Set(entry.compiled.syntax === 'handlebars' ? [...replaced, ...call?.inlines ?? []] : [])
}

function own ({ entry }: Text): readonly PromptParameters[] {
  return entry.parameters === undefined ? [] : [entry.parameters]
}

function costOf ({ entry }: Text): number {
  return entry.compiled.texts.reduce((sum, { paths, references }) => sum + paths.length + references.length, 1)
}

/** The prompt or version that a link leads to, where the link itself has it: a version is in no map of prompts. */
function promptOf (link: LinkedPartial): Text | undefined {
  return 'prompt' in link ? (link as PromptPartial).prompt : undefined
}
