import { createSlices, type Slices } from '../../runtime/event-loop.ts'
import { type Store, StoreError, type StoredValue } from '../../store/store.ts'
import { reject, RejectedEntry, type Diagnostic, unreadable } from '../diagnostic.ts'
import type { EntryProblem, EntryTable } from '../entries/entry-table.ts'
import type { TemplateCache } from '../entries/template-cache.ts'
import { isSound, parsePromptEntry, type PromptEntry } from '../kinds/prompt-kind.ts'
import { entryOfVersion, type ReleaseEntry, versionKey } from '../kinds/release-kind.ts'
import { type LabelShare, sharesOf } from '../kinds/release-record.ts'
import { readAll } from '../store-reads.ts'
import { nameOfVersion, readReference } from './references.ts'

type Share = LabelShare & { readonly entry: PromptEntry }

/** A record, and what its labels stand for now: that of before, where a version cannot be read. */
interface LabelledPrompt {
  readonly record: ReleaseEntry
  /** Empty for a label whose versions this process has never been able to read. */
  readonly labels: ReadonlyMap<string, readonly Share[]>
  readonly pins: readonly string[]
  readonly missing: readonly WantedVersion[]
  readonly problem: EntryProblem | undefined
}

interface WantedVersion {
  readonly id: string
  readonly n: number
  readonly tag: string | undefined
}

/** Which prompt a name means, in one generation. */
export class PromptNames {
  readonly owners: ReadonlyMap<string, PromptEntry>
  readonly labelled: ReadonlyMap<string, LabelledPrompt>
  /** By names such as `review.system@7`. */
  readonly pinned: ReadonlyMap<string, PromptEntry>

  constructor (owners: ReadonlyMap<string, PromptEntry>, labelled: ReadonlyMap<string, LabelledPrompt>, pinned: ReadonlyMap<string, PromptEntry>) {
    this.owners = owners
    this.labelled = labelled
    this.pinned = pinned
  }

  /** An id, or one with a version or label. Under a label it is taken from there, if its prompt has that label. */
  find (name: string, label?: string): PromptEntry | undefined {
    return (label === undefined ? undefined : this.#under(label, name)) ?? this.owners.get(name) ?? this.#findPinned(name)
  }

  /** One that has been read. */
  version (id: string, n: number): PromptEntry | undefined {
    const pinned = this.pinned.get(nameOfVersion(id, n))
    if (pinned !== undefined) return pinned
    for (const shares of this.labelled.get(id)?.labels.values() ?? []) {
      const share = shares.find(({ version }) => version === n)
      if (share !== undefined) return share.entry
    }
    return undefined
  }

  #under (label: string, id: string): PromptEntry | undefined {
    return heaviest(this.labelled.get(id)?.labels.get(label))?.entry
  }

  #findPinned (name: string): PromptEntry | undefined {
    const { id, label, version } = readReference(name) ?? {}
    if (id === undefined) return undefined
    return label === undefined ? this.version(id, version as number) : this.#under(label, id)
  }
}

/** Of equal weights the newest. Partials are chosen before any request, when no caller has sent a key yet. */
export function heaviest<Weighted extends Pick<Share, 'weight'>> (shares: readonly Weighted[] = []): Weighted | undefined {
  return shares.length === 0 ? undefined : shares.reduce((most, share) => share.weight > most.weight ? share : most)
}

/** @throws RejectedEntry */
export async function parseVersion (id: string, n: number, stored: StoredValue | undefined, cache: TemplateCache, slices: Slices): Promise<PromptEntry> {
  if (stored === undefined || stored.kind === 'missing') throw reject('VERSION_MISSING', `version ${n} is not in the store`)
  if (stored.kind === 'bad') throw unreadable(stored)
  return { ...await parsePromptEntry(id, 'direct', entryOfVersion(stored.text), cache, slices), version: n }
}

const NONE: readonly string[] = []

/** Reads the versions that labels mean or that prompts name by number (`{{> "review.system@7"}}`), each once, since a version never changes. */
export class VersionedNames {
  readonly #store: Pick<Store, 'read'>
  readonly #keyPrefix: string
  readonly #cache: TemplateCache
  readonly #records: EntryTable<ReleaseEntry>
  #last = new PromptNames(new Map(), new Map(), new Map())
  #missing: readonly WantedVersion[] = []
  #pins: ReadonlySet<string> = new Set()
  /** Not in `#last` yet. */
  readonly #read = new Map<string, PromptEntry>()
  #unread: ReadonlyMap<string, WantedVersion> = new Map()
  /** Why a version cannot be used. */
  readonly #faults = new Map<string, Diagnostic>()
  #problems: readonly EntryProblem[] = []
  #failure: string | undefined

  constructor (records: EntryTable<ReleaseEntry>, store: Pick<Store, 'read'>, keyPrefix: string, cache: TemplateCache) {
    this.#records = records
    this.#store = store
    this.#keyPrefix = keyPrefix
    this.#cache = cache
  }

  /** Why the store could not be read; the versions stay missing meanwhile. */
  get failure (): string | undefined {
    return this.#failure
  }

  get last (): PromptNames {
    return this.#last
  }

  /** Of records with a label whose versions cannot all be read. */
  get problems (): readonly EntryProblem[] {
    return this.#problems
  }

  /** Whether `next` would differ although no entry has changed. */
  get hasNews (): boolean {
    return this.#read.size > 0
  }

  isPinned (id: string, n: number): boolean {
    return this.#pins.has(nameOfVersion(id, n))
  }

  /** Asks for every missing version again. */
  async fillGaps (): Promise<boolean> {
    this.#failure = undefined
    await this.#fill([...this.#unread.values()], this.#last.owners, createSlices())
    return this.hasNews
  }

  async next (owners: ReadonlyMap<string, PromptEntry>, recordsChanged: boolean, slices: Slices): Promise<PromptNames> {
    const { labelled: last } = this.#last
    const labelled = recordsChanged || this.hasNews ? await this.#nextLabelled(owners, slices) : last
    const { pins, pinned, missing } = await this.#findPinned(owners, labelled, slices)
    if (labelled !== last) {
      this.#missing = [...labelled.values()].flatMap(each => each.missing)
      this.#problems = [...labelled.values()].flatMap(({ problem }) => problem ?? [])
    }
    this.#unread = new Map([...this.#missing, ...missing].map(each => [nameOfVersion(each.id, each.n), each]))
    for (const name of this.#faults.keys()) if (!this.#unread.has(name)) this.#faults.delete(name)
    this.#pins = pins
    this.#last = new PromptNames(owners, labelled, pinned)
    this.#read.clear()
    return this.#last
  }

  async #nextLabelled (owners: ReadonlyMap<string, PromptEntry>, slices: Slices): Promise<ReadonlyMap<string, LabelledPrompt>> {
    const { labelled: last } = this.#last
    const labelled = new Map<string, LabelledPrompt>()
    const changed: Array<readonly [key: string, record: ReleaseEntry]> = []
    const mayBeFilled = this.hasNews
    for (const [key, record] of this.#records.entries()) {
      const known = last.get(record.id)
      if (known?.record === record && (known.missing.length === 0 || !mayBeFilled)) labelled.set(record.id, known)
      else changed.push([key, record])
      if (slices.isDue()) await slices.pause()
    }
    await this.#fill(changed.flatMap(([, record]) => last.get(record.id)?.record === record ? [] : versionsOfLabels(record)), owners, slices)
    for (const [key, record] of changed) {
      labelled.set(record.id, this.#labelledPrompt(key, record))
      if (slices.isDue()) await slices.pause()
    }
    return labelled
  }

  #known ({ id, n }: Pick<WantedVersion, 'id' | 'n'>): PromptEntry | undefined {
    return this.#read.get(nameOfVersion(id, n)) ?? this.#last.version(id, n)
  }

  /** A label changes only when all its versions could be read. */
  #labelledPrompt (key: string, record: ReleaseEntry): LabelledPrompt {
    const { id } = record
    const labels = new Map<string, readonly Share[]>()
    const missing: Diagnostic[] = []
    let servesLastGood = true
    for (const [label, target] of record.record.labels) {
      const wanted = sharesOf(target)
      const shares = wanted.flatMap(share => {
        const entry = this.#known({ id, n: share.version })
        return entry === undefined ? [] : [{ ...share, entry }]
      })
      const inForce = shares.length === wanted.length ? shares : this.#last.labelled.get(id)?.labels.get(label) ?? []
      labels.set(label, inForce)
      if (inForce === shares) continue
      servesLastGood &&= inForce.length > 0
      const lost = wanted.filter(({ version }) => !shares.some(share => share.version === version))
      missing.push(...lost.map(({ version }) => missingVersion(label, version, this.#faults.get(nameOfVersion(id, version)), inForce)))
    }
    const pins = [...labels.values()].flatMap(shares => shares.flatMap(({ entry }) => entry.pins))
    return {
      record,
      labels,
      pins: pins.length === 0 ? NONE : pins,
      missing: versionsOfLabels(record).filter(version => this.#known(version) === undefined),
      problem: missing.length === 0 ? undefined : { key, diagnostics: missing, servesLastGood }
    }
  }

  /** Until no version names another one. */
  async #findPinned (owners: ReadonlyMap<string, PromptEntry>, labelled: ReadonlyMap<string, LabelledPrompt>, slices: Slices) {
    const pins = new Set<string>()
    for (const all of [owners, labelled]) for (const { pins: named } of all.values()) for (const name of named) pins.add(name)
    const pinned = new Map<string, PromptEntry>()
    const missing: WantedVersion[] = []
    for (let names = new Set(pins); names.size > 0;) {
      const wanted = [...names].flatMap(name => recordedVersion(name, labelled))
      const isWorthReading = ({ id, n }: WantedVersion) => !this.#unread.has(nameOfVersion(id, n)) || labelled.get(id) !== this.#last.labelled.get(id)
      await this.#fill(wanted.filter(isWorthReading), owners, slices)
      const further = new Set<string>()
      for (const version of wanted) {
        const entry = this.#known(version)
        if (entry === undefined) missing.push(version)
        else pinned.set(nameOfVersion(version.id, version.n), entry)
        for (const name of entry?.pins ?? []) further.add(name)
      }
      names = new Set([...further].filter(name => !pins.has(name)))
      for (const name of names) pins.add(name)
    }
    return { pins, pinned, missing }
  }

  /** Reads what is not known yet; a prompt with the same content saves a read and a parse. */
  async #fill (wanted: readonly WantedVersion[], owners: ReadonlyMap<string, PromptEntry>, slices: Slices): Promise<void> {
    const unread: WantedVersion[] = []
    for (const version of wanted) {
      const { id, n, tag } = version
      if (this.#known(version) !== undefined) continue
      const twin = owners.get(id)
      if (twin === undefined || twin.hash !== tag) unread.push(version)
      else this.#read.set(nameOfVersion(id, n), { ...twin, origin: 'direct', version: n })
    }
    for (const [index, stored] of (await this.#ask(unread)).entries()) {
      const { id, n } = unread[index] as WantedVersion
      const name = nameOfVersion(id, n)
      try {
        this.#read.set(name, await parseSound(id, n, stored, this.#cache, slices))
      } catch (error) {
        if (!(error instanceof RejectedEntry)) throw error
        this.#faults.set(name, error.diagnostics[0] as Diagnostic)
      }
      if (slices.isDue()) await slices.pause()
    }
  }

  async #ask (versions: readonly WantedVersion[]): Promise<readonly StoredValue[]> {
    if (versions.length === 0) return []
    try {
      return (await readAll(this.#store, versions.map(({ id, n }) => versionKey(this.#keyPrefix, id, n)))).map(([, value]) => value)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#failure = error.message
      return []
    }
  }

  /** The newest that can be compiled; `numbers` newest first. @throws StoreError */
  async newest (id: string, numbers: Iterable<number>): Promise<PromptEntry | undefined> {
    const slices = createSlices()
    for (const n of numbers) {
      const [stored] = await this.#store.read([versionKey(this.#keyPrefix, id, n)])
      try {
        return await parseSound(id, n, stored, this.#cache, slices)
      } catch (error) {
        if (!(error instanceof RejectedEntry)) throw error
      }
    }
    return undefined
  }
}

async function parseSound (...given: Parameters<typeof parseVersion>): Promise<PromptEntry> {
  const entry = await parseVersion(...given)
  if (!isSound(entry)) throw new RejectedEntry(entry.diagnostics)
  return entry
}

function versionsOfLabels ({ id, record }: ReleaseEntry): WantedVersion[] {
  const numbers = new Set([...record.labels.values()].flatMap(target => sharesOf(target).map(({ version }) => version)))
  return [...numbers].map(n => ({ id, n, tag: record.versions.find(version => version.n === n)?.tag }))
}

/** None for a label, or for a version that its prompt's record does not have. */
function recordedVersion (name: string, labelled: ReadonlyMap<string, LabelledPrompt>): WantedVersion[] {
  const { id = '', version: n } = readReference(name) ?? {}
  const recorded = labelled.get(id)?.record.record.versions.find(version => version.n === n)
  return recorded === undefined ? [] : [{ id, n: recorded.n, tag: recorded.tag }]
}

function missingVersion (label: string, version: number, problem: Diagnostic | undefined, inForce: readonly Share[]): Diagnostic {
  const reason = problem?.code === 'VERSION_MISSING' || problem === undefined ? '' : `: ${problem.message}`
  const served = inForce.length === 0 ? 'nothing is served under it' : `${inForce.map(share => share.version).join(', ')} is served in its place`
  return { severity: 'error', code: 'VERSION_MISSING', message: `label ${label} means version ${version}, which cannot be read${reason}; ${served}` }
}
