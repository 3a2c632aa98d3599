import { entryUnstorable, releasesUnreadable, storeReadOnly, storeRefused, storeUnwritable } from '../../base/errors.ts'
import { contentHash } from '../../base/json.ts'
import { inWords, RejectedEntry } from '../../registry/diagnostic/diagnostic.ts'
import { decodeJson } from '../../registry/entries/decode-value.ts'
import { releaseKind } from '../../registry/kinds/release/release-kind.ts'
import { NO_RELEASES, parseReleaseRecord, type ReleaseRecord, stringifyRecord } from '../../registry/kinds/release/release-record.ts'
import { kindPrefix, pathToKey } from '../../store/keys.ts'
import { type Expected, isWithheld, type RemoveOutcome, type Store, StoreError, type StoredValue, type WriteOutcome } from '../../store/store.ts'

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
