import { type Caller } from '../access/caller.ts'
import { type LabelRule } from '../config/operator.ts'
import { mayPublish } from '../access/rights.ts'
import {
  entryChanged, entryForbidden, entryInvalid, labelNotFound, labelProtected, requestInvalid, versionLabelled, versionNotFound
} from '../base/errors.ts'
import { contentHash, type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { describeDiagnostic, RejectedEntry } from '../registry/diagnostic.ts'
import { placed } from '../registry/diagnostic-table.ts'
import { type Generation } from '../registry/generation.ts'
import { promptKind } from '../registry/kinds/prompt-kind.ts'
import {
  describeTarget, isLabel, type LabelMove, type LabelTarget, LATEST, MAX_KEPT, MAX_LABELS, mistakeInTarget, NO_RELEASES, type ReleaseRecord,
  sharesOf, type VersionNote
} from '../registry/kinds/release-record.ts'
import { entryOfVersion, versionKey } from '../registry/kinds/release-kind.ts'
import { type Registry } from '../registry/registry.ts'
import { retryChange } from '../runtime/concurrency.ts'
import { type LabelChange } from '../session/model.ts'
import { kindPrefix, pathToKey, type Store, toPath } from '../store/store.ts'
import { type ChosenPrompt, missingPrompt, lookUpPrompt } from './choose-prompt.ts'
import { asked, type Audit, holdsFor, type Precondition, type ReadRecord, type RecordStore } from './record-store.ts'
import {
  type PublishedEntry, type Publisher, addVersion, asVersion, factsOf, MAX_ATTEMPTS, type NewVersion, type VersionAbout, versionWith
} from './publish-entry.ts'
import { whyNotRunnable } from './render-prompt.ts'
import { type VersionReader } from './version-reader.ts'

interface ReleasesOptions {
  readonly store: Store
  readonly keyPrefix: string
  readonly registry: Pick<Registry, 'follow'>
  readonly records: RecordStore
  readonly versions: VersionReader
  readonly publisher: Publisher
  readonly rules: ReleaseRules
  readonly audit: Audit
}

/** What the operator has set for all prompts. */
export interface ReleaseRules {
  /** Whether what is published over HTTP becomes a version. */
  readonly isRecording: boolean
  /** Served where neither a request nor its token says a label; empty for latest. */
  readonly defaultLabel: string
  /** Moved only by an admin, or with a token that names the label. */
  readonly protectedLabels: ReadonlySet<string>
  /** Labels of which others look at each move. */
  readonly looks: ReadonlyMap<string, LabelRule>
}

interface ReleaseRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
}

export interface ReleaseChange extends ReleaseRequest {
  readonly requestId: string
  readonly note?: string | undefined
}

/** `null` removes the label. */
export type WantedTarget = LabelTarget | typeof LATEST | null

/** Why a label is moved that the operator's file wants looked at. */
interface MoveLook extends Pick<LabelMove, 'request' | 'approvedBy' | 'override'> {
  /** What has to be so still. */
  readonly expected?: LabelChange
}

/** What a move was asked for on is not so any more. */
export class LabelOutdated extends Error {
  override readonly name = 'LabelOutdated'
}

export interface ReleaseHistory {
  readonly record: ReleaseRecord
  /** The version served without a label; `undefined` if that content was never recorded as one. */
  readonly latest: number | undefined
  readonly tag: string | undefined
}

/** Reads and changes the versions and labels of prompts. */
export class Releases {
  readonly #options: ReleasesOptions

  constructor (options: ReleasesOptions) {
    this.#options = options
  }

  get rules (): ReleaseRules {
    return this.#options.rules
  }

  /** @throws PROMPT_NOT_FOUND, RELEASES_UNREADABLE, STORE_UNAVAILABLE */
  async history ({ generation, caller, id }: ReleaseRequest): Promise<ReleaseHistory> {
    const path = visibleId(generation, caller, id)
    const { record, tag } = await this.#options.records.read(path)
    const content = lookUpPrompt(generation, path)?.entry.hash
    if (content === undefined && record.versions.length === 0) throw missingPrompt(generation, id)
    return { record, tag, latest: versionWith(record, content) }
  }

  /** @throws PROMPT_NOT_FOUND, VERSION_NOT_FOUND, RELEASES_UNREADABLE, STORE_UNAVAILABLE */
  async version ({ generation, caller, id }: ReleaseRequest, n: number) {
    const path = visibleId(generation, caller, id)
    const { record } = await this.history({ generation, caller, id })
    const note = noteOf(path, record, n)
    const entry = await this.#entryOf(path, record, n)
    const { diagnostics } = await this.#options.versions.read(generation, { id: path, record }, n)
    return { note, entry, diagnostics: diagnostics.map(placed) }
  }

  /** Records what is served without a label as a version. @throws PROMPT_NOT_FOUND and the errors of a change */
  async freeze (change: ReleaseChange): Promise<VersionNote> {
    const id = this.#authorize(change)
    const { record } = await this.#change(id, {}, async read => await this.#frozen(change, id, read.record))
    const note = noteOf(id, record, versionWith(record, (await this.#latest(change, id)).tag) ?? record.versions[0]?.n ?? 0)
    this.#options.audit({ action: 'freeze', kind: promptKind.key, id, version: note.n, note: change.note, by: change.caller.name, requestId: change.requestId })
    return note
  }

  /**
   * Moves a label to another version, or removes it (`null`), by one write of one key. If the target is `latest`, the prompt's current content is
   * recorded as a version first. Whether the operator's file asks for a look before is `LabelMoves`' concern.
   * @throws ENTRY_FORBIDDEN, LABEL_PROTECTED, LABEL_NOT_FOUND, VERSION_NOT_FOUND, ENTRY_INVALID for a version that could not run now, ENTRY_CHANGED;
   * LabelOutdated
   */
  async moveLabel (
    change: ReleaseChange, label: string, wanted: WantedTarget, precondition: Precondition, { expected, ...look }: MoveLook = {}
  ): Promise<ReleaseHistory> {
    const { generation, caller, requestId, note } = change
    const id = this.#authorizeMove(change, label)
    let move: Pick<LabelMove, 'from' | 'to'> = { from: null, to: null }
    let isRepeated = false
    const changed = await this.#change(id, precondition, async ({ record: read }) => {
      isRepeated = look.request !== undefined && read.moves.some(({ request }) => request === look.request)
      if (isRepeated) return read
      if (expected !== undefined) await this.#expect(expected, read)
      const { record, from, to } = await this.#next(change, id, read, label, wanted)
      move = { from, to }
      if (isSame(from, to)) return record
      const labels = [...record.labels].filter(([each]) => to !== null || each !== label)
      return moved({ ...record, labels: new Map(to === null ? labels : [...labels, [label, to]]) }, { label, from, to, ...movedBy(caller, note), ...look })
    })
    const action = wanted === null ? 'remove label' : 'move label'
    if (!isRepeated) this.#options.audit({ action, kind: promptKind.key, id, label, ...move, note, by: caller.name, requestId, ...look })
    return this.#asHistory(generation, id, changed)
  }

  /** What a move would change, and on which contents; nothing but what is latest is written. @throws what `moveLabel` does */
  async planMove (change: ReleaseChange, label: string, wanted: WantedTarget, precondition: Precondition): Promise<LabelChange> {
    const id = this.#authorizeMove(change, label)
    let planned: LabelChange | undefined
    await this.#change(id, precondition, async ({ record: read }) => {
      const { record, from, to } = await this.#next(change, id, read, label, wanted)
      planned = { prompt: id, label, from, to, since: lastMoved(record, label), hashes: await this.#hashesOf(id, record, to) }
      return record
    })
    // `#change` has called the function at least once.
    return planned as LabelChange
  }

  /** As the label would serve it. @throws VERSION_NOT_FOUND, STORE_UNAVAILABLE */
  async versionUnder (generation: Generation, id: string, n: number, label: string): Promise<ChosenPrompt> {
    const { record } = await this.#options.records.read(id)
    return { prompt: await this.#options.versions.read(generation, { id, record }, n, label), version: n, label }
  }

  /** @throws VERSION_NOT_FOUND, STORE_UNAVAILABLE */
  async contentOf (id: string, n: number): Promise<Json> {
    return await this.#entryOf(id, NO_RELEASES, n)
  }

  /** @throws LabelOutdated */
  async expect (expected: LabelChange): Promise<void> {
    await this.#expect(expected, (await this.#options.records.read(expected.prompt)).record)
  }

  async #expect ({ prompt, label, from, to, since, hashes }: LabelChange, record: ReleaseRecord): Promise<void> {
    const now = record.labels.get(label) ?? null
    if (lastMoved(record, label) !== since) throw new LabelOutdated(`${label} was moved since, and means ${describeTarget(now)} now`)
    if (!isSame(now, from)) throw new LabelOutdated(`${label} means ${describeTarget(now)} now, and meant ${describeTarget(from)} when the move was asked for`)
    const found = await this.#hashesOf(prompt, record, to)
    const other = Object.keys(hashes).find(n => hashes[n] !== found[n])
    if (other !== undefined) throw new LabelOutdated(`version ${other} has another content than when the move was asked for`)
  }

  async #hashesOf (id: string, record: ReleaseRecord, to: LabelTarget | null): Promise<Record<string, string>> {
    const versions = to === null ? [] : sharesOf(to).map(({ version }) => version)
    return Object.fromEntries(await Promise.all(versions.map(async n => [n, contentHash(promptKind.normalise(await this.#entryOf(id, record, n)))] as const)))
  }

  /** The record with all versions that the label would mean. @throws VERSION_NOT_FOUND, LABEL_NOT_FOUND, ENTRY_INVALID, REQUEST_INVALID */
  async #next (change: ReleaseChange, id: string, read: ReleaseRecord, label: string, wanted: WantedTarget) {
    const record = wanted === LATEST ? await this.#frozen(change, id, read) : read
    const from = record.labels.get(label) ?? null
    if (wanted === null) {
      if (from === null) throw labelNotFound(id, label, [...record.labels.keys()])
      return { record, from, to: null }
    }
    const to = wanted === LATEST ? versionWith(record, (await this.#latest(change, id)).tag) ?? record.versions[0]?.n ?? 0 : tidied(wanted)
    if (from === null && record.labels.size >= MAX_LABELS) throw requestInvalid(`path: a prompt may have ${MAX_LABELS} labels`, { part: 'params' })
    for (const { version } of sharesOf(to)) await this.#check(change.generation, id, record, version, label)
    return { record, from, to }
  }

  /** Publishes an old version's content again. @throws VERSION_NOT_FOUND and the errors of publishing */
  async restore (change: ReleaseChange, n: number, precondition: Precondition, about: Pick<VersionAbout, 'source'> = {}): Promise<PublishedEntry> {
    const { generation, caller, requestId, note } = change
    const id = this.#authorize(change)
    const { record } = await this.#options.records.read(id)
    noteOf(id, record, n)
    const text = stringifyJson(await this.#entryOf(id, record, n))
    return await this.#options.publisher.publish({
      generation,
      caller,
      kind: promptKind,
      id,
      text,
      precondition,
      requestId,
      isVersion: true,
      about: { ...about, note, from: n }
    })
  }

  /** Removes a version for good, for example one that contains a secret. @throws VERSION_NOT_FOUND, VERSION_LABELLED */
  async removeVersion (change: ReleaseChange, n: number): Promise<void> {
    const { caller, requestId, note } = change
    const id = this.#authorize(change)
    const { store, keyPrefix, audit } = this.#options
    const key = versionKey(keyPrefix, id, n)
    const [isThere] = await asked(store.has([key]))
    await this.#change(id, {}, async ({ record }) => {
      const labels = [...record.labels].filter(([, target]) => sharesOf(target).some(({ version }) => version === n)).map(([label]) => label)
      if (labels.length > 0) throw versionLabelled(id, n, labels)
      // An unlisted text below `next` is the rest of an earlier removal; a higher one belongs to a writer that is recording it.
      if (!record.versions.some(version => version.n === n) && (isThere !== true || n >= record.next)) throw versionNotFound(id, n, [...record.labels.keys()])
      const versions = record.versions.filter(version => version.n !== n)
      return versions.length === record.versions.length ? record : { ...record, versions }
    })
    await asked(store.remove(key))
    audit({ action: 'remove version', kind: promptKind.key, id, version: n, note, by: caller.name, requestId })
  }

  #authorize ({ caller, id }: ReleaseRequest): string {
    const path = toPath(id)
    if (!mayPublish(promptKind, path, caller)) throw entryForbidden(caller.name, promptKind.key, path)
    return path
  }

  #authorizeMove (change: ReleaseChange, label: string): string {
    const id = this.#authorize(change)
    this.#guard(label, change.caller)
    return id
  }

  #guard (label: string, { name, roles, labels }: Caller): void {
    if (!isLabel(label)) {
      const expected = `expected a letter, then letters, digits, "-" and "_", and not "${LATEST}"`
      throw requestInvalid(`path: "${label.slice(0, 100)}" is no name of a label: ${expected}`, { part: 'params', field: 'label' })
    }
    if (this.rules.protectedLabels.has(label) && !roles.has('admin') && labels?.has(label) !== true) throw labelProtected(name, label)
  }

  /** Writes only if nobody else has written the record meanwhile; else it tries again. */
  async #change (id: string, precondition: Precondition, make: (read: ReadRecord) => Promise<ReleaseRecord>): Promise<Pick<ReleaseHistory, 'record' | 'tag'>> {
    const { records, registry } = this.#options
    const changed = await retryChange(MAX_ATTEMPTS, async () => {
      const read = await records.read(id)
      if (!holdsFor(precondition, read.tag, read.tag !== undefined)) {
        throw entryChanged(read.key, read.tag, read.tag === undefined ? 'nothing is stored there' : undefined)
      }
      const record = await make(read)
      if (record === read.record) return { record, tag: read.tag }
      const tag = await records.write(read, record)
      if (tag === undefined) return undefined
      await registry.follow([read.key])
      return { record, tag }
    })
    if (changed !== undefined) return changed
    const { key, tag } = await records.read(id)
    throw entryChanged(key, tag, undefined)
  }

  /** Adds no version if one in the record has that content. */
  async #frozen (change: ReleaseChange, id: string, record: ReleaseRecord): Promise<ReleaseRecord> {
    const { store, keyPrefix } = this.#options
    const latest = await this.#latest(change, id)
    if (versionWith(record, latest.tag) !== undefined) return record
    return await addVersion(store, keyPrefix, id, record, latest, factsOf(change.caller, { note: change.note }))
  }

  /** Without a value under the prompt's own key, what is served: from an extension, or another spelling of the key. */
  async #latest ({ generation }: ReleaseChange, id: string): Promise<NewVersion> {
    const { store, keyPrefix } = this.#options
    const [stored = { kind: 'missing' as const }] = await asked(store.read([pathToKey(id, kindPrefix(keyPrefix, promptKind.key))]))
    const found = asVersion(stored)
    if (found !== undefined) return found
    const prompt = lookUpPrompt(generation, id)
    if (prompt === undefined) throw missingPrompt(generation, id)
    return { entry: prompt.entry.definition.source, tag: prompt.entry.hash }
  }

  /** The version must be able to run now. @throws VERSION_NOT_FOUND, ENTRY_INVALID */
  async #check (generation: Generation, id: string, record: ReleaseRecord, n: number, label: string): Promise<void> {
    const prompt = await this.#options.versions.read(generation, { id, record }, n, label)
    if (whyNotRunnable(prompt, generation) === undefined) return
    const errors = prompt.diagnostics.filter(({ severity }) => severity === 'error')
    throw entryInvalid(`${id}@${n}`, errors.map(describeDiagnostic), prompt.diagnostics.map(placed))
  }

  async #entryOf (id: string, { labels }: ReleaseRecord, n: number): Promise<Json> {
    const stored = await this.#options.versions.stored(id, n)
    if (stored.kind !== 'text') throw versionNotFound(id, n, [...labels.keys()], stored.kind === 'missing' ? 'it is not in the store' : stored.reason)
    try {
      return entryOfVersion(stored.text)
    } catch (error) {
      if (error instanceof RejectedEntry) throw versionNotFound(id, n, [...labels.keys()], error.diagnostics.map(describeDiagnostic).join('; '))
      throw error
    }
  }

  #asHistory (generation: Generation, id: string, { record, tag }: Pick<ReleaseHistory, 'record' | 'tag'>): ReleaseHistory {
    return { record, tag, latest: versionWith(record, lookUpPrompt(generation, id)?.entry.hash) }
  }
}

/** @throws PROMPT_NOT_FOUND for a prompt that is hidden from the caller */
function visibleId (generation: Generation, { prompts }: Caller, id: string): string {
  const path = toPath(id)
  if (prompts?.allows(path) === false) throw missingPrompt(generation, id)
  return path
}

/** @throws VERSION_NOT_FOUND */
function noteOf (id: string, { versions, labels }: ReleaseRecord, n: number): VersionNote {
  const note = versions.find(version => version.n === n)
  if (note === undefined) throw versionNotFound(id, n, [...labels.keys()])
  return note
}

/** A list with one version becomes that version. @throws REQUEST_INVALID */
function tidied (target: LabelTarget): LabelTarget {
  const mistake = mistakeInTarget(target)
  if (mistake !== undefined) throw requestInvalid(`body: version: ${mistake}`, { part: 'body', field: 'version' })
  const shares = sharesOf(target)
  return shares.length === 1 ? shares[0]?.version ?? 0 : shares
}

function isSame (one: LabelTarget | null, other: LabelTarget | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function lastMoved ({ moves }: ReleaseRecord, label: string): string | null {
  const move = moves.find(each => each.label === label)
  return move === undefined ? null : contentHash({ ...move } as JsonObject)
}

function moved (record: ReleaseRecord, move: LabelMove): ReleaseRecord {
  return { ...record, moves: [move, ...record.moves].slice(0, MAX_KEPT) }
}

function movedBy (caller: Pick<Caller, 'name'>, note: string | undefined): Pick<LabelMove, 'at' | 'by' | 'note'> {
  return factsOf(caller, { note })
}
