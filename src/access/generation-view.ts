import type { Json, JsonObject } from '../base/json.ts'
import type { Extension, Generation, Prompt } from '../registry/generation.ts'
import { contributedId } from '../registry/kinds/extension-kind.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import type { Caller, NamePatterns } from './caller.ts'
import { isVisibleEntry, mayRun } from './rights.ts'

/** Nothing is copied, so a view of many entries costs nothing until somebody lists them. */
class MapView<T> implements ReadonlyMap<string, T> {
  readonly #all: ReadonlyMap<string, T>
  readonly #show: (value: T, key: string) => T | undefined

  constructor (all: ReadonlyMap<string, T>, show: (value: T, key: string) => T | undefined) {
    this.#all = all
    this.#show = show
  }

  get (key: string): T | undefined {
    const value = this.#all.get(key)
    return value === undefined ? undefined : this.#show(value, key)
  }

  has (key: string): boolean {
    return this.get(key) !== undefined
  }

  get size (): number {
    return [...this.entries()].length
  }

  * entries (): MapIterator<[string, T]> {
    for (const [key, value] of this.#all) {
      const shown = this.#show(value, key)
      if (shown !== undefined) yield [key, shown]
    }
  }

  * keys (): MapIterator<string> {
    for (const [key] of this.entries()) yield key
  }

  * values (): MapIterator<T> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator] (): MapIterator<[string, T]> {
    return this.entries()
  }

  forEach (visit: (value: T, key: string, map: ReadonlyMap<string, T>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this)
  }
}

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
    return [kind, new MapView(all, (definition, id) => mayRun(kind, id, seen) ? definition : undefined)]
  }))
  const releases = patterns === undefined ? generation.releases : new MapView(generation.releases, (release, id) => patterns.allows(id) ? release : undefined)
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
    prompts: new MapView<Prompt>(prompts, (prompt, id) => patterns.allows(id) ? prompt : undefined),
    extensions: new MapView<Extension>(extensions, extension => withAllowed(extension, patterns))
  }
}

function withAllowed (extension: Extension, patterns: NamePatterns): Extension | undefined {
  const { definition, diagnostics } = extension
  const idOf = (prompt: JsonObject) => contributedId(definition, prompt)
  const prompts = definition.prompts.filter(prompt => patterns.allows(idOf(prompt)))
  if (prompts.length === 0) return undefined
  const hidden = new Set(definition.prompts.filter(prompt => !prompts.includes(prompt)).map(idOf))
  const contributes = { ...definition.source['contributes'] as JsonObject, prompts: prompts as readonly Json[] }
  return {
    ...extension,
    definition: { ...definition, source: { ...definition.source, contributes }, prompts },
    diagnostics: diagnostics.filter(({ subject }) => subject?.kind !== promptKind.name || !hidden.has(subject.id))
  }
}
