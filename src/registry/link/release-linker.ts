import type { Slices } from '../../runtime/event-loop.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { EntryProblem, EntryTable } from '../entries/entry-table.ts'
import type { CallableTool, PromptRelease, ReleasedVersion } from '../generation.ts'
import type { PromptEntry } from '../kinds/prompt-kind.ts'
import type { ReleaseEntry } from '../kinds/release-kind.ts'
import { type LabelShare, sharesOf } from '../kinds/release-record.ts'
import { Linker, type Lookup } from './link-prompts.ts'
import { idsMeant, isPartial, nameOfVersion, readReference } from './references.ts'
import type { VersionCache } from './version-cache.ts'

type Shares = ReadonlyArray<LabelShare & { readonly entry: PromptEntry }>

interface LinkContext {
  readonly latest: { get (id: string): PromptEntry | undefined }
  readonly tools: Pick<ReadonlyMap<string, CallableTool>, 'get'>
}

/** A partial is taken from the same label, if its prompt has that label. */
class LabelEnvironment {
  readonly #label: string
  readonly #shares = new Map<string, Shares>()
  readonly #linker: Linker
  #stale = new Set<Lookup>()
  readonly #changed = new Set<string>()

  constructor (label: string, { latest, tools }: LinkContext) {
    this.#label = label
    this.#linker = new Linker({ get: id => heaviest(this.#shares.get(id))?.entry ?? latest.get(id) }, tools)
  }

  get isEmpty (): boolean {
    return this.#shares.size === 0
  }

  of (id: string): Shares | undefined {
    return this.#shares.get(id)
  }

  set (id: string, shares: Shares): boolean {
    const before = this.#shares.get(id) ?? []
    const isSame = before.length === shares.length && before.every((each, index) => each.entry === shares[index]?.entry && each.weight === shares[index].weight)
    if (isSame) return false
    if (shares.length === 0) this.#shares.delete(id)
    else this.#shares.set(id, shares)
    for (const { entry } of before) if (!shares.some(share => share.entry === entry)) this.#linker.drop(entry)
    this.#stale.add(`prompt ${id}`)
    this.#changed.add(id)
    return true
  }

  /** `names` stand for something else than before, for other reasons than this label. */
  async affected (names: readonly Lookup[], slices: Slices): Promise<ReadonlySet<string>> {
    const ids = new Set(this.#changed)
    for (const entry of await this.#linker.forget([...names, ...this.#stale], slices)) {
      if (this.#shares.get(entry.id)?.some(share => share.entry === entry) === true) ids.add(entry.id)
    }
    this.#stale = new Set()
    this.#changed.clear()
    return ids
  }

  link (id: string): readonly ReleasedVersion[] {
    return (this.#shares.get(id) ?? []).map(({ version, weight, entry }) => ({ version, weight, prompt: this.#linker.link(entry, this.#label) }))
  }
}

/** Of equal weights the newest. Partials are chosen before any request, when no caller has sent a key yet. */
export function heaviest<Share extends Pick<LabelShare, 'weight'>> (shares: readonly Share[] | undefined): Share | undefined {
  return shares?.reduce((most, share) => share.weight > most.weight ? share : most)
}

/** Pinned: named with the number by other prompts (`{{> "review.system@7"}}`). */
class Pins {
  readonly #counts = new Map<string, Map<number, number>>()

  add (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, 1)
  }

  remove (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, -1)
  }

  of (id: string): readonly number[] {
    return [...this.#counts.get(id)?.keys() ?? []]
  }

  #change (entry: PromptEntry | undefined, by: 1 | -1): readonly string[] {
    const ids: string[] = []
    for (const { id, version } of pinsOf(entry)) {
      const counts = this.#counts.get(id) ?? new Map<number, number>()
      const count = (counts.get(version) ?? 0) + by
      if (count > 0) counts.set(version, count)
      else counts.delete(version)
      if (counts.size > 0) this.#counts.set(id, counts)
      else this.#counts.delete(id)
      ids.push(id)
    }
    return ids
  }
}

/** A name (`system@7`) that can mean two ids gives a version of each. */
function pinsOf (entry: PromptEntry | undefined): Array<{ readonly id: string, readonly version: number }> {
  const references = entry?.compiled.texts.flatMap(({ references }) => references) ?? []
  return references
    .filter(reference => reference.name.includes('@') && isPartial(reference))
    .flatMap(({ name }) => idsMeant((entry as PromptEntry).id, name))
    .flatMap(meant => {
      const { id, version } = readReference(meant) ?? {}
      return id === undefined || version === undefined ? [] : [{ id, version }]
    })
}

interface ReleaseLinkerOptions extends LinkContext {
  readonly table: EntryTable<ReleaseEntry>
  readonly shelf: VersionCache
}

/** Reads versions that labels mean or prompts pin, and links each label's prompts; unchanged releases stay the same objects. */
export class ReleaseLinker {
  readonly #options: ReleaseLinkerOptions
  readonly #pins = new Pins()
  readonly #entries = new Map<string, { readonly key: string, readonly entry: ReleaseEntry }>()
  readonly #ids = new Map<string, string>()
  readonly #environments = new Map<string, LabelEnvironment>()
  readonly #linked = new Map<string, ReadonlyMap<string, readonly ReleasedVersion[]>>()
  readonly #problems = new Map<string, EntryProblem>()
  readonly #gaps = new Set<string>()
  #found = new Set<string>()
  #releases: ReadonlyMap<string, PromptRelease> = new Map()
  #touched = new Set<string>()

  constructor (options: ReleaseLinkerOptions) {
    this.#options = { ...options, latest: { get: id => options.latest.get(id) ?? this.pinned(id) } }
  }

  pinsOf (id: string): readonly number[] {
    return this.#pins.of(id)
  }

  problems (): readonly EntryProblem[] {
    return [...this.#problems.values()]
  }

  pinned (name: string): PromptEntry | undefined {
    const reference = readReference(name)
    if (reference === undefined) return undefined
    const { id, label, version } = reference
    if (version !== undefined) return this.#options.shelf.get(id, version)
    return label === undefined ? undefined : heaviest(this.#environments.get(label)?.of(id))?.entry
  }

  async fillGaps (slices: Slices): Promise<boolean> {
    this.#options.shelf.beginRetry()
    if (this.#gaps.size === 0) return false
    for (const { id } of await this.#fill(this.#gaps, slices)) this.#found.add(id)
    return this.#found.size > 0
  }

  /** Returns the names of versions and labels whose meaning has changed. */
  async load (keys: ReadonlySet<string>, prompts: ReadonlyMap<string, PromptEntry | undefined>, slices: Slices): Promise<readonly Lookup[]> {
    const ids = this.#found
    this.#found = new Set()
    for (const id of this.#takeRecords(keys)) ids.add(id)
    for (const [id, before] of prompts) {
      for (const pinned of [...this.#pins.remove(before), ...this.#pins.add(this.#direct(id))]) ids.add(pinned)
      if (this.#entries.has(id)) this.#touched.add(id)
      if (slices.isDue()) await slices.pause()
    }
    await this.#fillAll(ids, slices)
    const names: Lookup[] = []
    for (const id of ids) {
      names.push(...this.#settle(id))
      if (slices.isDue()) await slices.pause()
    }
    return names
  }

  async link (names: readonly Lookup[], slices: Slices): Promise<ReadonlyMap<string, PromptRelease>> {
    for (const [label, environment] of this.#environments) {
      for (const id of await environment.affected(names, slices)) {
        const linked = new Map(this.#linked.get(id))
        const versions = environment.link(id)
        if (versions.length === 0) linked.delete(label)
        else linked.set(label, versions)
        this.#linked.set(id, linked)
        this.#touched.add(id)
        if (slices.isDue()) await slices.pause()
      }
      if (environment.isEmpty) this.#environments.delete(label)
    }
    if (this.#touched.size === 0) return this.#releases
    const releases = new Map(this.#releases)
    for (const id of this.#touched) {
      const known = this.#entries.get(id)
      if (known === undefined) releases.delete(id)
      else releases.set(id, this.#describe(id, known.entry))
      if (slices.isDue()) await slices.pause()
    }
    this.#touched = new Set()
    this.#releases = releases
    return releases
  }

  #direct (id: string): PromptEntry | undefined {
    const entry = this.#options.latest.get(id)
    return entry?.version === undefined ? entry : undefined
  }

  #takeRecords (keys: ReadonlySet<string>): readonly string[] {
    const ids: string[] = []
    for (const key of keys) {
      const entry = this.#options.table.entry(key)
      const id = entry?.id ?? this.#ids.get(key)
      if (id === undefined) continue
      if (entry === undefined) {
        this.#entries.delete(id)
        this.#ids.delete(key)
      } else {
        this.#entries.set(id, { key, entry })
        this.#ids.set(key, id)
      }
      this.#touched.add(id)
      ids.push(id)
    }
    return ids
  }

  async #fillAll (ids: Set<string>, slices: Slices): Promise<void> {
    let next: ReadonlySet<string> = ids
    while (next.size > 0) {
      const pinned = new Set<string>()
      for (const entry of await this.#fill(next, slices)) for (const id of this.#pins.add(entry)) pinned.add(id)
      for (const id of pinned) ids.add(id)
      next = pinned
    }
  }

  async #fill (ids: Iterable<string>, slices: Slices): Promise<readonly PromptEntry[]> {
    const { shelf } = this.#options
    const wanted = [...ids].flatMap(id => this.#wantedOf(id).filter(n => shelf.get(id, n) === undefined).map(n => ({ id, n, tag: this.#noteOf(id, n)?.tag })))
    return await shelf.fill(wanted, (id, tag) => this.#twin(id, tag), slices)
  }

  #noteOf (id: string, n: number) {
    return this.#entries.get(id)?.entry.record.versions.find(version => version.n === n)
  }

  /** A prompt with the version's hash saves reading the version. */
  #twin (id: string, tag: string): PromptEntry | undefined {
    const direct = this.#direct(id)
    return direct?.hash === tag ? direct : undefined
  }

  #wantedOf (id: string): readonly number[] {
    const record = this.#entries.get(id)?.entry.record
    if (record === undefined) return []
    const pinned = this.#pins.of(id).filter(n => this.#noteOf(id, n) !== undefined)
    return [...new Set([...[...record.labels.values()].flatMap(target => sharesOf(target).map(({ version }) => version)), ...pinned])]
  }

  /** A label changes only when all its versions could be read. Returns the names whose meaning has changed. */
  #settle (id: string): Lookup[] {
    const { shelf } = this.#options
    const known = this.#entries.get(id)
    const labels = known?.entry.record.labels ?? new Map<string, never>()
    const names = this.#pins.of(id).map((n): Lookup => `prompt ${nameOfVersion(id, n)}`)
    const missing: Diagnostic[] = []
    let servesLastGood = true
    for (const [label, environment] of this.#environments) if (!labels.has(label) && environment.set(id, [])) names.push(`prompt ${id}@${label}`)
    for (const [label, target] of labels) {
      const wanted = sharesOf(target)
      const shares = wanted.flatMap(share => {
        const entry = shelf.get(id, share.version)
        return entry === undefined ? [] : [{ ...share, entry }]
      })
      const environment = this.#environmentOf(label)
      if (shares.length === wanted.length) {
        if (environment.set(id, shares)) names.push(`prompt ${id}@${label}`)
        continue
      }
      servesLastGood &&= environment.of(id) !== undefined
      const lost = wanted.filter(({ version }) => shelf.get(id, version) === undefined)
      missing.push(...lost.map(({ version }) => missingVersion(label, version, shelf.problem(id, version), environment.of(id))))
    }
    this.#remember(id, known?.key, missing, servesLastGood)
    this.#tidy(id)
    return names
  }

  #remember (id: string, key: string | undefined, missing: readonly Diagnostic[], servesLastGood: boolean): void {
    const { shelf } = this.#options
    if (key === undefined || missing.length === 0) this.#problems.delete(id)
    else this.#problems.set(id, { key, diagnostics: missing, servesLastGood })
    if (this.#wantedOf(id).some(n => shelf.get(id, n) === undefined)) this.#gaps.add(id)
    else this.#gaps.delete(id)
  }

  #tidy (id: string): void {
    const { shelf } = this.#options
    const kept = new Set([
      ...this.#wantedOf(id),
      ...[...this.#environments.values()].flatMap(environment => environment.of(id)?.map(({ version }) => version) ?? [])
    ])
    for (const n of shelf.versionsOf(id)) if (!kept.has(n)) this.#pins.remove(shelf.drop(id, n))
  }

  #environmentOf (label: string): LabelEnvironment {
    const environment = this.#environments.get(label) ?? new LabelEnvironment(label, this.#options)
    this.#environments.set(label, environment)
    return environment
  }

  #describe (id: string, { record, hash }: ReleaseEntry): PromptRelease {
    const content = this.#direct(id)?.hash
    const linked = this.#linked.get(id) ?? new Map<string, never>()
    return {
      id,
      record,
      hash,
      latest: record.versions.find(({ tag }) => tag === content)?.n,
      labels: new Map([...record.labels.keys()].map(label => [label, linked.get(label) ?? []]))
    }
  }
}

function missingVersion (label: string, version: number, problem: Diagnostic | undefined, inForce: Shares | undefined): Diagnostic {
  const reason = problem?.code === 'VERSION_MISSING' || problem === undefined ? '' : `: ${problem.message}`
  const served = inForce === undefined ? 'nothing is served under it' : `${inForce.map(share => share.version).join(', ')} is served in its place`
  return { severity: 'error', code: 'VERSION_MISSING', message: `label ${label} means version ${version}, which cannot be read${reason}; ${served}` }
}
