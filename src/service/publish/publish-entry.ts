import { type Caller } from '../../access/caller.ts'
import { mayPublish } from '../../access/may-publish.ts'
import { entryChanged, entryForbidden, entryInvalid, entryMissing, entryUnstorable, storeReadOnly, storeRefused, storeUnwritable } from '../../base/errors.ts'
import { contentTag } from '../../registry/entries/content-tag.ts'
import { inWords } from '../../registry/diagnose/diagnostic.ts'
import { placed, type PlacedDiagnostic } from '../../registry/diagnose/diagnostic-table.ts'
import { type Generation } from '../../registry/generation.ts'
import { type Kind } from '../../registry/kind.ts'
import { type Registry } from '../../registry/registry.ts'
import { kindPrefix, pathToKey, toPath } from '../../store/keys.ts'
import { type Expected, type Store, StoreError, type StoredValue, type WriteRefusal } from '../../store/store.ts'
import { type CheckEntry } from './check-entry.ts'

/** How often a change is tried anew when others write the same key at the same moment. */
const MAX_ATTEMPTS = 5

/** What must be stored for a change to be made; tags are those of `contentTag`. Left out: whatever. */
export interface Precondition {
  /** One of these, or `any` content. */
  readonly matches?: readonly string[] | 'any'
  /** None of these, or none for `any`. */
  readonly noneMatches?: readonly string[] | 'any'
}

/** Which entry is to be changed. */
export interface EntryChange {
  readonly caller: Caller
  readonly kind: Kind
  /** Dotted, or with `:`. */
  readonly id: string
  readonly precondition: Precondition
}

/** An entry and what it is checked against. */
export interface EntryPublication extends EntryChange {
  readonly generation: Generation
  /** As it is to be stored. */
  readonly text: string
}

/** An entry that was stored. */
export interface PublishedEntry {
  readonly id: string
  readonly key: string
  readonly tag: string | undefined
  readonly isNew: boolean
  /** What was noticed; no errors. */
  readonly diagnostics: readonly PlacedDiagnostic[]
}

/** What publishing needs of the rest of the service. */
export interface PublisherOptions {
  readonly store: Store
  readonly registry: Pick<Registry, 'follow'>
  readonly checkEntry: CheckEntry
  readonly keyPrefix: string
}

/** Publishing for programs that reach neither the Redis nor the folder. */
export interface Publisher {
  /**
   * Stores an entry that the registry will accept; when it resolves, this process serves it.
   * @throws ENTRY_FORBIDDEN, ENTRY_INVALID, ENTRY_CHANGED, STORE_READ_ONLY, STORE_UNAVAILABLE
   */
  publish (publication: EntryPublication): Promise<PublishedEntry>
  /**
   * Removes an entry; when it resolves, this process no longer serves it.
   * @throws ENTRY_FORBIDDEN, ENTRY_NOT_FOUND, ENTRY_CHANGED, STORE_READ_ONLY, STORE_UNAVAILABLE
   */
  withdraw (change: EntryChange): Promise<void>
}

export function createPublisher ({ store, registry, checkEntry, keyPrefix }: PublisherOptions): Publisher {
  function address ({ caller, kind, id }: EntryChange): { path: string, key: string } {
    const path = toPath(id)
    if (!mayPublish(kind, path, caller)) throw entryForbidden(caller.name, kind.key, path)
    return { path, key: pathToKey(path, kindPrefix(keyPrefix, kind.key)) }
  }

  /**
   * Reads, compares with what the caller expects, and changes only what was read: a writer that asks nobody, such as
   * redis-cli, may come in between, and then all begins anew.
   */
  async function change<T> ({ kind, precondition }: EntryChange, key: string, make: (expected: Expected | undefined) => Promise<T | WriteRefusal>): Promise<T> {
    let stored: StoredValue = { kind: 'missing' }
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      if (!isUnconditional(precondition)) {
        [stored = { kind: 'missing' }] = await asked(store.read([key]))
        if (!holds(precondition, kind, stored)) throw changed(kind, key, stored)
      }
      const outcome = await asked(make(isUnconditional(precondition) ? undefined : expectation(stored)))
      if (outcome === 'impossible') throw entryUnstorable(key)
      if (outcome === 'read-only') throw storeReadOnly(store.variant)
      if (isRefused(outcome)) throw storeRefused(outcome.reason)
      if (outcome !== 'conflict') return outcome as T
    }
    throw changed(kind, key, stored)
  }

  return {
    async publish (publication) {
      const { generation, caller, kind, text } = publication
      const { path, key } = address(publication)
      const diagnostics = await checkEntry(generation, { kind, id: path, text }, caller)
      const errors = diagnostics.filter(({ severity }) => severity === 'error')
      if (errors.length > 0) throw entryInvalid(path, errors.map(inWords), diagnostics.map(placed))
      const outcome = await change(publication, key, expected => store.write(key, text, expected))
      await registry.follow([key])
      return { id: path, key, tag: contentTag(kind, text), isNew: outcome === 'created', diagnostics: diagnostics.map(placed) }
    },
    async withdraw (withdrawal) {
      const { path, key } = address(withdrawal)
      const outcome = await change(withdrawal, key, expected => store.remove(key, expected))
      if (outcome === 'missing') throw entryMissing(path, key)
      await registry.follow([key])
    }
  }
}

function isUnconditional ({ matches, noneMatches }: Precondition): boolean {
  return matches === undefined && noneMatches === undefined
}

function holds ({ matches, noneMatches }: Precondition, kind: Kind, stored: StoredValue): boolean {
  const isStored = stored.kind !== 'missing'
  const tag = tagOf(kind, stored)
  const isAmong = (tags: readonly string[] | 'any') => tags === 'any' ? isStored : tag !== undefined && tags.includes(tag)
  return (matches === undefined || isAmong(matches)) && (noneMatches === undefined || !isAmong(noneMatches))
}

/** What cannot be read cannot be compared when it is changed. */
function expectation (stored: StoredValue): Expected | undefined {
  return stored.kind === 'bad' ? undefined : stored
}

function isRefused (outcome: unknown): outcome is Extract<WriteRefusal, { kind: 'refused' }> {
  return typeof outcome === 'object' && outcome !== null && 'kind' in outcome && outcome.kind === 'refused'
}

function tagOf (kind: Kind, stored: StoredValue): string | undefined {
  return stored.kind === 'text' ? contentTag(kind, stored.text) : undefined
}

function changed (kind: Kind, key: string, stored: StoredValue): Error {
  const problem = stored.kind === 'missing' ? 'nothing is stored there' : tagOf(kind, stored) === undefined ? 'what is stored there cannot be read' : undefined
  return entryChanged(key, tagOf(kind, stored), problem)
}

async function asked<T> (answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof StoreError) throw storeUnwritable(error.message)
    throw error
  }
}
