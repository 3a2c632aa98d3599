import { wholeGeneration } from '../access/generation-view.ts'
import { storeUnavailable, versionNotFound } from '../base/errors.ts'
import { describeDiagnostic, RejectedEntry } from '../registry/diagnostic.ts'
import { type CallableTool, type Generation, type Prompt } from '../registry/generation.ts'
import { type PromptEntry } from '../registry/kinds/prompt-kind.ts'
import { type TemplateCache } from '../registry/entries/template-cache.ts'
import { versionKey } from '../registry/kinds/release-kind.ts'
import { idsMeant, isPartial, type PromptReference, readReference } from '../registry/link/references.ts'
import { Linker } from '../registry/link/link-prompts.ts'
import { heaviest } from '../registry/link/release-linker.ts'
import { type PromptRelease } from '../registry/generation.ts'
import { parseVersion } from '../registry/link/version-cache.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { type Store, StoreError, type StoredValue } from '../store/store.ts'

const MAX_PINNED = 100

export type Pinned = ReadonlyMap<string, PromptEntry>

interface VersionReaderOptions {
  readonly store: Pick<Store, 'read'>
  readonly keyPrefix: string
  readonly cache: TemplateCache
}

/** Reads on demand: only versions that have a label are kept in memory. */
export class VersionReader {
  readonly #options: VersionReaderOptions

  constructor (options: VersionReaderOptions) {
    this.#options = options
  }

  /** @throws STORE_UNAVAILABLE */
  async stored (id: string, version: number): Promise<StoredValue> {
    const { store, keyPrefix } = this.#options
    try {
      const [stored = { kind: 'missing' }] = await store.read([versionKey(keyPrefix, id, version)])
      return stored
    } catch (error) {
      if (error instanceof StoreError) throw storeUnavailable(error.message)
      throw error
    }
  }

  /** Partials that have `label` are taken under it. @default as served without a label @throws VERSION_NOT_FOUND, STORE_UNAVAILABLE */
  async read (generation: Generation, { id, record }: Pick<PromptRelease, 'id' | 'record'>, version: number, label?: string): Promise<Prompt> {
    const labels = [...record.labels.keys()]
    if (!record.versions.some(({ n }) => n === version)) throw versionNotFound(id, version, labels)
    try {
      const entry = await this.#parse(id, version)
      return { ...await this.link(generation, entry, label), version }
    } catch (error) {
      if (error instanceof RejectedEntry) throw versionNotFound(id, version, labels, error.diagnostics.map(describeDiagnostic).join('; '))
      throw error
    }
  }

  async link (generation: Generation, entry: PromptEntry, label?: string): Promise<Prompt> {
    const { releases, everyPrompt } = wholeGeneration(generation)
    const pinned = await this.pinned(generation, [entry])
    const labelled = (id: string) => label === undefined ? undefined : heaviest(releases.get(id)?.labels.get(label))?.prompt.entry
    return new Linker({ get: id => labelled(id) ?? everyPrompt.get(id)?.entry ?? pinned.get(id) }, callableTools(generation)).link(entry)
  }

  /** Versions that cannot be read are left out. @throws STORE_UNAVAILABLE */
  async pinned (generation: Generation, entries: readonly PromptEntry[]): Promise<Pinned> {
    const whole = wholeGeneration(generation)
    const found = new Map<string, PromptEntry>()
    const queue = [...entries]
    for (const entry of queue) {
      for (const name of namesPinned(entry)) {
        if (found.has(name) || found.size >= MAX_PINNED || whole.everyPrompt.has(name)) continue
        const pinned = await this.#find(whole, readReference(name))
        if (pinned === undefined) continue
        found.set(name, pinned)
        queue.push(pinned)
      }
    }
    return found
  }

  async #find ({ releases }: Generation, reference: PromptReference | undefined): Promise<PromptEntry | undefined> {
    const release = reference && releases.get(reference.id)
    if (release === undefined || reference === undefined) return undefined
    if (reference.label !== undefined) return heaviest(release.labels.get(reference.label))?.prompt.entry
    if (!release.record.versions.some(({ n }) => n === reference.version)) return undefined
    try {
      return await this.#parse(release.id, reference.version as number)
    } catch (error) {
      if (error instanceof RejectedEntry) return undefined
      throw error
    }
  }

  async #parse (id: string, version: number): Promise<PromptEntry> {
    return await parseVersion(id, version, await this.stored(id, version), this.#options.cache, createSlices())
  }
}

const callables = new WeakMap<Generation['tools'], ReadonlyMap<string, CallableTool>>()

export function callableTools ({ tools }: Generation): ReadonlyMap<string, CallableTool> {
  const known = callables.get(tools)
  if (known !== undefined) return known
  const found = Array.from(tools.values(), ({ callable }) => callable).filter(callable => callable !== undefined)
  const byName = new Map(found.map(callable => [callable.name, callable]))
  callables.set(tools, byName)
  return byName
}

function namesPinned ({ id, compiled }: PromptEntry): readonly string[] {
  return compiled.texts.flatMap(({ references }) => references)
    .filter(reference => reference.name.includes('@') && isPartial(reference))
    .flatMap(({ name }) => idsMeant(id, name))
}
