import { contentHash } from '../../base/json.ts'
import type { Slices } from '../../runtime/event-loop.ts'
import type { Link, LinkedPartial, Reference } from '../../template/language.ts'
import { ScopeRoot } from '../../template/scope.ts'
import type { LazyNode } from '../../template/value.ts'
import type { CallableTool, LinkedText, Prompt } from '../generation.ts'
import { isSound, type PromptEntry } from '../kinds/prompt-kind.ts'
import { endless, type Inclusion, isAlwaysGiven, isCertain, ofPartial, type Problem, toFunctionName, unknownLoopTool, unresolved } from './link-problems.ts'
import { idsMeant, isOptional, isPartial } from './references.ts'

/** One step of the walk: a node, the nodes that it includes, and the index of the one to visit next. */
interface WalkFrame<T> { readonly node: T, readonly targets: readonly T[], next: number }

/**
 * Finds the endless nodes of a graph: those from which a way leads into a circle of nodes that include each other. Here the nodes are prompts, and only
 * inclusions that happen in every render count. So a render of an endless prompt would never end.
 */
class PartialCycles<T> {
  readonly #targets: (node: T) => readonly T[]
  /** The nodes looked at so far, each with whether it is endless. */
  readonly #endless = new Map<T, boolean>()

  /** @param targets the nodes that a node includes in any case, whatever the values are */
  constructor (targets: (node: T) => readonly T[]) {
    this.#targets = targets
  }

  /** The way from a node into a circle of nodes, up to the node that closes the circle; `undefined` when no way leads into a circle. */
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

  /**
   * Whether a node is endless. Each node is walked once, however often this is asked. The walk does not recurse, because a chain of partials can be as
   * long as the registry.
   */
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

/** Looks up prompts by id. @param from the prompt in whose text the id stands */
interface PromptSource { get (id: string, from: PromptEntry): PromptEntry | undefined }
type ToolIndex = Pick<ReadonlyMap<string, CallableTool>, 'get'>

/** A name that was looked up to resolve a prompt: `prompt team.greet` or `tool git_status`. */
export type Lookup = `${'prompt' | 'tool'} ${string}`

/** The members that a prompt has when it is used as a partial. */
export type PartialText = Pick<Prompt, 'id' | 'entry' | 'texts'>

/** A partial (an included prompt) that the registry has resolved, with the prompt or version that it is. */
export interface PromptPartial extends LinkedPartial {
  readonly prompt: PartialText
}

/** Whether a link leads to a partial that the registry has resolved. */
export function isPromptPartial (link: Link): link is PromptPartial {
  return link.kind === 'partial' && 'prompt' in link
}

/** The result of resolving the names in a prompt: its links, and the problems of the names that could not be resolved. */
interface Resolution {
  texts: readonly LinkedText[]
  readonly includes: Inclusion[]
  readonly problems: Problem[]
  /** Every name that the result depends on, found or not. A change of one of them makes the result outdated. */
  readonly lookups: Set<Lookup>
  /** The prompt as a partial, to which other prompts link. It has the links of this result, so that an older generation never sees links of a newer one. */
  readonly partial: PromptPartial
  isMade: boolean
}

const NONE_UNFOUND: Prompt['unfound'] = new Map()

/**
 * A prompt in its role as a partial. It is a class, since an object literal with a getter gives every object a hidden class of its own
 * (https://v8.dev/docs/hidden-classes). There would be several such classes for each prompt.
 */
class PartialPrompt implements PromptPartial, PartialText {
  readonly kind = 'partial'
  readonly id: string
  readonly entry: PromptEntry
  readonly #texts: () => readonly LinkedText[]

  /** @param texts gives the texts with their names resolved. It is called when a render needs them, since the names are perhaps not resolved yet. */
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

/**
 * Resolves the names in prompts to other prompts and tools. A missing tool or partial makes the prompts that need it `unlinked`, and leaves all
 * others alone. The linker remembers each result until `forget` is told of a change that concerns it.
 */
export class Linker {
  readonly #entries: PromptSource
  readonly #tools: ToolIndex
  readonly #resolutions = new Map<PromptEntry, Resolution>()
  readonly #users = new Map<Lookup, Set<PromptEntry>>()
  /** The search for prompts that include each other without end. It is made anew when a prompt changes. */
  #cycles = this.#newCycles()

  /** @param entries finds prompts by id @param tools finds tools by function name */
  constructor (entries: PromptSource, tools: ToolIndex) {
    this.#entries = entries
    this.#tools = tools
  }

  /** Forgets every result that depends on one of the names, directly or not. @returns the prompts that must be linked anew */
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

  /** Forgets the result for a prompt that is no longer served. */
  drop (entry: PromptEntry): void {
    this.#cycles = this.#newCycles()
    for (const name of this.#resolutions.get(entry)?.lookups ?? []) {
      const users = this.#users.get(name)
      users?.delete(entry)
      if (users?.size === 0) this.#users.delete(name)
    }
    this.#resolutions.delete(entry)
  }

  /** A prompt with its names resolved, or with the reasons why it cannot be rendered. @param label the label under which a version is served */
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
    // The object is written out, so that all prompts have one hidden class: with a spread V8 would take ten times as long.
    return {
      id,
      entry,
      version,
      label,
      state: all.length > 0 ? 'unlinked' : 'valid',
      revision: included.length === 0 ? entry.revision : contentHash([entry.revision, ...included.map(each => each.revision).sort()]),
      // Nearly all prompts have no problem. These share the collections, which saves memory: a prompt with labels is linked several times.
      diagnostics: all.length === 0 ? entry.diagnostics : [...entry.diagnostics, ...all.map(({ diagnostic }) => diagnostic)],
      unfound: all.length === 0 ? NONE_UNFOUND : new Map(all.map(({ diagnostic, wanted }) => [diagnostic, wanted])),
      texts,
      loopTools
    }
  }

  /**
   * The problems of names in a partial, turned into problems of the prompt at the top, which includes the partial. A missing name is left out when
   * every chain of inclusions from the top to the partial defines it as an inline partial.
   */
  #problemsOf (partial: PromptEntry, outer: PromptEntry): Problem[] {
    return this.#resolve(partial).problems
      .filter(problem => problem.partial === undefined || !isAlwaysGiven(problem.partial, outer, partial, each => this.#resolve(each).includes))
      .map(problem => ofPartial(nameOf(partial), problem))
  }

  #newCycles (): PartialCycles<PromptEntry> {
    return new PartialCycles(entry => this.#certain(entry).map(each => each.entry))
  }

  /** The problem of a prompt whose partials include each other without end, as far as that can be told without rendering it; empty when there is none. */
  #findCycle (entry: PromptEntry): Problem[] {
    const way = this.#cycles.find(entry)
    const at = way && this.#certain(entry).find(each => each.entry === way[1])
    return way === undefined || at === undefined ? [] : [endless(way, at)]
  }

  #certain (entry: PromptEntry): Inclusion[] {
    return this.#resolve(entry).includes.filter(isCertain)
  }

  /** The tools that the prompt's model is allowed to call: those that the prompt lists for the model, or otherwise all that its templates refer to. */
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

  /** The remembered result for a prompt, or a new, empty result. A result is perhaps not complete yet, because partials can include each other. */
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

  /**
   * Finds a partial: first a prompt of the same module or extension, then a prompt whose id is the whole name.
   * @returns the link to it; the reason, in words, when the found prompt cannot be used as a partial; `undefined` when no prompt is found
   */
  #findPartial (from: PromptEntry, reference: Reference, where: Inclusion['where'], includes: Inclusion[]): Link | string | undefined {
    const [sibling, full] = idsMeant(from.id, reference.name)
    const found = this.#findPrompt(from, sibling) ?? this.#findPrompt(from, full)
    if (found === undefined) return undefined
    if (!isSound(found)) return `partial "${nameOf(found)}" is invalid`
    // A role in a partial of Dotprompt would begin a message of the prompt, whose messages are cut when its own file is read.
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
    // When a version has to be linked anew, `forget` looks for the users of the version's own name (`id@7`). So `from` is noted as one of them.
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

  /** Every prompt that a prompt includes, directly or not, without the prompt itself. */
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

/** The name of a partial: the prompt's id, with the number of the version for a version. */
function nameOf ({ id, version }: PromptEntry): string {
  return version === undefined ? id : `${id}@${version}`
}
