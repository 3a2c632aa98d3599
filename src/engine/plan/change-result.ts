import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type Conflict } from '../../files/change/conflict.ts'
import { type PlanProblem } from './parse-plan.ts'
import { type ChangedPath } from './plan-state.ts'

/** What a change would look like. */
export interface Preview {
  /** The first of them, with diffs. */
  readonly files: readonly JsonObject[]
  /** How many more there are. */
  readonly more: number
  /** All that is touched, with what was there. */
  readonly shown: readonly JsonObject[]
  /** What is left alone, since somebody else has been there. */
  readonly conflicts: readonly Conflict[]
}

/** Reads a preview, or why there is none. */
export function previewOf (result: Json): Preview | PlanProblem {
  const blocks = listIn(result, 'blocks')
  const preview = blocks.find(({ type }) => type === 'preview')
  if (preview !== undefined) return { files: listIn(preview, 'files'), more: typeof preview['more'] === 'number' ? preview['more'] : 0, shown: listIn(preview, 'shown'), conflicts: conflictsIn(preview) }
  const missing = blocks.find(({ type }) => type === 'missing') ?? {}
  const [code, reason] = [textIn(missing, 'code'), textIn(missing, 'reason')]
  if (code === '') return { code: 'INTERNAL', message: `the change could not be shown: ${reason}` }
  return { code, message: reason.startsWith(`${code}: `) ? reason.slice(code.length + 2) : reason }
}

/** What a change has left alone, since somebody else had been there: `files/` wrote the reasons. */
export function conflictsIn (result: Json): Conflict[] {
  return listIn(result, 'conflicts').map(each => ({ path: textIn(each, 'path'), reason: textIn(each, 'reason') as Conflict['reason'] }))
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
