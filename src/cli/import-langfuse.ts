import { contentHash, type JsonObject, objectOf, stringifyJson } from '../base/json.ts'
import { asPromptObject } from '../registry/kinds/entry-kind.ts'
import { type ApiClient, ApiError } from './api-client.ts'
import { ENTRY_KINDS, type CliKind, publish } from './entries.ts'
import { CliError, EXIT } from './output.ts'
import { type ImportedPrompt, type ImportedVersion } from './langfuse-prompts.ts'
import { type EntryFile } from './entry-files.ts'
import { moveLabel } from './release.ts'

const PROMPTS = ENTRY_KINDS.find(({ key }) => key === 'templates') as CliKind

interface PublishedPrompt {
  readonly id: string
  readonly versions: number[]
  readonly labels: Map<string, number>
}

interface VersionImport { readonly prompt: ImportedPrompt, readonly version: ImportedVersion }

export function entriesOf ({ id, versions, labels }: ImportedPrompt): readonly EntryFile[] {
  const latest = versions.at(-1)
  if (latest === undefined) return []
  const record = {
    next: latest.n + 1,
    labels: Object.fromEntries(labels),
    versions: versions.map(recordedVersion).toReversed(),
    moves: []
  }
  return [
    { kind: 'templates', id, value: latest.entry },
    ...versions.map(({ n, entry }) => ({ kind: 'versions', id: `${id}.${n}`, value: { entry } })),
    { kind: 'releases', id, value: record }
  ]
}

function recordedVersion ({ n, entry, at, by, note }: ImportedVersion): JsonObject {
  return { n, tag: contentHash(asPromptObject(entry)), at, by, ...(note === undefined ? {} : { note }), source: sourceOf(n) }
}

/** In order of references; versions published before are skipped by their source. @throws CliError before any is published, or on refusal */
export async function publishImported (api: ApiClient, prompts: readonly ImportedPrompt[]): Promise<readonly PublishedPrompt[]> {
  const steps = inOrder(prompts)
  const records = new Map<string, ServiceRecord>()
  for (const id of new Set(steps.flatMap(({ prompt, version }) => [prompt.id, ...version.references.map(reference => reference.id)]))) {
    records.set(id, await recordOf(api, id))
  }
  checkReferences(steps, records)
  const published = new Map(prompts.map(({ id }): [string, PublishedPrompt] => [id, { id, versions: [], labels: new Map() }]))
  let count = 0
  for (const { prompt, version } of steps) {
    try {
      const { isNew, number } = await publishVersion(api, prompt, version, records)
      if (isNew) count++
      const { versions, labels } = published.get(prompt.id) as PublishedPrompt
      if (number !== undefined && versions.at(-1) !== number) versions.push(number)
      for (const label of await moveLabels(api, prompt, version, number, records)) labels.set(label, number as number)
    } catch (error) {
      if (!(error instanceof CliError)) throw error
      const state = count === 0 ? 'nothing was published' : `${count} of ${steps.length} versions were published; the same command goes on from there`
      throw new CliError(error.exitCode, `${prompt.id} version ${version.n}: ${error.message}; ${state}`)
    }
  }
  return [...published.values()]
}

/** Langfuse repeats equal texts, a service keeps one. @returns `undefined` for a version that the service has dropped */
async function publishVersion (
  api: ApiClient,
  { id, versions }: ImportedPrompt,
  version: ImportedVersion,
  records: ReadonlyMap<string, ServiceRecord>
): Promise<{ readonly isNew: boolean, readonly number: number | undefined }> {
  const { numbers, newest } = records.get(id) as ServiceRecord
  const before = versions[versions.indexOf(version) - 1]
  const isEqual = before !== undefined && contentHash(before.entry) === contentHash(version.entry)
  const known = numbers.get(version.n) ?? (isEqual ? numbers.get(before.n) : undefined)
  if (known !== undefined) numbers.set(version.n, known)
  if (known !== undefined || version.n <= newest) return { isNew: false, number: known }
  const text = stringifyJson(version.renumbered((of, n) => records.get(of)?.numbers.get(n) ?? n))
  const about = { source: sourceOf(version.n), note: version.note }
  const { json } = await publish(api, PROMPTS, id, { text, type: 'application/json' }, { about })
  const number = objectOf(json)['version']
  if (typeof number !== 'number') throw new CliError(EXIT.NO, 'it was published, and the service records no versions; it does with VERSIONS=http')
  numbers.set(version.n, number)
  return { isNew: true, number }
}

async function moveLabels (
  api: ApiClient,
  { id, labels }: ImportedPrompt,
  { n }: ImportedVersion,
  number: number | undefined,
  records: ReadonlyMap<string, ServiceRecord>
): Promise<readonly string[]> {
  const names = [...labels].filter(([, meant]) => meant === n).map(([label]) => label)
  for (const label of names) {
    if (number === undefined) throw new CliError(EXIT.NO, `the label ${label} means it, and the service has dropped that version`)
    if (records.get(id)?.labels[label] === number) continue
    await moveLabel(api, id, label, number, { note: 'imported from Langfuse' })
  }
  return names
}

/** All versions, each behind the version before it, and behind those that it refers to. A circle of references by labels is cut where it closes. */
function inOrder (prompts: readonly ImportedPrompt[]): readonly VersionImport[] {
  const byId = new Map(prompts.map(prompt => [prompt.id, prompt]))
  const seen = new Set<ImportedVersion>()
  const steps: VersionImport[] = []
  const visit = (prompt: ImportedPrompt, index: number) => {
    const version = prompt.versions[index]
    if (version === undefined || seen.has(version)) return
    seen.add(version)
    visit(prompt, index - 1)
    for (const { id, label, version: n } of version.references) {
      const target = byId.get(id)
      const wanted = n ?? target?.labels.get(label ?? '')
      if (target !== undefined) visit(target, wanted === undefined ? target.versions.length - 1 : target.versions.findIndex(each => each.n === wanted))
    }
    steps.push({ prompt, version })
  }
  for (const prompt of prompts) visit(prompt, prompt.versions.length - 1)
  return steps
}

/** @throws CliError */
function checkReferences (steps: readonly VersionImport[], records: ReadonlyMap<string, ServiceRecord>): void {
  const earlier = new Set<string>()
  const lost: string[] = []
  for (const { prompt, version: { n, references } } of steps) {
    for (const { id, version } of references) {
      if (version === undefined || earlier.has(`${id}@${version}`) || records.get(id)?.numbers.has(version) === true) continue
      lost.push(`${prompt.id} version ${n} refers to version ${version} of ${id}`)
    }
    earlier.add(`${prompt.id}@${n}`)
  }
  if (lost.length > 0) throw new CliError(EXIT.NO, `nothing was published: ${lost.join('; ')}: expected it in the export, or imported before, and no circle`)
}

interface ServiceRecord {
  readonly numbers: Map<number, number>
  readonly newest: number
  readonly labels: Readonly<Record<string, unknown>>
}

async function recordOf (api: ApiClient, id: string): Promise<ServiceRecord> {
  const { versions, labels } = await api.ask('get', '/api/prompts/{id}/versions', { id }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return { versions: [], labels: {} }
    throw error
  })
  const numbers = new Map(versions.toReversed().flatMap(({ n, source = '' }) => {
    const [, given] = /^langfuse:(\d+)$/.exec(source) ?? []
    return given === undefined ? [] : [[Number(given), n] as const]
  }))
  return { numbers, newest: Math.max(0, ...numbers.keys()), labels }
}

function sourceOf (n: number): string {
  return `langfuse:${n}`
}
