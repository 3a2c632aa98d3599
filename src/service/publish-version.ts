import type { Caller } from '../access/caller.ts'
import { entryInvalid, promptLabelled, ServiceError, storeRefused } from '../base/errors.ts'
import { contentHash, type Json } from '../base/json.ts'
import { RejectedEntry } from '../registry/diagnostic.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import { labelledVersions, MAX_KEPT, type ReleaseRecord, type VersionNote } from '../registry/kinds/release-record.ts'
import { versionKey, versionText } from '../registry/kinds/release-kind.ts'
import { retryChange } from '../runtime/concurrency.ts'
import { MAX_VALUE_BYTES, type Store, type StoredValue } from '../store/store.ts'
import { asked, changedSince, checkOutcome, expectation, holds, type Precondition, type ReadRecord, type RecordStore } from './record-store.ts'

export const MAX_ATTEMPTS = 20

const UNNAMED = 'anyone'

export interface VersionAbout {
  readonly note?: string | undefined
  readonly source?: string | undefined
  readonly from?: number | undefined
}

interface VersionPublication {
  readonly id: string
  readonly key: string
  readonly text: string
  readonly caller: Pick<Caller, 'name'>
  readonly precondition: Precondition
  readonly about?: VersionAbout
}

interface VersionPublisherOptions {
  readonly store: Store
  readonly keyPrefix: string
  readonly records: RecordStore
  /** Versions that other prompts include by number must be kept. */
  readonly isPinned: (id: string, n: number) => boolean
}

interface PublishedVersion {
  readonly outcome: 'created' | 'replaced'
  /** `undefined` when this process is not allowed to write versions to the store. */
  readonly version: number | undefined
  /** `undefined` if there was none, or if its content was not recorded as a version. */
  readonly before: number | undefined
  readonly keys: readonly string[]
}

export function factsOf ({ name }: Pick<Caller, 'name'>, { note, source, from }: VersionAbout = {}): VersionFacts {
  return {
    at: new Date().toISOString(),
    by: name === '' ? UNNAMED : name,
    ...(note === undefined ? {} : { note }),
    ...(source === undefined ? {} : { source }),
    ...(from === undefined ? {} : { from })
  }
}

export function versionWith ({ versions }: ReleaseRecord, tag: string | undefined): number | undefined {
  return versions.find(version => version.tag === tag)?.n
}

/** In this order: the version's text; the record and then the prompt's key by compare-and-set. A break leaves a version unserved. */
export class VersionPublisher {
  readonly #options: VersionPublisherOptions

  constructor (options: VersionPublisherOptions) {
    this.#options = options
  }

  /** @throws ENTRY_CHANGED, ENTRY_INVALID, RELEASES_UNREADABLE, STORE_READ_ONLY, STORE_UNAVAILABLE */
  async publish ({ id, key, text, caller, precondition, about }: VersionPublication): Promise<PublishedVersion> {
    const { store, records } = this.#options
    let stored: StoredValue = { kind: 'missing' }
    const published = await retryChange(MAX_ATTEMPTS, async () => {
      const read = await records.read(id);
      [stored = { kind: 'missing' }] = await asked(store.read([key]))
      if (!holds(precondition, promptKind, stored)) throw changedSince(promptKind, key, stored)
      const before = versionWith(read.record, asVersion(stored)?.tag)
      const recorded = await this.#record(id, read, [stored, { kind: 'text', text }], caller, about)
      if (recorded === 'conflict') return undefined
      const outcome = await asked(store.write(key, text, expectation(stored)))
      if (!checkOutcome(outcome, key, store.variant)) return undefined
      await this.#clean(id, recorded?.removed ?? [])
      return { outcome: outcome as PublishedVersion['outcome'], version: recorded?.version, before, keys: [key, read.key] }
    })
    if (published === undefined) throw changedSince(promptKind, key, stored)
    return published
  }

  /** `isRecording` records the content first, unless a version has it. @throws PROMPT_LABELLED and what `publish` throws */
  async withdraw ({ id, key, caller, precondition }: Omit<VersionPublication, 'text'>, isRecording: boolean): Promise<boolean> {
    const { store, records } = this.#options
    let stored: StoredValue = { kind: 'missing' }
    const isRemoved = await retryChange(MAX_ATTEMPTS, async () => {
      const read = await records.read(id)
      if (read.record.labels.size > 0) throw promptLabelled(id, [...read.record.labels.keys()]);
      [stored = { kind: 'missing' }] = await asked(store.read([key]))
      if (!holds(precondition, promptKind, stored)) throw changedSince(promptKind, key, stored)
      if (isRecording && await this.#record(id, read, [stored], caller) === 'conflict') return undefined
      const outcome = await asked(store.remove(key, expectation(stored)))
      return checkOutcome(outcome, key, store.variant) ? outcome === 'removed' : undefined
    })
    if (isRemoved === undefined) throw changedSince(promptKind, key, stored)
    return isRemoved
  }

  /** A failure is ignored, since a text that stays does no harm. */
  async #clean (id: string, numbers: readonly number[]): Promise<void> {
    const { store, keyPrefix } = this.#options
    for (const n of numbers) await store.remove(versionKey(keyPrefix, id, n)).catch(() => undefined)
  }

  /** Also records an unrecorded stored text, by the author `store`. `undefined`: versions are not writable (an older ACL). */
  async #record (
    id: string,
    read: ReadRecord,
    [stored, next]: readonly [StoredValue, StoredValue?],
    caller: Pick<Caller, 'name'>,
    about?: VersionAbout
  ): Promise<{ readonly version: number | undefined, readonly removed: readonly number[] } | 'conflict' | undefined> {
    const { store, keyPrefix, records, isPinned } = this.#options
    let { record } = read
    try {
      const found = asVersion(stored)
      if (found !== undefined && versionWith(record, found.tag) === undefined) {
        record = await addVersion(store, keyPrefix, id, record, found, factsOf({ name: 'store' }))
      }
      const given = next && asVersion(next)
      // A text equal to the newest version does not become a new version.
      if (given !== undefined && record.versions[0]?.tag !== given.tag) record = await addVersion(store, keyPrefix, id, record, given, factsOf(caller, about))
      const version = versionWith(record, given?.tag)
      if (record === read.record) return { version, removed: [] }
      const { record: kept, removed } = trimmed(record, n => isPinned(id, n))
      return await records.write(read, kept) === undefined ? 'conflict' : { version, removed }
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'STORE_READ_ONLY') return undefined
      throw error
    }
  }
}

/** Numbers can be taken after a crash, or by others who publish at the same moment. */
const MAX_TRIES = 1000

export interface NewVersion {
  readonly entry: Json
  readonly tag: string
}

type VersionFacts = Omit<VersionNote, 'n' | 'tag'>

/** `undefined` for a text that is no readable prompt. */
export function asVersion (stored: StoredValue): NewVersion | undefined {
  if (stored.kind !== 'text') return undefined
  try {
    const entry = promptKind.decode(stored.text).value
    return { entry, tag: contentHash(promptKind.normalise(entry)) }
  } catch (error) {
    if (error instanceof RejectedEntry) return undefined
    throw error
  }
}

/** An equal text that a crash left unlisted keeps its number. @throws ENTRY_INVALID, STORE_READ_ONLY, STORE_UNAVAILABLE */
export async function addVersion (
  store: Store,
  keyPrefix: string,
  id: string,
  record: ReleaseRecord,
  { entry, tag }: NewVersion,
  facts: VersionFacts
): Promise<ReleaseRecord> {
  const text = versionText(entry)
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_VALUE_BYTES) throw entryInvalid(id, [`as a version it is ${bytes} bytes long; at most ${MAX_VALUE_BYTES} are allowed`], [])
  for (let n = record.next; n < record.next + MAX_TRIES; n++) {
    const key = versionKey(keyPrefix, id, n)
    const isCreated = checkOutcome(await asked(store.write(key, text, { kind: 'missing' })), key, store.variant)
    if (isCreated || await isStored(store, key, text)) return { ...record, next: n + 1, versions: [{ n, tag, ...facts }, ...record.versions] }
  }
  throw storeRefused(`${MAX_TRIES} numbers from ${record.next} on are taken among the versions of ${id}`)
}

async function isStored (store: Store, key: string, text: string): Promise<boolean> {
  const [stored] = await asked(store.read([key]))
  return stored?.kind === 'text' && stored.text === text
}

/** Also gives numbers whose texts can be deleted afterwards; `isNeeded` keeps a version although no label stands for it. */
function trimmed (record: ReleaseRecord, isNeeded: (n: number) => boolean): { readonly record: ReleaseRecord, readonly removed: readonly number[] } {
  const labelled = labelledVersions(record)
  const kept = record.versions.filter(({ n }, index) => index < MAX_KEPT || labelled.has(n) || isNeeded(n))
  const out = record.versions.filter(version => !kept.includes(version)).map(({ n }) => n)
  if (out.length === 0) return { record, removed: [] }
  const known = new Set(record.versions.map(({ n }) => n))
  const lost = out.flatMap(n => lostAfter(n, known))
  return { record: { ...record, versions: kept }, removed: [...out, ...lost] }
}

/** A text that is stored under such a number is the rest of a crash. */
function lostAfter (from: number, known: ReadonlySet<number>): readonly number[] {
  const lost: number[] = []
  for (let n = from + 1; !known.has(n) && lost.length < MAX_KEPT; n++) lost.push(n)
  return lost
}
