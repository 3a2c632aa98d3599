import { type Json } from '../../base/json.ts'
import { type ApiClient, apiPath, type TaggedReply } from '../api-client.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { type EntryKind } from './entry-kinds.ts'
import { type EntryText } from './entry-text.ts'

/** What is sent with an entry in addition to its text. */
export interface Publication {
  /** The headers that make the publication conditional: `If-Match`, `If-None-Match`. */
  readonly conditions?: Readonly<Record<string, string>>
  /** The note on the change and its source, such as a git commit. A service that records versions keeps both with the new version of a prompt. */
  readonly about?: Readonly<Record<string, string>>
  /** Whether the service only checks the entry. */
  readonly isDryRun?: boolean
}

/** The API path of an entry. */
export function pathOf ({ path, below }: EntryKind, id: string): string {
  return apiPath('api', ...path, id, ...(below === undefined ? [] : [below]))
}

/** Stores an entry at the service. @throws CliError when the service refuses the entry */
export async function publish (
  api: ApiClient,
  kind: EntryKind,
  id: string,
  { text, type }: EntryText,
  { conditions = {}, about = {}, isDryRun = false }: Publication = {}
): Promise<TaggedReply & { readonly isNew: boolean }> {
  const search = new URLSearchParams(isDryRun ? { dryRun: 'true' } : about).toString()
  return await api.put(`${pathOf(kind, id)}${search === '' ? '' : `?${search}`}`, text, { 'content-type': type, ...conditions })
}

/** Prints the diagnostics (errors, warnings and hints) that a reply contains about an entry. */
export async function tellDiagnostics (output: Output, diagnostics: Json | undefined): Promise<void> {
  for (const { severity, message } of listOf(diagnostics).map(objectOf)) await output.words(`${textOf(severity)}: ${textOf(message)}`)
}
