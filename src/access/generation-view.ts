import type { Json, JsonObject } from '../base/json.ts'
import type { Extension, Generation } from '../registry/generation.ts'
import { contributedId } from '../registry/kinds/extension-kind.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import { LazyMap } from '../registry/lazy-map.ts'
import type { Caller, NamePatterns } from './caller.ts'
import { isVisibleEntry, mayRun } from './rights.ts'

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
