import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../../base/json.ts'
import { reject, type RejectedEntry } from '../../diagnostic/diagnostic.ts'

/** How many versions, and how many moves of labels, a record keeps; versions that a label means are kept beside them. */
export const MAX_KEPT = 50

/** Labels of one prompt, and versions that one label may be spread over. */
export const MAX_LABELS = 20
export const MAX_SHARES = 10

/** The sum of the weights of a label. */
export const WHOLE = 100

/** The names that labels may have; `latest` is the content that is served without a label. */
export const LABEL_PATTERN = '^[a-z][a-z0-9_-]{0,63}$'
export const LATEST = 'latest'

const LABEL = new RegExp(LABEL_PATTERN)

/** A version that a label means for a share of the callers' keys. */
export interface LabelShare {
  readonly version: number
  /** The share in percent. */
  readonly weight: number
}

/** What a label means: a version, or several with weights. */
export type LabelTarget = number | readonly LabelShare[]

/** What is known of a version beside its text. */
export interface VersionNote {
  readonly n: number
  /** A hash of the version's content, in the form of the ETags of entries. */
  readonly tag: string
  /** The time of the version, as ISO 8601. */
  readonly at: string
  /** The author: the name of a token, or `store` for content that was found under the plain key. */
  readonly by: string
  readonly note?: string
  /** Where the text came from: `git:8c2ae82`. */
  readonly source?: string
  /** The earlier version that this one restores. */
  readonly from?: number
}

/** One move of a label from one target to another; `null` stands for no target. */
export interface LabelMove {
  readonly label: string
  readonly from: LabelTarget | null
  readonly to: LabelTarget | null
  readonly at: string
  readonly by: string
  readonly note?: string
}

/** Which version each label of a prompt means, and how that came about. */
export interface ReleaseRecord {
  /** The number of the next version. */
  readonly next: number
  readonly labels: ReadonlyMap<string, LabelTarget>
  /** The versions, the newest first. */
  readonly versions: readonly VersionNote[]
  /** The moves of labels, the latest first. */
  readonly moves: readonly LabelMove[]
  /** Members that this build does not know and keeps as they are. */
  readonly more: JsonObject
}

/** The empty record, for a prompt without releases. */
export const NO_RELEASES: ReleaseRecord = { next: 1, labels: new Map(), versions: [], moves: [], more: {} }

/** Whether a text can be a label's name. */
export function isLabel (text: string): boolean {
  return LABEL.test(text) && text !== LATEST
}

/** Reads a record. @throws RejectedEntry */
export function parseReleaseRecord (value: Json): ReleaseRecord {
  if (!isJsonObject(value)) throw broken('it is no object')
  const { next, labels = {}, versions = [], moves = [], ...more } = value
  if (!isNumber(next)) throw broken('next is no number of a version')
  if (!isJsonObject(labels)) throw broken('labels is no object')
  const targets = Object.entries(labels).map(([label, target]) => [label, readTarget(label, target)] as const)
  if (!Array.isArray(versions) || !versions.every(isVersionNote)) throw broken('versions is no list of versions')
  if (!Array.isArray(moves) || !moves.every(isLabelMove)) throw broken('moves is no list of moves')
  const notes = versions.toSorted((a, b) => b.n - a.n)
  // Whoever writes by hand may forget it; a number is never given twice.
  return { next: Math.max(next, (notes[0]?.n ?? 0) + 1), labels: new Map(targets), versions: notes, moves, more }
}

/** A record as it is stored. */
export function stringifyRecord ({ next, labels, versions, moves, more }: ReleaseRecord): string {
  return stringifyJson({ ...more, next, labels: Object.fromEntries(labels), versions, moves })
}

/** The versions that a label means, the newest first: raising the newest moves keys one way only. */
export function sharesOf (target: LabelTarget): readonly LabelShare[] {
  return typeof target === 'number' ? [{ version: target, weight: WHOLE }] : target.toSorted((a, b) => b.version - a.version)
}

/** Every version that a label of the record means. */
export function labelledVersions ({ labels }: Pick<ReleaseRecord, 'labels'>): ReadonlySet<number> {
  return new Set([...labels.values()].flatMap(target => sharesOf(target).map(({ version }) => version)))
}

/** Why a label cannot have a target; `undefined` for a good target. */
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

/** Whether a stored value can be the `from` or `to` of a label's move. */
function isMoved (value: Json | undefined): boolean {
  return value === null || isNumber(value) || (Array.isArray(value) && value.every(isShare))
}

/** Whether an object says who did something, and when. */
function isSigned ({ at, by }: JsonObject): boolean {
  return typeof at === 'string' && typeof by === 'string'
}

function isNumber (value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function broken (reason: string): RejectedEntry {
  return reject('SCHEMA', `no record of releases: ${reason}`)
}
