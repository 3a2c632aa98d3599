import { createHash, randomInt } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { reject, type RejectedEntry } from '../diagnostic.ts'

/** Versions and moves in a record; a version that a label means stays even beyond that. */
export const MAX_KEPT = 50

export const MAX_LABELS = 20
const MAX_SHARES = 10

/** In percent. */
const WHOLE = 100

/** `latest` is no label: it means the prompt that is served without a label. */
export const LABEL_PATTERN = '^[a-z][a-z0-9_-]{0,63}$'
export const LATEST = 'latest'

const LABEL = new RegExp(LABEL_PATTERN)

/** One of the versions among which a label divides its callers. The version is served to a share of them, chosen by a key that they send. */
export interface LabelShare {
  readonly version: number
  readonly weight: number
}

export type LabelTarget = number | readonly LabelShare[]

export interface VersionNote {
  readonly n: number
  readonly tag: string
  /** As ISO 8601. */
  readonly at: string
  /** A token's name, or `store` for content that another program had stored. */
  readonly by: string
  readonly note?: string
  /** `git:8c2ae82` */
  readonly source?: string
  readonly from?: number
}

/** `null` stands for none. */
export interface LabelMove {
  readonly label: string
  readonly from: LabelTarget | null
  readonly to: LabelTarget | null
  readonly at: string
  readonly by: string
  readonly note?: string
  /** The session that was its change request, and who has agreed there. */
  readonly request?: string
  readonly approvedBy?: readonly string[]
  /** Why nobody was asked, although the operator's file wants it. */
  readonly override?: string
}

export interface ReleaseRecord {
  readonly next: number
  readonly labels: ReadonlyMap<string, LabelTarget>
  readonly versions: readonly VersionNote[]
  readonly moves: readonly LabelMove[]
  /** Unknown members are kept, so that a newer build finds them again. */
  readonly more: JsonObject
}

export const NO_RELEASES: ReleaseRecord = { next: 1, labels: new Map(), versions: [], moves: [], more: {} }

export function isLabel (text: string): boolean {
  return LABEL.test(text) && text !== LATEST
}

/** @throws RejectedEntry */
export function parseReleaseRecord (value: Json): ReleaseRecord {
  if (!isJsonObject(value)) throw broken('it is no object')
  const { next, labels = {}, versions = [], moves = [], ...more } = value
  if (!isNumber(next)) throw broken('next is no number of a version')
  if (!isJsonObject(labels)) throw broken('labels is no object')
  const targets = Object.entries(labels).map(([label, target]) => [label, readTarget(label, target)] as const)
  if (!Array.isArray(versions) || !versions.every(isVersionNote)) throw broken('versions is no list of versions')
  if (!Array.isArray(moves) || !moves.every(isLabelMove)) throw broken('moves is no list of moves')
  const notes = versions.toSorted((a, b) => b.n - a.n)
  // A person who edits a record perhaps forgets `next`, but no two versions may get one number.
  return { next: Math.max(next, (notes[0]?.n ?? 0) + 1), labels: new Map(targets), versions: notes, moves, more }
}

export function stringifyRecord ({ next, labels, versions, moves, more }: ReleaseRecord): string {
  return stringifyJson({ ...more, next, labels: Object.fromEntries(labels), versions, moves })
}

/** Newest first, so that a caller with the newest version keeps it when its weight is raised. */
export function sharesOf (target: LabelTarget): readonly LabelShare[] {
  return typeof target === 'number' ? [{ version: target, weight: WHOLE }] : target.toSorted((a, b) => b.version - a.version)
}

export function labelledVersions ({ labels }: Pick<ReleaseRecord, 'labels'>): ReadonlySet<number> {
  return new Set([...labels.values()].flatMap(target => sharesOf(target).map(({ version }) => version)))
}

/**
 * What a label meant before it was moved last, `null` for nothing, and the last move if that one took an earlier one back. Such a move is
 * skipped, so that each rollback goes one further. `undefined` for a label of which no move is recorded.
 */
export function meantBefore <Move extends Pick<LabelMove, 'label' | 'from' | 'to'>> (
  recorded: readonly Move[],
  label: string
): { readonly target: LabelTarget | null, readonly undone: Move | undefined } | undefined {
  const moves = recorded.filter(move => move.label === label).reverse()
  if (moves.length === 0) return undefined
  const meanings = [moves[0]?.from ?? null]
  let undone: Move | undefined
  for (const move of moves) {
    const { to } = move
    undone = to !== null && JSON.stringify(to) === JSON.stringify(meanings.at(-2) ?? null) ? move : undefined
    if (undone === undefined) meanings.push(to)
    else meanings.pop()
  }
  return { target: meanings.at(-2) ?? null, undone }
}

export function mistakeInTarget (target: LabelTarget): string | undefined {
  const shares = sharesOf(target)
  if (shares.length === 0 || shares.length > MAX_SHARES) return `expected 1 to ${MAX_SHARES} versions`
  if (new Set(shares.map(({ version }) => version)).size < shares.length) return 'a version is there twice'
  const sum = shares.reduce((total, { weight }) => total + weight, 0)
  return sum === WHOLE ? undefined : `the weights sum to ${sum}, not to ${WHOLE}`
}

/** `version 7`, or `version 9 (5 %), 7 (95 %)`. */
export function describeTarget (target: LabelTarget | null): string {
  if (target === null) return 'nothing'
  return `version ${typeof target === 'number' ? target : target.map(({ version, weight }) => `${version} (${weight} %)`).join(', ')}`
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

function isMoved (value: Json | undefined): boolean {
  return value === null || isNumber(value) || (Array.isArray(value) && value.every(isShare))
}

function isSigned ({ at, by }: JsonObject): boolean {
  return typeof at === 'string' && typeof by === 'string'
}

function isNumber (value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function broken (reason: string): RejectedEntry {
  return reject('SCHEMA', `no record of releases: ${reason}`)
}

const RANGE = 2 ** 32

/** 0 to below 100, equal on every replica, and independent for two prompts; random without a key. */
export function bucketOf (id: string, key: string | undefined): number {
  if (key === undefined) return randomInt(RANGE) / RANGE * WHOLE
  return createHash('sha256').update(`${id}\0${key}`).digest().readUInt32BE(0) / RANGE * WHOLE
}

/** Each version has a part of 0 to 100 as large as its weight, the newest first. */
export function shareAt<Share extends Pick<LabelShare, 'weight'>> (shares: readonly Share[], bucket: number): Share | undefined {
  let end = 0
  for (const share of shares) {
    end += share.weight
    if (bucket < end) return share
  }
  return shares.at(-1)
}
