import { storeUnavailable, versionNotFound } from '../base/errors.ts'
import { describeDiagnostic, RejectedEntry } from '../registry/diagnostic.ts'
import { type Generation, type Prompt } from '../registry/generation.ts'
import { type PromptEntry } from '../registry/kinds/prompt-kind.ts'
import { type TemplateCache } from '../registry/entries/template-cache.ts'
import { versionKey } from '../registry/kinds/release-kind.ts'
import { readReference } from '../registry/link/references.ts'
import { Linker } from '../registry/link/link-prompts.ts'
import { type PromptRelease } from '../registry/generation.ts'
import { parseVersion } from '../registry/link/versions.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { type Store, StoreError, type StoredValue } from '../store/store.ts'

const MAX_PINNED = 100

export type Pinned = ReadonlyMap<string, PromptEntry>

/** Reads on demand: only versions that have a label are kept in memory. */
export class VersionReader {
  readonly #store: Pick<Store, 'read'>
  readonly #keyPrefix: string
  readonly #cache: TemplateCache

  constructor (store: Pick<Store, 'read'>, keyPrefix: string, cache: TemplateCache) {
    this.#store = store
    this.#keyPrefix = keyPrefix
    this.#cache = cache
  }

  /** @throws STORE_UNAVAILABLE */
  async stored (id: string, version: number): Promise<StoredValue> {
    try {
      const [stored = { kind: 'missing' }] = await this.#store.read([versionKey(this.#keyPrefix, id, version)])
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
    const pinned = await this.pinned(generation, [entry])
    return new Linker(name => generation.names.find(name, label) ?? pinned.get(name), generation.functions).link(entry)
  }

  /** Versions that the generation does not have; those that cannot be read are left out. @throws STORE_UNAVAILABLE */
  async pinned ({ names }: Generation, entries: readonly PromptEntry[]): Promise<Pinned> {
    const found = new Map<string, PromptEntry>()
    const queue = [...entries]
    for (const { pins } of queue) {
      for (const name of pins) {
        const { id = '', version: n } = readReference(name) ?? {}
        const isRecorded = names.labelled.get(id)?.record.record.versions.some(version => version.n === n)
        if (found.has(name) || found.size >= MAX_PINNED || names.find(name) !== undefined || isRecorded !== true) continue
        const pinned = await this.#parse(id, n as number).catch(ifReadable)
        if (pinned === undefined) continue
        found.set(name, pinned)
        queue.push(pinned)
      }
    }
    return found
  }

  async #parse (id: string, version: number): Promise<PromptEntry> {
    return await parseVersion(id, version, await this.stored(id, version), this.#cache, createSlices())
  }
}

function ifReadable (error: unknown): undefined {
  if (!(error instanceof RejectedEntry)) throw error
}
