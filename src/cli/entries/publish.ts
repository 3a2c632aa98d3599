import { type Json } from '../../base/json.ts'
import { type ApiClient, apiPath, type TaggedReply } from '../api-client.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { type EntryKind } from './entry-kinds.ts'
import { type EntryText } from './entry-text.ts'

/** The data that is sent with an entry beside its text. */
export interface Publication {
  /** The headers that make the publication conditional: `If-Match`, `If-None-Match`. */
  readonly conditions?: Readonly<Record<string, string>>
  /** What has changed, and where the entry comes from; kept where versions are recorded. */
  readonly about?: Readonly<Record<string, string>>
}

/** The address of an entry. */
export function pathOf ({ path, below }: EntryKind, id: string): string {
  return apiPath('api', ...path, id, ...(below === undefined ? [] : [below]))
}

/** Stores an entry. @throws CliError when it is refused */
export async function publish (
  api: ApiClient,
  kind: EntryKind,
  id: string,
  { text, type }: EntryText,
  { conditions = {}, about = {} }: Publication = {}
): Promise<TaggedReply & { readonly isNew: boolean }> {
  const search = new URLSearchParams(about).toString()
  return await api.put(`${pathOf(kind, id)}${search === '' ? '' : `?${search}`}`, text, { 'content-type': type, ...conditions })
}

/** Says what was noticed about an entry. */
export async function tellDiagnostics (output: Output, diagnostics: Json | undefined): Promise<void> {
  for (const { severity, message } of listOf(diagnostics).map(objectOf)) await output.words(`${textOf(severity)}: ${textOf(message)}`)
}
