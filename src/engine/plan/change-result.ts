import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type ChangedPath } from './plan-state.ts'

/** What a change would look like. */
export function previewOf (result: Json): { readonly files: readonly JsonObject[], readonly digest: string } | { readonly reason: string } {
  const blocks = listIn(result, 'blocks')
  const preview = blocks.find(({ type }) => type === 'preview')
  if (preview !== undefined) return { files: listIn(preview, 'files'), digest: textIn(preview, 'digest') }
  const [missing] = blocks.filter(({ type }) => type === 'missing')
  return { reason: missing === undefined ? 'the change could not be shown' : textIn(missing, 'reason') }
}

/** The paths that a change has changed; `undefined` when it does not say. */
export function changedIn (result: Json): ChangedPath[] | undefined {
  if (!isJsonObject(result) || !Array.isArray(result['applied'])) return undefined
  return listIn(result, 'applied').map(each => ({ kind: textIn(each, 'kind'), path: textIn(each, 'path') }))
}

/** What a check printed that did not pass; `undefined` for one that did. */
export function failedCheck (result: Json): string | undefined {
  if (!isJsonObject(result)) return 'it has no result'
  const { outcome, exitCode } = result
  if (outcome === 'exited' && exitCode === 0) return undefined
  const output = [textIn(result, 'stdout'), textIn(result, 'stderr')].filter(text => text !== '').join('\n')
  return `${outcome === 'exited' ? `exit code ${String(exitCode)}` : textIn(result, 'outcome')}${output === '' ? '' : `\n${output}`}`
}

function listIn (value: Json, name: string): readonly JsonObject[] {
  const list = isJsonObject(value) ? value[name] : undefined
  return Array.isArray(list) ? (list as readonly Json[]).filter(isJsonObject) : []
}

function textIn (value: JsonObject, name: string): string {
  const text = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof text === 'string' ? text : ''
}
