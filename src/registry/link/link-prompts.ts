import { contentHash } from '../../base/json.ts'
import type { Slices } from '../../runtime/event-loop.ts'
import type { Link, LinkedPartial, Reference } from '../../template/language.ts'
import { ScopeRoot } from '../../template/scope.ts'
import type { LazyNode } from '../../template/value.ts'
import type { CallableTool, LinkedText, Prompt } from '../generation.ts'
import { isSound, type PromptEntry } from '../kinds/prompt-kind.ts'
import { endless, type Inclusion, isAlwaysGiven, isCertain, ofPartial, type Problem, toFunctionName, unknownLoopTool, unresolved } from './link-problems.ts'
import { idsMeant, isOptional, isPartial } from './references.ts'

interface WalkFrame<T> { readonly node: T, readonly targets: readonly T[], next: number }

/** Only inclusions of every render count, so a render of an endless prompt would never end. */
class PartialCycles<T> {
  readonly #targets: (node: T) => readonly T[]
  readonly #endless = new Map<T, boolean>()

  /** `targets`: the nodes that one includes in any case, whatever the values are. */
  constructor (targets: (node: T) => readonly T[]) {
    this.#targets = targets
  }

  /** Up to the node that closes the circle; `undefined` for none. */
  find (node: T): readonly T[] | undefined {
    if (!this.isEndless(node)) return undefined
    const way = [node]
    for (let last = node; ;) {
      const next = this.#targets(last).find(target => this.isEndless(target)) as T
      const isClosed = way.includes(next)
      way.push(next)
      if (isClosed) return way
      last = next
    }
  }

  /** Each node is walked once, without recursion: a chain of partials can be as long as the registry. */
  isEndless (node: T): boolean {
    const known = this.#endless.get(node)
    if (known !== undefined) return known
    const stack = [this.#frame(node)]
    const onStack = new Set([node])
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      const target = frame.targets[frame.next++]
      if (target === undefined) {
        this.#endless.set(frame.node, false)
        onStack.delete(frame.node)
        stack.pop()
      } else if (onStack.has(target) || this.#endless.get(target) === true) {
        for (const each of onStack) this.#endless.set(each, true)
        return true
      } else if (!this.#endless.has(target)) {
        stack.push(this.#frame(target))
        onStack.add(target)
      }
    }
    return false
  }

  #frame (node: T): WalkFrame<T> {
    return { node, targets: this.#targets(node), next: 0 }
  }
}

interface PromptSource { get (id: string, from: PromptEntry): PromptEntry | undefined }
type ToolIndex = Pick<ReadonlyMap<string, CallableTool>, 'get'>

/** `prompt team.greet` or `tool git_status`. */
export type Lookup = `${'prompt' | 'tool'} ${string}`

export type PartialText = Pick<Prompt, 'id' | 'entry' | 'texts'>

export interface PromptPartial extends LinkedPartial {
  readonly prompt: PartialText
}

export function isPromptPartial (link: Link): link is PromptPartial {
  return link.kind === 'partial' && 'prompt' in link
}

interface Resolution {
  texts: readonly LinkedText[]
  readonly includes: Inclusion[]
  readonly problems: Problem[]
  /** A change of one of these names, found or not, makes the result outdated. */
  readonly lookups: Set<Lookup>
  /** Has the links of this result, so that an older generation never sees links of a newer one. */
  readonly partial: PromptPartial
  isMade: boolean
}

const NONE_UNFOUND: Prompt['unfound'] = new Map()

/** A class: literals with getters get a hidden class for each object (https://v8.dev/docs/hidden-classes). */
class PartialPrompt implements PromptPartial, PartialText {
  readonly kind = 'partial'
  readonly id: string
  readonly entry: PromptEntry
  readonly #texts: () => readonly LinkedText[]

  /** `texts` is called by renders, since names are perhaps not resolved yet. */
  constructor (entry: PromptEntry, texts: () => readonly LinkedText[]) {
    this.id = nameOf(entry)
    this.entry = entry
    this.#texts = texts
  }

  get prompt (): PartialText {
    return this
  }

  get texts (): readonly LinkedText[] {
    return this.#texts()
  }

  get links (): LinkedText['links'] {
    return this.#first.links
  }

  template (explain: boolean): ReturnType<LinkedPartial['template']> {
    return this.#first.template(explain)
  }

  root (outer: LazyNode): LazyNode {
    const { parameters } = this.entry
    return outer instanceof ScopeRoot ? outer.forPartial(parameters?.defaults ?? {}, parameters?.bareNames) : outer
  }

  get #first (): LinkedText {
    return this.#texts()[0] as LinkedText
  }
}

/** Missing names make only the prompts that need them `unlinked`. Results are kept until `forget` is told of a change. */
export class Linker {
  readonly #entries: PromptSource
  readonly #tools: ToolIndex
  readonly #resolutions = new Map<PromptEntry, Resolution>()
  readonly #users = new Map<Lookup, Set<PromptEntry>>()
  #cycles = this.#newCycles()

  constructor (entries: PromptSource, tools: ToolIndex) {
    this.#entries = entries
    this.#tools = tools
  }

  /** Directly or not. Returns the prompts that must be linked anew. */
  async forget (names: Iterable<Lookup>, slices: Slices): Promise<ReadonlySet<PromptEntry>> {
    const affected = new Set<PromptEntry>()
    const queue = [...names]
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      for (const entry of this.#users.get(name) ?? []) {
        if (affected.has(entry)) continue
        affected.add(entry)
        queue.push(`prompt ${entry.id}`)
        if (entry.version !== undefined) queue.push(`prompt ${nameOf(entry)}`)
      }
      if (slices.isDue()) await slices.pause()
    }
    for (const entry of affected) {
      this.drop(entry)
      if (slices.isDue()) await slices.pause()
    }
    return affected
  }

  drop (entry: PromptEntry): void {
    this.#cycles = this.#newCycles()
    for (const name of this.#resolutions.get(entry)?.lookups ?? []) {
      const users = this.#users.get(name)
      users?.delete(entry)
      if (users?.size === 0) this.#users.delete(name)
    }
    this.#resolutions.delete(entry)
  }

  link (entry: PromptEntry, label?: string): Prompt {
    const { id, version } = entry
    if (!isSound(entry)) {
      return {
        id,
        entry,
        version,
        label,
        state: 'invalid',
        revision: entry.revision,
        diagnostics: entry.diagnostics,
        unfound: NONE_UNFOUND,
        texts: [],
        loopTools: []
      }
    }
    const { texts, problems } = this.#resolve(entry)
    const included = this.#closure(entry)
    const { tools: loopTools, problems: loopProblems } = this.#findLoopTools(entry, included)
    const all = [...problems, ...loopProblems, ...included.flatMap(each => this.#problemsOf(each, entry)), ...this.#findCycle(entry)]
    // Written out for one hidden class: with a spread V8 would take ten times as long.
    return {
      id,
      entry,
      version,
      label,
      state: all.length > 0 ? 'unlinked' : 'valid',
      revision: included.length === 0 ? entry.revision : contentHash([entry.revision, ...included.map(each => each.revision).sort()]),
      // Prompts without problems, nearly all, share the collections, which saves memory.
      diagnostics: all.length === 0 ? entry.diagnostics : [...entry.diagnostics, ...all.map(({ diagnostic }) => diagnostic)],
      unfound: all.length === 0 ? NONE_UNFOUND : new Map(all.map(({ diagnostic, wanted }) => [diagnostic, wanted])),
      texts,
      loopTools
    }
  }

  /** A missing name is left out when every chain of inclusions defines it as an inline partial. */
  #problemsOf (partial: PromptEntry, outer: PromptEntry): Problem[] {
    return this.#resolve(partial).problems
      .filter(problem => problem.partial === undefined || !isAlwaysGiven(problem.partial, outer, partial, each => this.#resolve(each).includes))
      .map(problem => ofPartial(nameOf(partial), problem))
  }

  #newCycles (): PartialCycles<PromptEntry> {
    return new PartialCycles(entry => this.#certain(entry).map(each => each.entry))
  }

  #findCycle (entry: PromptEntry): Problem[] {
    const way = this.#cycles.find(entry)
    const at = way && this.#certain(entry).find(each => each.entry === way[1])
    return way === undefined || at === undefined ? [] : [endless(way, at)]
  }

  #certain (entry: PromptEntry): Inclusion[] {
    return this.#resolve(entry).includes.filter(isCertain)
  }

  #findLoopTools (entry: PromptEntry, included: readonly PromptEntry[]): { tools: CallableTool[], problems: Problem[] } {
    const { toolLoop } = entry.chat
    if (toolLoop === undefined) return { tools: [], problems: [] }
    const texts = [entry, ...included].flatMap(each => each.compiled.texts)
    const referred = texts.flatMap(({ references }) => references).filter(reference => !isPartial(reference))
    const names = toolLoop.tools ?? referred.map(reference => reference.name)
    const found = names.map(name => this.#findTool(entry, toFunctionName(name)))
    const problems = (toolLoop.tools ?? []).filter((_, index) => found[index] === undefined).map(unknownLoopTool)
    return { tools: [...new Set(found.filter(tool => tool !== undefined))], problems }
  }

  #resolve (entry: PromptEntry): Resolution {
    const resolution = this.#resolutionOf(entry)
    if (resolution.isMade) return resolution
    resolution.isMade = true
    resolution.texts = entry.compiled.texts.map(({ where, references, template }): LinkedText => {
      const links = references.map(reference => {
        const link = isPartial(reference) ? this.#findPartial(entry, reference, where, resolution.includes) : this.#findTool(entry, reference.name)
        if (typeof link === 'object') return link
        if (!isOptional(reference)) resolution.problems.push(unresolved(entry, reference, link, where))
        return undefined
      })
      return { where, template, links }
    })
    return resolution
  }

  /** The result is perhaps not complete yet, because partials can include each other. */
  #resolutionOf (entry: PromptEntry): Resolution {
    const known = this.#resolutions.get(entry)
    if (known !== undefined) return known
    const resolution: Resolution = {
      texts: [],
      includes: [],
      problems: [],
      lookups: new Set(),
      isMade: false,
      partial: new PartialPrompt(entry, () => resolution.texts)
    }
    this.#resolutions.set(entry, resolution)
    return resolution
  }

  /** First in the same module or extension, then by the whole name. Gives a reason in words when the prompt cannot be a partial. */
  #findPartial (from: PromptEntry, reference: Reference, where: Inclusion['where'], includes: Inclusion[]): Link | string | undefined {
    const [sibling, full] = idsMeant(from.id, reference.name)
    const found = this.#findPrompt(from, sibling) ?? this.#findPrompt(from, full)
    if (found === undefined) return undefined
    if (!isSound(found)) return `partial "${nameOf(found)}" is invalid`
    // A role in a partial of Dotprompt would begin a message, but messages are cut when the outer file is read.
    if (found.definition.form === 'messages' && Object.hasOwn(found.definition.source, 'x-dotprompt')) {
      return `partial "${nameOf(found)}" begins a message by {{role}}, {{history}} or {{media}}, which only the prompt itself can`
    }
    if (found.definition.messages.length !== 1) return `partial "${nameOf(found)}" has more than one message`
    if (found.definition.messages[0]?.kind !== 'text') return `partial "${nameOf(found)}" is no text, but parts`
    includes.push({ entry: found, reference, where })
    return this.#resolutionOf(found).partial
  }

  #findPrompt (from: PromptEntry, id: string): PromptEntry | undefined {
    this.#note(from, `prompt ${id}`)
    const found = this.#entries.get(id, from)
    // `forget` looks for users of the version's own name (`id@7`), so `from` is noted as one.
    if (found?.version !== undefined) this.#note(from, `prompt ${nameOf(found)}`)
    return found
  }

  #findTool (from: PromptEntry, name: string): CallableTool | undefined {
    this.#note(from, `tool ${name}`)
    return this.#tools.get(name)
  }

  #note (user: PromptEntry, name: Lookup): void {
    this.#resolutionOf(user).lookups.add(name)
    const users = this.#users.get(name)
    if (users === undefined) this.#users.set(name, new Set([user]))
    else users.add(user)
  }

  #closure (entry: PromptEntry): PromptEntry[] {
    const found = new Set<PromptEntry>()
    const queue = this.#resolve(entry).includes.map(each => each.entry)
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (found.has(next)) continue
      found.add(next)
      for (const each of this.#resolve(next).includes) queue.push(each.entry)
    }
    found.delete(entry)
    return [...found]
  }
}

function nameOf ({ id, version }: PromptEntry): string {
  return version === undefined ? id : `${id}@${version}`
}
