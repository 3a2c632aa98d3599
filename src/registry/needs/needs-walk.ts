import type { TextName } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import type { LinkedPartial, PartialCall, PathNeed } from '../../template/language.ts'
import { RESERVED_NAMES } from '../../template/scope.ts'
import type { Position } from '../../template/tags.ts'
import type { Prompt } from '../generation.ts'
import type { PromptParameters } from '../kinds/prompt-parameters.ts'
import type { PromptPartial } from '../link/link-prompts.ts'
import { type EnvironNames, firstSegment, isModule, type OwnedPath, ownerOf, ownPaths } from './variable-paths.ts'

/** Paths and references: partials that call each other with ever new arguments would never end. */
const MAX_LOOKED_AT = 20_000

/** Count as one more path, because arguments of arguments can have ever longer paths. */
const CHARACTERS_PER_LOOK = 100

/** The path of its value (`''` for the root), and the parameters whose defaults apply. */
interface Given {
  readonly path: string
  readonly parameters: readonly PromptParameters[]
}

type WalkedPrompt = Pick<Prompt, 'id' | 'entry' | 'texts'>

export interface TextVisit {
  readonly prompt: WalkedPrompt
  readonly isTop: boolean
  /** Where names are looked up; `undefined` when it is at no path, such as a tool's result. */
  readonly dot: Given | undefined
  readonly named: ReadonlyMap<string, Given | undefined>
  readonly parameters: readonly PromptParameters[]
  readonly replaced: ReadonlySet<string>
  /** Only a render knows whether the text is called with these arguments. */
  readonly isPossible: boolean
  /** A second visit, for names such as `vscode`: a partial looks for them in its dot before the root. */
  readonly findsModulesInDot: boolean
  readonly outer: TextVisit | undefined
}

/** Visits a prompt and its partials once for every set of arguments. */
export class NeedsWalk {
  isComplete = true
  readonly #prompts: PromptLookup
  readonly #environs: EnvironNames
  readonly #queue: TextVisit[]
  readonly #seen = new Set<string>()
  #lookedAt = 0

  constructor (prompt: Prompt, prompts: PromptLookup, environs: EnvironNames) {
    this.#prompts = prompts
    this.#environs = environs
    const parameters = ownParameters(prompt)
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

  * visits (): Generator<TextVisit> {
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

  /** From the root of all values; `undefined` for a value at no path, such as a literal. */
  resolve (visit: TextVisit, path: string): OwnedPath | undefined {
    if (visit.findsModulesInDot && !this.#isFoundInDotFirst(visit, path)) return undefined
    const from = this.#startOf(visit, path)
    if (from === undefined) return undefined
    const whole = joined(from.path, path.slice(from.skipped))
    return whole === '' ? undefined : ownerOf(whole, visit.prompt.entry.parameters?.bareNames, this.#environs)
  }

  /** With how many characters of the text's path only name that value; `undefined` for none. */
  #startOf ({ isTop, dot, named, findsModulesInDot }: TextVisit, path: string): { readonly path: string, readonly skipped: number } | undefined {
    const head = firstSegment(path)
    if (isTop || RESERVED_NAMES.has(head)) return { path: '', skipped: 0 }
    if (named.has(head)) {
      const given = named.get(head)
      return given === undefined ? undefined : { path: given.path, skipped: head.length + 1 }
    }
    if (!findsModulesInDot && isModule(head, this.#environs)) return { path: '', skipped: 0 }
    return dot === undefined ? undefined : { path: dot.path, skipped: 0 }
  }

  #isFoundInDotFirst ({ named }: TextVisit, path: string): boolean {
    const head = firstSegment(path)
    return !RESERVED_NAMES.has(head) && !named.has(head) && isModule(head, this.#environs)
  }

  #readsModulesInDot (visit: TextVisit): boolean {
    if (visit.dot === undefined || !isVariable(visit.dot.path)) return false
    for (const { need } of ownPaths(visit.prompt)) if (this.#isFoundInDotFirst(visit, need.path)) return true
    return false
  }

  #enqueuePartials (visit: TextVisit): void {
    for (const [text, { references }] of visit.prompt.entry.compiled.texts.entries()) {
      for (const [index, { name, calls = [undefined] }] of references.entries()) {
        const link = visit.prompt.texts[text]?.links[index]
        const prompt = link?.kind === 'partial' && !visit.replaced.has(name) ? promptOf(link) ?? this.#prompts.get(link.id) : undefined
        if (prompt !== undefined) calls.forEach(call => this.#enqueue(visit, prompt, call))
      }
    }
  }

  #enqueue (outer: TextVisit, prompt: WalkedPrompt, call: PartialCall | undefined): void {
    // Uncertain calls inside uncertain calls are not followed: their number would multiply with each level.
    if (call?.isPossible === true && outer.isPossible) return
    const visit = this.#visitOf(outer, prompt, call)
    for (const given of [visit.dot, ...visit.named.values()]) this.#lookedAt += Math.floor((given?.path.length ?? 0) / CHARACTERS_PER_LOOK)
    const key = keyOf(visit)
    const possibleKey = `possible ${key}`
    if (this.#seen.has(key) || (visit.isPossible && this.#seen.has(possibleKey)) || goesDeeper(visit)) return
    this.#seen.add(visit.isPossible ? possibleKey : key)
    this.#queue.push(visit)
  }

  #visitOf (outer: TextVisit, prompt: WalkedPrompt, call: PartialCall | undefined): TextVisit {
    const keeps = call?.dot === ''
    const dot = keeps ? outer.dot : call?.dot === undefined ? undefined : this.#give(outer, call.dot)
    const named = new Map([
      ...(keeps ? outer.named : []),
      ...(call?.named ?? []).map(({ name, path }) => [name, path === undefined ? undefined : this.#give(outer, path)] as const)
    ])
    const parameters = [...outer.parameters, ...ownParameters(prompt)]
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

  #give (outer: TextVisit, path: string): Given | undefined {
    if (path === '') return { path, parameters: outer.parameters }
    const owned = this.resolve(outer, path)
    return owned && { path: owned.path, parameters: givenAt(outer, owned.path)?.parameters ?? outer.parameters }
  }
}

export function givenAt ({ dot, named }: TextVisit, path: string): Given | undefined {
  return [dot, ...named.values()].find(given => given !== undefined && given.path !== '' && isBelow(path, given.path))
}

function keyOf ({ prompt, dot, named, replaced }: TextVisit): string {
  return JSON.stringify([prompt.id, dot?.path, [...named].map(([name, given]) => [name, given?.path]).sort(), [...replaced].sort()])
}

/** With a part of its own arguments: a tree of values has no deepest level, so the walk would never end. */
function goesDeeper ({ prompt, dot, named, outer }: TextVisit): boolean {
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

function isBelow (path: string, other: string): boolean {
  return other === '' || path === other || path.startsWith(`${other}.`)
}

function isVariable (path: string): boolean {
  return isBelow(path, 'variables')
}

function joined (path: string, rest: string): string {
  return path === '' ? rest : rest === '' ? path : `${path}.${rest}`
}

/** The names of the partials that inline partials of the calling texts replace in a called text: in a Handlebars text all of them, in a Go text none. */
function replacedIn ({ entry }: WalkedPrompt, { replaced }: TextVisit, call: PartialCall | undefined): ReadonlySet<string> {
  return new Set(entry.compiled.syntax === 'handlebars' ? [...replaced, ...call?.inlines ?? []] : [])
}

function ownParameters ({ entry }: WalkedPrompt): readonly PromptParameters[] {
  return entry.parameters === undefined ? [] : [entry.parameters]
}

function costOf ({ entry }: WalkedPrompt): number {
  return entry.compiled.texts.reduce((sum, { paths, references }) => sum + paths.length + references.length, 1)
}

/** The prompt or version that a link leads to, when the link itself has it (a version is in no map of prompts); otherwise `undefined`. */
function promptOf (link: LinkedPartial): WalkedPrompt | undefined {
  return 'prompt' in link ? (link as PromptPartial).prompt : undefined
}

/** In the order of the text, each with whether a render without it is refused. */
export function neededNames (variables: readonly VariableNeed[]): ReadonlyMap<string, boolean> {
  const names = new Map<string, boolean>()
  for (const { path, required } of variables) {
    const name = path.split('.')[1] ?? ''
    if (name !== '' && name !== '*') names.set(name, required || names.get(name) === true)
  }
  return names
}

export interface PromptLookup { get (id: string): Prompt | undefined }

export interface NeedPlace extends Position, Pick<TextName, 'part' | 'member'> {
  readonly messageIndex?: number
  readonly in?: string
}

export interface VariableNeed extends Partial<NeedPlace> {
  /** `variables.a.b`; `*` is any name or index. */
  readonly path: string
  readonly use: PathNeed['use']
  /** As far as the text shows. */
  readonly required: boolean
  readonly default?: Json
}

export interface EnvironNeed extends NeedPlace {
  readonly path: string
  readonly use: PathNeed['use']
  /** Now, at the path, below it or above it. */
  readonly registered: boolean
}

export interface ReferenceNeed extends Partial<NeedPlace> {
  readonly name: string
  readonly id?: string
  readonly arguments: readonly string[]
}

export interface PromptNeeds {
  readonly variables: readonly VariableNeed[]
  readonly environs: readonly EnvironNeed[]
  readonly caller: readonly (NeedPlace & Pick<PathNeed, 'path' | 'use'>)[]
  /** First those in templates, with places; then those offered to the model by name. */
  readonly tools: readonly ReferenceNeed[]
  readonly partials: readonly (ReferenceNeed & NeedPlace)[]
  /** False when the prompt and its partials are too large. */
  readonly complete: boolean
}
