import type { Caller } from '../access/caller.ts'
import { mayPublish } from '../access/rights.ts'
import { entryForbidden, entryInvalid, entryMissing, promptLabelled, ServiceError, storeRefused } from '../base/errors.ts'
import { placed, type PlacedDiagnostic } from '../registry/diagnostic-table.ts'
import { type Diagnostic, describeDiagnostic, locate, reject, RejectedEntry } from '../registry/diagnostic.ts'
import type { Generation } from '../registry/generation.ts'
import { type CheckContext, contentTag, type Kind, type NewEntry } from '../registry/kinds/entry-kind.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import { findToolProblems } from '../registry/unknown-names.ts'
import type { Registry } from '../registry/registry.ts'
import { retryChange } from '../runtime/concurrency.ts'
import {
  type Expected, kindPrefix, MAX_VALUE_BYTES, pathToKey, type RemoveOutcome, type Store, type StoredValue, toPath, type WriteOutcome
} from '../store/store.ts'
import type { ToolReader } from '../tool/tool-reader.ts'
import type { LintCandidate } from './lint/lint-candidate.ts'
import {
  asked, type Audit, changedSince, checkOutcome, expectation, holds, isUnconditional, type Precondition, type ReadRecord, type RecordStore, tagOf
} from './record-store.ts'
import { contentHash, type Json } from '../base/json.ts'
import { labelledVersions, MAX_KEPT, type ReleaseRecord, type VersionNote } from '../registry/kinds/release-record.ts'
import { versionKey, versionText } from '../registry/kinds/release-kind.ts'

interface EntryChange {
  readonly caller: Caller
  readonly kind: Kind
  readonly id: string
  readonly precondition: Precondition
  readonly requestId: string
}

export interface PublishedEntry {
  readonly id: string
  readonly key: string
  readonly tag: string | undefined
  readonly isNew: boolean
  readonly version: number | undefined
  readonly diagnostics: readonly PlacedDiagnostic[]
}

/** For callers that have no access to the store, be it Redis or a folder. */
export interface Publisher {
  /** Once resolved, it is served here. @throws ENTRY_FORBIDDEN, ENTRY_INVALID, ENTRY_CHANGED, RELEASES_UNREADABLE, STORE_READ_ONLY, STORE_UNAVAILABLE */
  publish (publication: EntryChange & {
    readonly generation: Generation
    readonly text: string
    readonly about?: VersionAbout
    readonly isDryRun?: boolean
    readonly isVersion?: boolean
  }): Promise<PublishedEntry>
  /** Once resolved, it is gone here. @throws ENTRY_FORBIDDEN, ENTRY_NOT_FOUND, ENTRY_CHANGED, PROMPT_LABELLED, STORE_READ_ONLY, STORE_UNAVAILABLE */
  withdraw (change: EntryChange): Promise<void>
  /** What is stored, byte for byte, whether or not it can be read. @throws ENTRY_FORBIDDEN, ENTRY_NOT_FOUND, STORE_UNAVAILABLE */
  stored (entry: Pick<EntryChange, 'caller' | 'kind' | 'id'>): Promise<{ readonly text: string, readonly tag: string | undefined }>
}

export function createPublisher ({ store, registry, checkEntry, keyPrefix, versions, isRecording, audit }: {
  readonly store: Store
  readonly registry: Pick<Registry, 'follow'>
  readonly checkEntry: CheckEntry
  readonly keyPrefix: string
  readonly versions: VersionPublisher
  readonly isRecording: boolean
  readonly audit: Audit
}): Publisher {
  function address ({ caller, kind, id }: Pick<EntryChange, 'caller' | 'kind' | 'id'>): { path: string, key: string } {
    const path = toPath(id)
    if (!mayPublish(kind, path, caller)) throw entryForbidden(caller.name, kind.key, path)
    return { path, key: pathToKey(path, kindPrefix(keyPrefix, kind.key)) }
  }

  /** Writes only if the value is still the one read; tries again if another writer, such as redis-cli, was faster. */
  async function change<T extends WriteOutcome | RemoveOutcome> (
    { kind, precondition }: EntryChange,
    key: string,
    make: (expected: Expected | undefined) => Promise<T>
  ): Promise<T> {
    let stored: StoredValue = { kind: 'missing' }
    const changed = await retryChange(MAX_ATTEMPTS, async () => {
      if (!isUnconditional(precondition)) {
        [stored = { kind: 'missing' }] = await asked(store.read([key]))
        if (!holds(precondition, kind, stored)) throw changedSince(kind, key, stored)
      }
      const outcome = await asked(make(isUnconditional(precondition) ? undefined : expectation(stored)))
      return checkOutcome(outcome, key, store.variant) ? outcome : undefined
    })
    if (changed === undefined) throw changedSince(kind, key, stored)
    return changed
  }

  return {
    async publish (publication) {
      const { generation, caller, kind, text, precondition, about, isDryRun = false, isVersion = isRecording, requestId } = publication
      const { path, key } = address(publication)
      const diagnostics = await checkEntry(generation, { kind, id: path, text }, caller)
      const errors = diagnostics.filter(({ severity }) => severity === 'error')
      if (errors.length > 0) throw entryInvalid(path, errors.map(describeDiagnostic), diagnostics.map(placed))
      if (isDryRun) {
        const [stored = { kind: 'missing' }] = await asked(store.read([key]))
        if (!holds(precondition, kind, stored)) throw changedSince(kind, key, stored)
        const isNew = stored.kind === 'missing'
        return { id: path, key, tag: contentTag(kind, text), isNew, version: undefined, diagnostics: diagnostics.map(placed) }
      }
      const { outcome, version, before, keys } = kind === promptKind && isVersion
        ? await versions.publish({ id: path, key, text, caller, precondition, about })
        : { outcome: await change(publication, key, expected => store.write(key, text, expected)), version: undefined, before: undefined, keys: [key] }
      const action = about?.from === undefined ? 'publish' : 'restore'
      audit({ action, kind: kind.key, id: path, version, from: before, note: about?.note, by: caller.name, requestId })
      await registry.follow(keys)
      return { id: path, key, tag: contentTag(kind, text), isNew: outcome === 'created', version, diagnostics: diagnostics.map(placed) }
    },
    async withdraw (withdrawal) {
      const { caller, kind, precondition, requestId } = withdrawal
      const { path, key } = address(withdrawal)
      const isRemoved = kind === promptKind
        ? await versions.withdraw({ id: path, key, caller, precondition }, isRecording)
        : await change(withdrawal, key, expected => store.remove(key, expected)) !== 'missing'
      if (!isRemoved) throw entryMissing(path, key)
      audit({ action: 'withdraw', kind: kind.key, id: path, by: caller.name, requestId })
      await registry.follow([key])
    },
    async stored (entry) {
      const { path, key } = address(entry)
      const [stored] = await asked(store.read([key]))
      if (stored?.kind !== 'text') throw entryMissing(path, key)
      return { text: stored.text, tag: tagOf(entry.kind, stored) }
    }
  }
}

const MAX_SEGMENTS = 32

/** Checks as the registry would; with an error, the entry, or a prompt that it contains, would not run. */
type CheckEntry = (generation: Generation, entry: NewEntry & { readonly kind: Kind }, caller: Caller) => Promise<readonly Diagnostic[]>

export function createEntryCheck (lintCandidate: LintCandidate, toolReader: ToolReader): CheckEntry {
  return async function checkEntry (generation, { kind, id, text }, caller) {
    const unusable = findUnstorable(id, text)
    if (unusable.length > 0) return unusable
    const context: CheckContext = {
      toolReader,
      toolOfFunction: name => [...generation.tools.values()].find(tool => tool.definition.name === name)?.id,
      findToolProblems: uses => findToolProblems(uses, generation),
      lint: (candidate, entry) => lintCandidate(generation, { kind: candidate, ...entry }, caller)
    }
    try {
      return locate(await kind.check({ id, text }, context), text)
    } catch (error) {
      if (error instanceof RejectedEntry) return locate(error.diagnostics, text)
      throw error
    }
  }
}

export function findUnstorable (id: string, text: string): readonly Diagnostic[] {
  return [...misnamed(id), ...tooLong(text)]
}

function misnamed (id: string): readonly Diagnostic[] {
  const segments = id.split('.')
  if (segments.includes('')) return reject('KEY_INVALID', 'the id has an empty segment').diagnostics
  if (segments.length > MAX_SEGMENTS) return reject('KEY_INVALID', `the id has more than ${MAX_SEGMENTS} segments`).diagnostics
  return /\p{Cc}|\p{Cs}/u.test(id) ? reject('KEY_INVALID', 'the id has a control character').diagnostics : []
}

function tooLong (text: string): readonly Diagnostic[] {
  const bytes = Buffer.byteLength(text)
  return bytes <= MAX_VALUE_BYTES ? [] : reject('VALUE_INVALID', `the value is ${bytes} bytes long; at most ${MAX_VALUE_BYTES} are allowed`).diagnostics
}

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

export function factsOf ({ name }: Pick<Caller, 'name'>, { note, source, from }: VersionAbout = {}) {
  return {
    at: new Date().toISOString(),
    by: name === '' ? UNNAMED : name,
    // A move of a label adds facts to these, and an `undefined` one here would take their place.
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
  async publish ({ id, key, text, caller, precondition, about }: VersionPublication) {
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
      return { outcome: outcome as 'created' | 'replaced', version: recorded?.version, before, keys: [key, read.key] }
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
  facts: Omit<VersionNote, 'n' | 'tag'>
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
