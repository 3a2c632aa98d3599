import { createHash, randomInt } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { reject, type RejectedEntry } from '../diagnostic.ts'

/** How many versions of a prompt a record lists, and how many moves of its labels. A version that a label means stays in the record even beyond that number. */
export const MAX_KEPT = 50

/** The most labels (`production`, `staging`) that one prompt can have, and the most versions among which one label can divide its callers. */
export const MAX_LABELS = 20
const MAX_SHARES = 10

/** The sum that the weights of a label's versions must have, in percent. */
const WHOLE = 100

/** The pattern of a label's name. The name `latest` is no label: it means the prompt that is served to callers who name no label. */
export const LABEL_PATTERN = '^[a-z][a-z0-9_-]{0,63}$'
export const LATEST = 'latest'

const LABEL = new RegExp(LABEL_PATTERN)

/** One of the versions among which a label divides its callers. The version is served to a share of them, chosen by a key that they send. */
export interface LabelShare {
  readonly version: number
  /** The share in percent. */
  readonly weight: number
}

/** The version that a label stands for, or several versions with weights. */
export type LabelTarget = number | readonly LabelShare[]

/** What the release record of a prompt says about one version. The text of the version is stored under a key of its own. */
export interface VersionNote {
  readonly n: number
  /** A hash of the version's content, written like the ETag of an entry. */
  readonly tag: string
  /** When the version was made, as ISO 8601. */
  readonly at: string
  /** The author: the name of a token, or `store` for content that another program had stored under the prompt's own key. */
  readonly by: string
  readonly note?: string
  /** Where the text came from: `git:8c2ae82`. */
  readonly source?: string
  /** The earlier version that this one restores. */
  readonly from?: number
}

/** One change of a label from one version (or several) to another; `null` stands for none. */
export interface LabelMove {
  readonly label: string
  readonly from: LabelTarget | null
  readonly to: LabelTarget | null
  readonly at: string
  readonly by: string
  readonly note?: string
}

/** The record of a prompt's releases: its versions, which version each label means, and how the labels were moved. */
export interface ReleaseRecord {
  /** The number of the next version. */
  readonly next: number
  readonly labels: ReadonlyMap<string, LabelTarget>
  /** The versions, the newest first. */
  readonly versions: readonly VersionNote[]
  /** The moves of labels, the latest first. */
  readonly moves: readonly LabelMove[]
  /** The members of the stored record that this build of the service does not know. They are kept, so that a newer build finds them again. */
  readonly more: JsonObject
}

/** The empty record, for a prompt without releases. */
export const NO_RELEASES: ReleaseRecord = { next: 1, labels: new Map(), versions: [], moves: [], more: {} }

/** Whether a text can be a label's name. */
export function isLabel (text: string): boolean {
  return LABEL.test(text) && text !== LATEST
}

/** Parses a stored record of releases. @throws RejectedEntry */
export function parseReleaseRecord (value: Json): ReleaseRecord {
  if (!isJsonObject(value)) throw broken('it is no object')
  const { next, labels = {}, versions = [], moves = [], ...more } = value
  if (!isNumber(next)) throw broken('next is no number of a version')
  if (!isJsonObject(labels)) throw broken('labels is no object')
  const targets = Object.entries(labels).map(([label, target]) => [label, readTarget(label, target)] as const)
  if (!Array.isArray(versions) || !versions.every(isVersionNote)) throw broken('versions is no list of versions')
  if (!Array.isArray(moves) || !moves.every(isLabelMove)) throw broken('moves is no list of moves')
  const notes = versions.toSorted((a, b) => b.n - a.n)
  // A person who writes a record by hand perhaps forgets to raise `next`. But no two versions must ever get the same number.
  return { next: Math.max(next, (notes[0]?.n ?? 0) + 1), labels: new Map(targets), versions: notes, moves, more }
}

/** The text of a record of releases, as it is stored. */
export function stringifyRecord ({ next, labels, versions, moves, more }: ReleaseRecord): string {
  return stringifyJson({ ...more, next, labels: Object.fromEntries(labels), versions, moves })
}

/** The versions that a label stands for, the newest first. In this order a caller who gets the newest version keeps it when its weight is raised. */
export function sharesOf (target: LabelTarget): readonly LabelShare[] {
  return typeof target === 'number' ? [{ version: target, weight: WHOLE }] : target.toSorted((a, b) => b.version - a.version)
}

/** The numbers of all versions that a label of the record stands for. */
export function labelledVersions ({ labels }: Pick<ReleaseRecord, 'labels'>): ReadonlySet<number> {
  return new Set([...labels.values()].flatMap(target => sharesOf(target).map(({ version }) => version)))
}

/** The reason why a label cannot stand for these versions, in words; `undefined` when it can. */
export function mistakeInTarget (target: LabelTarget): string | undefined {
  const shares = sharesOf(target)
  if (shares.length === 0 || shares.length > MAX_SHARES) return `expected 1 to ${MAX_SHARES} versions`
  if (new Set(shares.map(({ version }) => version)).size < shares.length) return 'a version is there twice'
  const sum = shares.reduce((total, { weight }) => total + weight, 0)
  return sum === WHOLE ? undefined : `the weights sum to ${sum}, not to ${WHOLE}`
}

function readTarget (label: string, target: Json): LabelTarget {
  if (!isLabel(label)) throw broken(`"${label.slice(0, 100)}" is no name of a label`)
  if (isNumber(target)) return target
  if (!Array.isArray(target) || !target.every(isShare)) throw broken(`label ${label} is neither a version nor a list of { version, weight }`)
  const mistake = mistakeInTarget(target)
  if (mistake !== undefined) throw broken(`label ${label}: ${mistake}`)
  return target
}

function isShare (value: Json): value is JsonObject & LabelShare {
  return isJsonObject(value) && isNumber(value['version']) && isNumber(value['weight'])
}

function isVersionNote (value: Json): value is JsonObject & VersionNote {
  return isJsonObject(value) && isNumber(value['n']) && typeof value['tag'] === 'string' && isSigned(value)
}

function isLabelMove (value: Json): value is JsonObject & LabelMove {
  return isJsonObject(value) && typeof value['label'] === 'string' && isMoved(value['from']) && isMoved(value['to']) && isSigned(value)
}

/** Whether a stored value can be the `from` or `to` of a label's move: no version, one version or several. */
function isMoved (value: Json | undefined): boolean {
  return value === null || isNumber(value) || (Array.isArray(value) && value.every(isShare))
}

/** Whether an object says when something was done, and who did it. */
function isSigned ({ at, by }: JsonObject): boolean {
  return typeof at === 'string' && typeof by === 'string'
}

function isNumber (value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function broken (reason: string): RejectedEntry {
  return reject('SCHEMA', `no record of releases: ${reason}`)
}

/** The number of values that the hash can have. */
const RANGE = 2 ** 32

/**
 * The bucket of a caller, by which one of a label's versions is chosen: a number from 0 to below 100, equal on every replica. A key's buckets for two
 * prompts are independent of each other.
 * @param id the prompt's id
 * @param key the key that the caller sends; without one the bucket is random
 */
export function bucketOf (id: string, key: string | undefined): number {
  if (key === undefined) return randomInt(RANGE) / RANGE * WHOLE
  return createHash('sha256').update(`${id}\0${key}`).digest().readUInt32BE(0) / RANGE * WHOLE
}

/**
 * Chooses one of a label's versions for a caller; `undefined` when there are no versions. Each version has a part of the range from 0 to 100, as large as
 * its weight, the newest version first. The caller's bucket (a number from 0 to below 100) lies in the part of the chosen version.
 */
export function shareAt<Share extends Pick<LabelShare, 'weight'>> (shares: readonly Share[], bucket: number): Share | undefined {
  let end = 0
  for (const share of shares) {
    end += share.weight
    if (bucket < end) return share
  }
  return shares.at(-1)
}
