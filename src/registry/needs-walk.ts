import { type PartialCall } from '../template/language.ts'
import { type Prompt } from './generation.ts'
import { type EnvironNames, firstSegment, isAlwaysRoot, type OwnedPath, ownerOf } from './path-owner.ts'
import { type PromptLookup } from './prompt-needs.ts'
import { type PromptParameters } from './prompt-parameters.ts'

/** Paths and references looked at for one prompt: partials that call each other with ever other arguments have no end. */
const MAX_LOOKED_AT = 20_000

/** A prompt's text, and what it is called with. */
export interface Visit {
  readonly prompt: Prompt
  /** Whether it is the prompt itself, not a partial. */
  readonly isTop: boolean
  /** The path of its dot, `''` for the root; `undefined` when it is no path, such as a tool's result. */
  readonly dot: string | undefined
  /** Names that its call gives by themselves. */
  readonly named: ReadonlySet<string>
  /** What it and those that lead to it declare, the outermost first. */
  readonly parameters: readonly PromptParameters[]
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
    this.#queue = [{ prompt, isTop: true, dot: '', named: new Set(), parameters: own(prompt), outer: undefined }]
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
      this.#enqueuePartials(visit)
    }
  }

  /** Whose value a path of a visited text is; `undefined` for what its call gives, or what is no path of the root. */
  resolve ({ prompt, isTop, dot, named }: Visit, path: string): OwnedPath | undefined {
    const declared = prompt.entry.parameters?.names
    const head = firstSegment(path)
    if (isTop || isAlwaysRoot(head, this.#environs)) return ownerOf(path, declared, this.#environs)
    if (named.has(head) || dot === undefined) return undefined
    return ownerOf(dot === '' ? path : `${dot}.${path}`, declared, this.#environs)
  }

  #enqueuePartials (visit: Visit): void {
    for (const [message, { references }] of visit.prompt.entry.compiled.messages.entries()) {
      for (const [index, { call }] of references.entries()) {
        const link = visit.prompt.messages[message]?.links[index]
        const prompt = link?.kind === 'partial' ? this.#prompts.get(link.id) : undefined
        if (prompt !== undefined) this.#enqueue(visit, prompt, call)
      }
    }
  }

  #enqueue (outer: Visit, prompt: Prompt, call: PartialCall | undefined): void {
    const keeps = call?.dot === ''
    const dot = keeps ? outer.dot : call?.dot === undefined ? undefined : this.resolve(outer, call.dot)?.path
    const named = new Set([...(keeps ? outer.named : []), ...call?.named ?? []])
    const key = JSON.stringify([prompt.id, dot, [...named].sort()])
    if (this.#seen.has(key) || goesDeeper(outer, prompt, dot)) return
    this.#seen.add(key)
    this.#queue.push({ prompt, isTop: false, dot, named, parameters: [...outer.parameters, ...own(prompt)], outer })
  }
}

/** Whether a partial calls itself, through others or not, with a part of its own argument: a tree has no deepest level. */
function goesDeeper (from: Visit, prompt: Prompt, dot: string | undefined): boolean {
  for (let visit: Visit | undefined = from; visit !== undefined; visit = visit.outer) {
    if (visit.prompt === prompt && (visit.dot === dot || dot?.startsWith(visit.dot === '' ? '' : `${visit.dot}.`) === true)) return true
  }
  return false
}

function own ({ entry }: Prompt): readonly PromptParameters[] {
  return entry.parameters === undefined ? [] : [entry.parameters]
}

function costOf ({ entry }: Prompt): number {
  return entry.compiled.messages.reduce((sum, { paths, references }) => sum + paths.length + references.length, 1)
}
