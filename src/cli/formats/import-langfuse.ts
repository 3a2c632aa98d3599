import { contentHash, type JsonObject, stringifyJson } from '../../base/json.ts'
import { asPromptObject } from '../../registry/kinds/prompt/as-prompt-object.ts'
import { type ApiClient, apiPath } from '../api-client.ts'
import { ENTRY_KINDS, type EntryKind } from '../entries/entry-kinds.ts'
import { publish } from '../entries/publish.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type ImportedPrompt, type ImportedVersion } from './langfuse/langfuse-prompts.ts'
import { type FolderEntry } from './write-files.ts'

const PROMPTS = ENTRY_KINDS.find(({ key }) => key === 'templates') as EntryKind

/** The files of an imported prompt: its latest version, every version under its number, and the record of its labels. */
export function entriesOf ({ id, versions, labels }: ImportedPrompt): readonly FolderEntry[] {
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

/**
 * Publishes the versions of a prompt, the oldest first, then moves its labels. The service gives the versions new numbers.
 * @returns the labels that were moved, each with its version at the service
 * @throws CliError when the service refuses anything
 */
export async function publishImported (api: ApiClient, { id, versions, labels }: ImportedPrompt): Promise<JsonObject> {
  for (const { n, entry, note } of versions) {
    const about = { source: sourceOf(n), ...(note === undefined ? {} : { note }) }
    await publish(api, PROMPTS, id, { text: stringifyJson(entry), type: 'application/json' }, { about })
  }
  const path = apiPath('api', 'prompts', id, 'versions')
  const recorded = listOf(objectOf(await api.get(path))['versions']).map(objectOf)
  const moved: Array<[string, number]> = []
  for (const [label, n] of labels) {
    const number = Number(recorded.find(({ source }) => textOf(source) === sourceOf(n))?.['n'])
    if (Number.isNaN(number)) continue
    const body = stringifyJson({ version: number, note: 'imported from Langfuse' })
    await api.put(apiPath('api', 'prompts', id, 'labels', label), body, { 'content-type': 'application/json' })
    moved.push([label, number])
  }
  return Object.fromEntries(moved)
}

function recordedVersion ({ n, entry, at, by, note }: ImportedVersion): JsonObject {
  return { n, tag: contentHash(asPromptObject(entry)), at, by, ...(note === undefined ? {} : { note }), source: sourceOf(n) }
}

function sourceOf (n: number): string {
  return `langfuse:${n}`
}
