import type { Slices } from '../../runtime/event-loop.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { EntryProblem, EntryTable } from '../entries/entry-table.ts'
import type { CallableTool, PromptRelease, ReleasedVersion } from '../generation.ts'
import type { PromptEntry } from '../kinds/prompt-kind.ts'
import type { ReleaseEntry } from '../kinds/release-kind.ts'
import { type LabelShare, sharesOf } from '../kinds/release-record.ts'
import { Linker, type Lookup } from './link-prompts.ts'
import { idsMeant, isPartial, nameOfVersion, readReference } from './references.ts'
import type { VersionCache } from './version-shelf.ts'

/** The versions of a prompt that a label means, each with its weight and its parsed entry. */
type Shares = ReadonlyArray<LabelShare & { readonly entry: PromptEntry }>

/** What the names in the prompts of a label mean when the label has no version for them: the prompts that are served without a label, and the tools. */
interface LinkContext {
  readonly latest: { get (id: string): PromptEntry | undefined }
  readonly tools: Pick<ReadonlyMap<string, CallableTool>, 'get'>
}

/** All prompts under one label, such as `production`. A partial is taken from the same label, if the partial's prompt has that label. */
class LabelEnvironment {
  readonly #label: string
  readonly #shares = new Map<string, Shares>()
  readonly #linker: Linker
  /** The prompts of which the label stands for other versions than when the names in the texts were last resolved. */
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

  /** Sets which versions of a prompt the label stands for. @returns whether they differ from the versions that it stood for before */
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

  /**
   * The ids of the label's prompts whose names must be resolved anew.
   * @param names the names that stand for something else than before, for other reasons than a change of this label
   */
  async affected (names: readonly Lookup[], slices: Slices): Promise<ReadonlySet<string>> {
    const ids = new Set(this.#changed)
    for (const entry of await this.#linker.forget([...names, ...this.#stale], slices)) {
      if (this.#shares.get(entry.id)?.some(share => share.entry === entry) === true) ids.add(entry.id)
    }
    this.#stale = new Set()
    this.#changed.clear()
    return ids
  }

  /** The versions of a prompt under the label, with the names in their texts resolved. */
  link (id: string): readonly ReleasedVersion[] {
    return (this.#shares.get(id) ?? []).map(({ version, weight, entry }) => ({ version, weight, prompt: this.#linker.link(entry, this.#label) }))
  }
}

/**
 * The version with the greatest weight, of equal weights the newest; `undefined` when there are no versions. The version of a partial is chosen in this
 * way because it is chosen before any request, when no caller has sent a key yet by which one of the versions is chosen.
 */
export function heaviest<Share extends Pick<LabelShare, 'weight'>> (shares: readonly Share[] | undefined): Share | undefined {
  return shares?.reduce((most, share) => share.weight > most.weight ? share : most)
}

/** Counts which versions of prompts are pinned: named with their number in the texts of other prompts, such as `{{> "review.system@7"}}`. */
class Pins {
  readonly #counts = new Map<string, Map<number, number>>()

  /** Counts the versions that a prompt's texts name with their number. @returns the ids of the named prompts */
  add (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, 1)
  }

  /** Takes back what `add` counted for a prompt. @returns the ids of the prompts that its texts name with a version's number */
  remove (entry: PromptEntry | undefined): readonly string[] {
    return this.#change(entry, -1)
  }

  /** The versions of this prompt that other prompts name with their number. */
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

/** The versions that the texts of a prompt name with their number. A name (`system@7`) that can mean either of two ids gives a version of each. */
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

/** The parts that the release linker works with: the records of releases, the versions, and what names stand for without a label. */
export interface ReleaseLinkerOptions extends LinkContext {
  readonly table: EntryTable<ReleaseEntry>
  readonly shelf: VersionCache
}

/** The prompts that have changed, each with its entry before the change. */
type ChangedPrompts = ReadonlyMap<string, PromptEntry | undefined>

/**
 * Makes the releases of each generation: reads the versions of prompts that labels mean or other prompts pin (name with their number), and links the
 * prompts of each label with each other. Unchanged releases are the same objects in the next generation.
 */
export class ReleaseLinker {
  readonly #options: ReleaseLinkerOptions
  readonly #pins = new Pins()
  readonly #entries = new Map<string, { readonly key: string, readonly entry: ReleaseEntry }>()
  readonly #ids = new Map<string, string>()
  readonly #environments = new Map<string, LabelEnvironment>()
  readonly #linked = new Map<string, ReadonlyMap<string, readonly ReleasedVersion[]>>()
  readonly #problems = new Map<string, EntryProblem>()
  /** The ids of prompts of which a version is needed, by a label or by another prompt, and could not be read from the store. */
  readonly #gaps = new Set<string>()
  /** The ids of prompts of which a missing version has been read since the last generation (snapshot of all entries) was made. */
  #found = new Set<string>()
  #releases: ReadonlyMap<string, PromptRelease> = new Map()
  /** The ids of prompts whose releases must be made anew, because the record, the prompt that is served without a label, or a linked version has changed. */
  #touched = new Set<string>()

  constructor (options: ReleaseLinkerOptions) {
    this.#options = { ...options, latest: { get: id => options.latest.get(id) ?? this.pinned(id) } }
  }

  /** The versions of a prompt that other prompts pin (name with their number). */
  pinsOf (id: string): readonly number[] {
    return this.#pins.of(id)
  }

  /** The problems of labels that do not serve the versions that they stand for, because a version could not be read. One problem for each prompt. */
  problems (): readonly EntryProblem[] {
    return [...this.#problems.values()]
  }

  /** The version of a prompt that a name such as `id@7` or `id@production` means; `undefined` when there is none. */
  pinned (name: string): PromptEntry | undefined {
    const reference = readReference(name)
    if (reference === undefined) return undefined
    const { id, label, version } = reference
    if (version !== undefined) return this.#options.shelf.get(id, version)
    return label === undefined ? undefined : heaviest(this.#environments.get(label)?.of(id))?.entry
  }

  /** Reads again the versions that were missing in the store. @returns whether one was found */
  async fillGaps (slices: Slices): Promise<boolean> {
    this.#options.shelf.beginRetry()
    if (this.#gaps.size === 0) return false
    for (const { id } of await this.#fill(this.#gaps, slices)) this.#found.add(id)
    return this.#found.size > 0
  }

  /**
   * Takes in changed records of releases and changed prompts, and reads the versions that their labels and texts name.
   * @param keys the keys of the changed records
   * @returns the names of versions and labels whose meaning has changed
   */
  async load (keys: ReadonlySet<string>, prompts: ChangedPrompts, slices: Slices): Promise<readonly Lookup[]> {
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

  /** Resolves anew the names in labelled versions that use a changed name. @returns the releases of the next generation, by the prompt's id */
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

  /** Reads the needed versions of these prompts, then the versions that the texts of those versions name with their number, and so on. */
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

  /** The prompt that is served without a label, if its hash is the given one of a version: then the version need not be read. Otherwise `undefined`. */
  #twin (id: string, tag: string): PromptEntry | undefined {
    const direct = this.#direct(id)
    return direct?.hash === tag ? direct : undefined
  }

  /** The needed versions of a prompt: those that its labels stand for, and those of the versions in its record that other prompts name with their number. */
  #wantedOf (id: string): readonly number[] {
    const record = this.#entries.get(id)?.entry.record
    if (record === undefined) return []
    const pinned = this.#pins.of(id).filter(n => this.#noteOf(id, n) !== undefined)
    return [...new Set([...[...record.labels.values()].flatMap(target => sharesOf(target).map(({ version }) => version)), ...pinned])]
  }

  /**
   * Makes the labels of a prompt serve the versions that its record names. A label changes only when all its versions could be read.
   * @returns the names whose meaning has changed
   */
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

  /** Forgets the versions of a prompt that no label stands for any more and no other prompt names with their number. */
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
