import { entryInvalid, storeRefused } from '../../base/errors.ts'
import { contentHash, type Json } from '../../base/json.ts'
import { RejectedEntry } from '../../registry/diagnostic/diagnostic.ts'
import { promptKind } from '../../registry/kinds/prompt/prompt-kind.ts'
import { labelledVersions, MAX_KEPT, type ReleaseRecord, type VersionNote } from '../../registry/kinds/release/release-record.ts'
import { versionKey, versionText } from '../../registry/kinds/release/version-text.ts'
import { MAX_VALUE_BYTES, type Store, type StoredValue } from '../../store/store.ts'
import { asked, checkOutcome } from './record-store.ts'

/** The most numbers that are tried for one version of a prompt. Numbers can be taken after a crash, or by others who publish at the same moment. */
const MAX_TRIES = 1000

/** The content of a prompt that is to be recorded as a version. */
export interface NewVersion {
  readonly entry: Json
  /** The hash of the content, as `contentTag` makes it. */
  readonly tag: string
}

/** The note about a version (its author, time and remarks), without its number and tag. */
export type VersionFacts = Omit<VersionNote, 'n' | 'tag'>

/** The version that a stored text would become; `undefined` if it is no readable prompt. */
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

/**
 * Stores the text of a version under the next free number, and gives the record (list of versions) with that version added. The caller
 * stores the record later: a crash in between leaves a text that no record lists. If such a text is equal, its number is used again.
 * @throws ENTRY_INVALID for a text that is too long, STORE_READ_ONLY, STORE_UNAVAILABLE
 */
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
    if (isCreated || await holds(store, key, text)) return { ...record, next: n + 1, versions: [{ n, tag, ...facts }, ...record.versions] }
  }
  throw storeRefused(`${MAX_TRIES} numbers from ${record.next} on are taken among the versions of ${id}`)
}

async function holds (store: Store, key: string, text: string): Promise<boolean> {
  const [stored] = await asked(store.read([key]))
  return stored?.kind === 'text' && stored.text === text
}

/**
 * Removes the oldest versions from a record that has too many. Gives also the numbers whose stored texts can be deleted afterwards: the numbers
 * of the removed versions, and numbers between them that the record does not list.
 * @param isNeeded whether a version must stay although no label stands for the version
 */
export function trimmed (record: ReleaseRecord, isNeeded: (n: number) => boolean): { readonly record: ReleaseRecord, readonly removed: readonly number[] } {
  const labelled = labelledVersions(record)
  const kept = record.versions.filter(({ n }, index) => index < MAX_KEPT || labelled.has(n) || isNeeded(n))
  const out = record.versions.filter(version => !kept.includes(version)).map(({ n }) => n)
  if (out.length === 0) return { record, removed: [] }
  const known = new Set(record.versions.map(({ n }) => n))
  const lost = out.flatMap(n => lostAfter(n, known))
  return { record: { ...record, versions: kept }, removed: [...out, ...lost] }
}

/** The numbers between a version and the next higher version in the record. If a text is stored under such a number, a crash was the cause. */
function lostAfter (from: number, known: ReadonlySet<number>): readonly number[] {
  const lost: number[] = []
  for (let n = from + 1; !known.has(n) && lost.length < MAX_KEPT; n++) lost.push(n)
  return lost
}
