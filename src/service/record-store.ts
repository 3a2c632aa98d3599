import { entryChanged, entryUnstorable, releasesUnreadable, storeReadOnly, storeRefused, storeUnwritable } from '../base/errors.ts'
import { contentHash } from '../base/json.ts'
import type { Log } from '../runtime/telemetry.ts'
import { inWords, RejectedEntry } from '../registry/diagnostic.ts'
import { contentTag, decodeJson, type Kind } from '../registry/kinds/entry-kind.ts'
import { releaseKind } from '../registry/kinds/release-kind.ts'
import { NO_RELEASES, parseReleaseRecord, type ReleaseRecord, stringifyRecord } from '../registry/kinds/release-record.ts'
import {
  type Expected, isWithheld, kindPrefix, pathToKey, type RemoveOutcome, type Store, type StoredValue, StoreError, type WriteOutcome
} from '../store/store.ts'

/** The record of a prompt's releases (its versions and labels), as it was read from the store. */
export interface ReadRecord {
  readonly key: string
  readonly record: ReleaseRecord
  /** The record's ETag; `undefined` if no record is stored. */
  readonly tag: string | undefined
  /** The stored value that a change of the record must still find in the store (compare-and-set). */
  readonly expected: Expected
}

/** Reads and writes the records of prompts' versions and labels. A record is one key in the store, which is changed by compare-and-set. */
export class RecordStore {
  readonly #store: Store
  readonly #prefix: string

  constructor (store: Store, keyPrefix: string) {
    this.#store = store
    this.#prefix = kindPrefix(keyPrefix, releaseKind.key)
  }

  /** Reads the record of a prompt. @param id the dotted id of the prompt @throws RELEASES_UNREADABLE, STORE_UNAVAILABLE */
  async read (id: string): Promise<ReadRecord> {
    const key = pathToKey(id, this.#prefix)
    const [stored = { kind: 'missing' } as StoredValue] = await asked(this.#store.read([key]))
    if (stored.kind === 'missing' || isWithheld(stored)) return { key, record: NO_RELEASES, tag: undefined, expected: { kind: 'missing' } }
    if (stored.kind === 'bad') throw releasesUnreadable(key, stored.reason)
    try {
      const { value } = decodeJson(stored.text)
      return { key, record: parseReleaseRecord(value), tag: contentHash(value), expected: stored }
    } catch (error) {
      if (error instanceof RejectedEntry) throw releasesUnreadable(key, error.diagnostics.map(inWords).join('; '))
      throw error
    }
  }

  /**
   * Stores a record, if the stored one is still the one that was read.
   * @returns the new record's ETag; `undefined` if another writer has changed the record in the meantime
   * @throws STORE_READ_ONLY, STORE_UNAVAILABLE
   */
  async write ({ key, expected }: ReadRecord, record: ReleaseRecord): Promise<string | undefined> {
    const text = stringifyRecord(record)
    const outcome = await asked(this.#store.write(key, text, expected))
    return checkOutcome(outcome, key, this.#store.variant) ? contentHash(decodeJson(text).value) : undefined
  }
}

/**
 * Turns an unsuccessful write or removal into an error.
 * @returns false if another writer has changed the value in the meantime, else true
 * @throws ENTRY_INVALID, STORE_READ_ONLY, STORE_UNAVAILABLE
 */
export function checkOutcome (outcome: WriteOutcome | RemoveOutcome, key: string, variant: string): boolean {
  if (outcome === 'impossible') throw entryUnstorable(key)
  if (outcome === 'read-only') throw storeReadOnly(variant)
  if (typeof outcome === 'object') throw outcome.kind === 'kept' ? storeReadOnly(variant, outcome.reason) : storeRefused(outcome.reason)
  return outcome !== 'conflict'
}

/** Waits for a result of the store, and turns an error of the store into one for callers. @throws STORE_UNAVAILABLE */
export async function asked<T> (answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof StoreError) throw storeUnwritable(error.message)
    throw error
  }
}

/**
 * The condition under which a stored value may be changed, from the headers `If-Match` and `If-None-Match`: it compares the value's tag, a
 * hash made by `contentTag`. A member that is left out sets no condition.
 */
export interface Precondition {
  /** The stored value must have one of these tags (hashes of values); `any`: there must be a stored value. */
  readonly matches?: readonly string[] | 'any'
  /** The stored value must have none of these tags (hashes of values); `any`: there must be no stored value. */
  readonly noneMatches?: readonly string[] | 'any'
}

export function isUnconditional ({ matches, noneMatches }: Precondition): boolean {
  return matches === undefined && noneMatches === undefined
}

/**
 * Whether a stored value meets a precondition.
 * @param tag the tag (hash) of the stored value; `undefined` if the value cannot be read
 * @param isStored whether there is a stored value
 */
export function holdsFor ({ matches, noneMatches }: Precondition, tag: string | undefined, isStored: boolean): boolean {
  const isAmong = (tags: readonly string[] | 'any') => tags === 'any' ? isStored : tag !== undefined && tags.includes(tag)
  return (matches === undefined || isAmong(matches)) && (noneMatches === undefined || !isAmong(noneMatches))
}

export function holds (precondition: Precondition, kind: Kind, stored: StoredValue): boolean {
  return holdsFor(precondition, tagOf(kind, stored), stored.kind !== 'missing')
}

/** The stored value that a write must still find in the store (compare-and-set); `undefined` if that value cannot be read: then the write has no condition. */
export function expectation (stored: StoredValue): Expected | undefined {
  return stored.kind === 'bad' ? undefined : stored
}

/** The error for a change whose precondition is not met, since somebody else has changed the entry. */
export function changedSince (kind: Kind, key: string, stored: StoredValue): Error {
  const problem = stored.kind === 'missing' ? 'nothing is stored there' : tagOf(kind, stored) === undefined ? 'what is stored there cannot be read' : undefined
  return entryChanged(key, tagOf(kind, stored), problem)
}

function tagOf (kind: Kind, stored: StoredValue): string | undefined {
  return stored.kind === 'text' ? contentTag(kind, stored.text) : undefined
}

/** One change of a registered entry, as the audit log records it. */
interface AuditedChange {
  readonly action: 'publish' | 'withdraw' | 'freeze' | 'restore' | 'move label' | 'remove label' | 'remove version'
  /** The kind of the entry, named as in the store's keys: `templates` for prompts. */
  readonly kind: string
  readonly id: string
  readonly version?: number | undefined
  readonly label?: string | undefined
  /**
   * What the moved label stood for before the change: a version, or versions with weights. `to` is what it stands for now; null when it was
   * removed. For a published prompt, `from` is the version that was served before.
   */
  readonly from?: unknown
  readonly to?: unknown
  readonly note?: string | undefined
  /** The name of the caller's token; empty when the service asks for no tokens. */
  readonly by: string
  readonly requestId: string
}

/** Writes a log line about one change of an entry: who has changed what. */
export type Audit = (change: AuditedChange) => void

/** Makes the function that writes changes to the log. @param onLabelMoved called with each label that was moved or removed */
export function createAudit (log: Log, onLabelMoved?: (label: string) => void): Audit {
  return change => {
    log.info({ ...change }, 'audit')
    if (change.label !== undefined) onLabelMoved?.(change.label)
  }
}
