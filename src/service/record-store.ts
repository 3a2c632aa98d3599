import { entryChanged, entryUnstorable, releasesUnreadable, storeReadOnly, storeRefused, storeUnwritable } from '../base/errors.ts'
import { contentHash } from '../base/json.ts'
import type { Log } from '../runtime/telemetry.ts'
import { describeDiagnostic, RejectedEntry } from '../registry/diagnostic.ts'
import { contentTag, decodeJson, type Kind } from '../registry/kinds/entry-kind.ts'
import { releaseKind } from '../registry/kinds/release-kind.ts'
import { NO_RELEASES, parseReleaseRecord, type ReleaseRecord, stringifyRecord } from '../registry/kinds/release-record.ts'
import type { Notices } from './notices/notices.ts'
import {
  type Expected, isWithheld, keyToPath, kindPrefix, pathToKey, type RemoveOutcome, type Store, type StoredValue, StoreError, type WriteOutcome
} from '../store/store.ts'

export interface ReadRecord {
  readonly key: string
  readonly record: ReleaseRecord
  readonly tag: string | undefined
  /** What a change of the record must still find (compare-and-set). */
  readonly expected: Expected
}

/** A record is one key in the store, which is changed by compare-and-set. */
export class RecordStore {
  readonly #store: Store
  readonly #prefix: string
  readonly #notices: Pick<Notices, 'aroundMoves'> | undefined

  constructor (store: Store, keyPrefix: string, notices?: Pick<Notices, 'aroundMoves'>) {
    this.#store = store
    this.#prefix = kindPrefix(keyPrefix, releaseKind.key)
    this.#notices = notices
  }

  /** @throws RELEASES_UNREADABLE, STORE_UNAVAILABLE */
  async read (id: string): Promise<ReadRecord> {
    const key = pathToKey(id, this.#prefix)
    const [stored = { kind: 'missing' } as StoredValue] = await asked(this.#store.read([key]))
    if (stored.kind === 'missing' || isWithheld(stored)) return { key, record: NO_RELEASES, tag: undefined, expected: { kind: 'missing' } }
    if (stored.kind === 'bad') throw releasesUnreadable(key, stored.reason)
    try {
      const { value } = decodeJson(stored.text)
      return { key, record: parseReleaseRecord(value), tag: contentHash(value), expected: stored }
    } catch (error) {
      if (error instanceof RejectedEntry) throw releasesUnreadable(key, error.diagnostics.map(describeDiagnostic).join('; '))
      throw error
    }
  }

  /** Gives the new ETag; `undefined` if another writer was faster. @throws STORE_READ_ONLY, STORE_UNAVAILABLE */
  async write (read: ReadRecord, record: ReleaseRecord): Promise<string | undefined> {
    const moves = record.moves.filter(move => !read.record.moves.includes(move))
    const write = (): Promise<string | undefined> => this.#write(read, record)
    return this.#notices === undefined || moves.length === 0 ? await write() : await this.#notices.aroundMoves(keyToPath(read.key, this.#prefix), moves, write)
  }

  async #write ({ key, expected }: ReadRecord, record: ReleaseRecord): Promise<string | undefined> {
    const text = stringifyRecord(record)
    const outcome = await asked(this.#store.write(key, text, expected))
    return checkOutcome(outcome, key, this.#store.variant) ? contentHash(decodeJson(text).value) : undefined
  }
}

/** Gives false if another writer has changed the value meanwhile. @throws ENTRY_INVALID, STORE_READ_ONLY, STORE_UNAVAILABLE */
export function checkOutcome (outcome: WriteOutcome | RemoveOutcome, key: string, variant: string): boolean {
  if (outcome === 'impossible') throw entryUnstorable(key)
  if (outcome === 'read-only') throw storeReadOnly(variant)
  if (typeof outcome === 'object') throw outcome.kind === 'kept' ? storeReadOnly(variant, outcome.reason) : storeRefused(outcome.reason)
  return outcome !== 'conflict'
}

/** @throws STORE_UNAVAILABLE */
export async function asked<T> (answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof StoreError) throw storeUnwritable(error.message)
    throw error
  }
}

/** From `If-Match` and `If-None-Match`, by tags of `contentTag`; a member left out sets no condition. */
export interface Precondition {
  /** `any`: there must be a stored value. */
  readonly matches?: readonly string[] | 'any'
  /** `any`: there must be no stored value. */
  readonly noneMatches?: readonly string[] | 'any'
}

export function isUnconditional ({ matches, noneMatches }: Precondition): boolean {
  return matches === undefined && noneMatches === undefined
}

/** `tag` is `undefined` for a value that is no text. */
export function holdsFor ({ matches, noneMatches }: Precondition, tag: string | undefined, isStored: boolean): boolean {
  const isAmong = (tags: readonly string[] | 'any') => tags === 'any' ? isStored : tag !== undefined && tags.includes(tag)
  return (matches === undefined || isAmong(matches)) && (noneMatches === undefined || !isAmong(noneMatches))
}

export function holds (precondition: Precondition, kind: Kind, stored: StoredValue): boolean {
  return holdsFor(precondition, tagOf(kind, stored), stored.kind !== 'missing')
}

/** For compare-and-set; `undefined` (no condition) if the stored value cannot be read. */
export function expectation (stored: StoredValue): Expected | undefined {
  return stored.kind === 'bad' ? undefined : stored
}

export function changedSince (kind: Kind, key: string, stored: StoredValue): Error {
  const problem = stored.kind === 'missing' ? 'nothing is stored there' : tagOf(kind, stored) === undefined ? 'what is stored there cannot be read' : undefined
  return entryChanged(key, tagOf(kind, stored), problem)
}

/** That of a text that cannot be read is its hash as it is, so that it can be mended under a condition, too. */
export function tagOf (kind: Kind, stored: StoredValue): string | undefined {
  return stored.kind === 'text' ? contentTag(kind, stored.text) ?? contentHash(stored.text) : undefined
}

export type Audit = (change: {
  readonly action: 'publish' | 'withdraw' | 'freeze' | 'restore' | 'move label' | 'remove label' | 'remove version'
  /** Named as in the store's keys: `templates` for prompts. */
  readonly kind: string
  readonly id: string
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** The version, or versions with weights, before; `to` is null for a removed label; for a publication, the version served before. */
  readonly from?: unknown
  readonly to?: unknown
  readonly note?: string | undefined
  /** Of a label that is looked at: its change request and who agreed, or why nobody was asked. */
  readonly request?: string
  readonly approvedBy?: readonly string[]
  readonly override?: string
  /** The name of the caller's token; empty when the service asks for no tokens. */
  readonly by: string
  readonly requestId: string
}) => void

export function createAudit (log: Log, onLabelMoved?: (label: string) => void): Audit {
  return change => {
    log.info({ ...change }, 'audit')
    if (change.label !== undefined) onLabelMoved?.(change.label)
  }
}
