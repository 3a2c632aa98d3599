import { type LinkedPartial, type PartialCall } from '../../template/language.ts'
import { RESERVED_NAMES } from '../../template/run/scope.ts'
import { type Prompt } from '../generation/generation.ts'
import { ownPaths } from './own-paths.ts'
import { type EnvironNames, firstSegment, isModule, type OwnedPath, ownerOf } from './path-owner.ts'
import { type PromptPartial } from '../link/link-prompts.ts'
import { type PromptLookup } from './needs.ts'
import { type PromptParameters } from '../kinds/prompt/prompt-parameters.ts'

/** Paths and references looked at for one prompt: partials that call each other with ever other arguments have no end. */
const MAX_LOOKED_AT = 20_000

/** Characters of an argument's path that count as one path looked at: each is as long as what it lies below, and more. */
const CHARACTERS_PER_LOOK = 100

/** What a partial is called with: where that is found, `''` for the root, and whose defaults are below the variables there. */
export interface Given {
  readonly path: string
  readonly parameters: readonly PromptParameters[]
}

/** As much of a prompt, or of a version of one, as is walked over. */
export type Text = Pick<Prompt, 'id' | 'entry' | 'texts'>

/** A prompt's text, and what it is called with. */
export interface Visit {
  readonly prompt: Text
  /** Whether it is the prompt itself, not a partial. */
  readonly isTop: boolean
  /** Its dot; `undefined` when that is at no path, such as a tool's result. */
  readonly dot: Given | undefined
  /** What its call gives by names. */
  readonly named: ReadonlyMap<string, Given | undefined>
  /** What it and those that lead to it declare, the outermost first. */
  readonly parameters: readonly PromptParameters[]
  /** Names of partials that inline ones stand in for. */
  readonly replaced: ReadonlySet<string>
  /** Whether it depends on a value that it is called with this. */
  readonly isPossible: boolean
  /** Whether it only finds what names of modules mean in the dot, which is asked for them before the root. */
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

  /** The prompt first, then its partials by distance. */
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

  /** Whose value a path of a visited text is; `undefined` for what is no path of the root, such as a literal argument. */
  resolve (visit: Visit, path: string): OwnedPath | undefined {
    if (visit.findsModulesInDot && !this.#isFoundInDotFirst(visit, path)) return undefined
    const from = this.#startOf(visit, path)
    if (from === undefined) return undefined
    const whole = joined(from.path, path.slice(from.skipped))
    return whole === '' ? undefined : ownerOf(whole, visit.prompt.entry.parameters?.names, this.#environs)
  }

  /** Where a path begins, and how much of it that takes the place of. */
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
    // What a partial may be called with is followed once: that of that, and so on, would grow with each level.
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

/** The argument that a path is found in; `undefined` for what a text reads by itself. */
export function givenAt ({ dot, named }: Visit, path: string): Given | undefined {
  return [dot, ...named.values()].find(given => given !== undefined && given.path !== '' && isBelow(path, given.path))
}

/** What tells a visit of a prompt from its other visits. */
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

/** Whether one path is another, or leads on from it. */
function isBelow (path: string, other: string): boolean {
  return other === '' || path === other || path.startsWith(`${other}.`)
}

function isVariable (path: string): boolean {
  return isBelow(path, 'variables')
}

function joined (path: string, rest: string): string {
  return path === '' ? rest : rest === '' ? path : `${path}.${rest}`
}

/** Handlebars hands inline partials on; Go has none. */
function replacedIn ({ entry }: Text, { replaced }: Visit, call: PartialCall | undefined): ReadonlySet<string> {
  return new Set(entry.compiled.syntax === 'handlebars' ? [...replaced, ...call?.inlines ?? []] : [])
}

function own ({ entry }: Text): readonly PromptParameters[] {
  return entry.parameters === undefined ? [] : [entry.parameters]
}

function costOf ({ entry }: Text): number {
  return entry.compiled.texts.reduce((sum, { paths, references }) => sum + paths.length + references.length, 1)
}

/** A version is in no map of prompts: the link to it knows it. */
function promptOf (link: LinkedPartial): Text | undefined {
  return 'prompt' in link ? (link as PromptPartial).prompt : undefined
}
