import type { Json, JsonObject } from '../base/json.ts'
import type { Extension, Generation } from '../registry/generation.ts'
import { contributedId } from '../registry/kinds/extension-kind.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import { LazyMap } from '../registry/lazy-map.ts'
import { type Caller, type NamePatterns, isBelow } from './caller.ts'
import { isVisibleEntry, mayRun } from './rights.ts'
import { compareNames } from '../registry/kinds/environ-names.ts'
import type { EnvironSource, EnvironValue } from '../template/run.ts'

type Patterns = Pick<Caller, 'prompts' | 'environs' | 'runs'>

const views = new WeakMap<Generation, Map<NamePatterns, Generation>>()
const wholes = new WeakMap<Generation, Generation>()

/** Prompts that an allowed prompt includes are rendered with it, whatever their names are. */
export function visibleGeneration (generation: Generation, caller: Patterns): Generation {
  const patterns = caller.prompts ?? caller.environs ?? caller.runs
  if (patterns === undefined) return generation
  const known = views.get(generation) ?? new Map<NamePatterns, Generation>()
  views.set(generation, known)
  const view = known.get(patterns) ?? createView(generation, caller)
  known.set(patterns, view)
  return view
}

/** A render needs the whole, because a visible prompt can include prompts that are hidden from the caller. */
export function wholeGeneration (view: Generation): Generation {
  return wholes.get(view) ?? view
}

function createView (generation: Generation, { prompts: patterns, environs, runs }: Patterns): Generation {
  const { prompts, extensions } = patterns === undefined ? generation : allowedPart(generation, patterns)
  const seen = { prompts: patterns, environs, runs, extensions }
  const definitions = new Map(Array.from(generation.definitions, ([kind, all]) => {
    return [kind, partOf(all, id => mayRun(kind, id, seen))]
  }))
  const releases = patterns === undefined ? generation.releases : partOf(generation.releases, id => patterns.allows(id))
  const view: Generation = {
    ...generation,
    releases,
    prompts,
    extensions,
    definitions,
    findRejected: (kind, name) => isVisibleEntry(kind, name, seen) ? generation.findRejected(kind, name) : undefined
  }
  wholes.set(view, generation)
  return view
}

function allowedPart ({ prompts, extensions }: Generation, patterns: NamePatterns): Pick<Generation, 'prompts' | 'extensions'> {
  return {
    prompts: partOf(prompts, id => patterns.allows(id)),
    extensions: new LazyMap(
      extensions,
      extension => withAllowed(extension, patterns),
      id => allowedPrompts((extensions.get(id) as Extension).definition, patterns).length > 0
    )
  }
}

/** Nothing is copied, so a view of many entries costs nothing until somebody lists them. */
function partOf<T> (all: ReadonlyMap<string, T>, shows: (id: string) => boolean): ReadonlyMap<string, T> {
  return new LazyMap(all, value => value, shows)
}

function withAllowed (extension: Extension, patterns: NamePatterns): Extension {
  const { definition, diagnostics } = extension
  const prompts = allowedPrompts(definition, patterns)
  const hidden = new Set(definition.prompts.filter(prompt => !prompts.includes(prompt)).map(prompt => contributedId(definition, prompt)))
  const contributes = { ...definition.source['contributes'] as JsonObject, prompts: prompts as readonly Json[] }
  return {
    ...extension,
    definition: { ...definition, source: { ...definition.source, contributes }, prompts },
    diagnostics: diagnostics.filter(({ subject }) => subject?.kind !== promptKind.name || !hidden.has(subject.id))
  }
}

function allowedPrompts (definition: Extension['definition'], patterns: NamePatterns): readonly JsonObject[] {
  return definition.prompts.filter(prompt => patterns.allows(contributedId(definition, prompt)))
}

export interface EnvironNameList extends Iterable<string> {
  page (prefix: string, after: string, limit: number): readonly string[]
}

export interface VisibleEnvirons extends EnvironSource {
  readonly index: EnvironNameList
}

export function visibleEnvirons (environs: VisibleEnvirons, { environs: patterns }: Pick<Caller, 'environs'>): VisibleEnvirons {
  return patterns === undefined ? environs : new EnvironView(environs, patterns)
}

const PAGE = 1000

/** Templates read every shared variable through this view: by a fixed or computed path, by iteration, or in a partial. */
class EnvironView implements VisibleEnvirons {
  readonly index: EnvironNameList
  readonly #all: VisibleEnvirons
  readonly #patterns: NamePatterns

  constructor (all: VisibleEnvirons, patterns: NamePatterns) {
    this.#all = all
    this.#patterns = patterns
    this.index = {
      page: (prefix, after, limit) => this.#page(prefix, after, limit),
      [Symbol.iterator]: () => this.#names()
    }
  }

  has (name: string): boolean {
    return this.#patterns.allows(name) && this.#all.has(name)
  }

  hasBelow (name: string): boolean {
    if (this.#patterns.allowsBelow(name)) return this.#all.hasBelow(name)
    return this.#branchesBelow(name).some(branch => this.#all.hasBelow(branch)) || this.#namesAllowedBelow(name).length > 0
  }

  /** The request of a caller is not allowed to give a value of its own for a name that is hidden from it. */
  hides (name: string): boolean {
    return (this.#all.has(name) || this.#all.hasBelow(name)) && !this.has(name) && !this.hasBelow(name)
  }

  namesBelow (name: string, limit: number): readonly string[] | undefined {
    if (this.#patterns.allowsBelow(name)) return this.#all.namesBelow(name, limit)
    const found = new Set(this.#namesAllowedBelow(name))
    for (const branch of this.#branchesBelow(name)) {
      const names = this.#all.namesBelow(branch, limit)
      if (names === undefined) return undefined
      for (const each of names) found.add(each)
    }
    return found.size > limit ? undefined : [...found].sort()
  }

  segmentsBelow (name: string): readonly string[] {
    if (this.#patterns.allowsBelow(name)) return this.#all.segmentsBelow(name)
    const start = name === '' ? 0 : name.length + 1
    const leading = [...this.#branchesBelow(name).filter(branch => this.#all.hasBelow(branch)), ...this.#namesAllowedBelow(name)]
    return [...new Set(leading.map(each => each.slice(start).split('.', 1)[0] as string))].sort()
  }

  cached (name: string): EnvironValue | undefined {
    return this.#patterns.allows(name) ? this.#all.cached(name) : undefined
  }

  fetch (names: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, EnvironValue>> {
    return this.#all.fetch(names.filter(name => this.#patterns.allows(name)), signal)
  }

  #branchesBelow (name: string): string[] {
    return this.#patterns.branches.filter(branch => isBelow(branch, name))
  }

  #namesAllowedBelow (name: string): string[] {
    return [...this.#patterns.names].filter(each => isBelow(each, name) && this.#all.has(each))
  }

  #page (prefix: string, after: string, limit: number): readonly string[] {
    const found = new Set([...this.#patterns.names].filter(name => name.startsWith(prefix) && compareNames(name, after) > 0 && this.#all.has(name)))
    for (const branch of this.#patterns.branches) {
      const start = branch === '' ? '' : `${branch}.`
      const both = start.startsWith(prefix) ? start : prefix.startsWith(start) ? prefix : undefined
      if (both !== undefined) for (const name of this.#all.index.page(both, after, limit)) found.add(name)
    }
    return [...found].sort(compareNames).slice(0, limit)
  }

  * #names (): Generator<string> {
    let page = this.#page('', '', PAGE)
    while (page.length > 0) {
      yield * page
      page = this.#page('', page.at(-1) as string, PAGE)
    }
  }
}
