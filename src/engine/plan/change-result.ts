import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type Conflict } from '../../files/change/conflict.ts'
import { type PlanProblem } from './parse-plan.ts'
import { type ChangedPath } from './plan-state.ts'

/** The preview of a change: what the change will do to the files. */
export interface Preview {
  /** The first files of the change, with their diffs. */
  readonly files: readonly JsonObject[]
  /** How many files of the change are not in `files`. */
  readonly more: number
  /** Every path that the change touches, with the state of the path before and after the change. */
  readonly shown: readonly JsonObject[]
  /** The paths that the change does not touch, since somebody else has changed them. */
  readonly conflicts: readonly Conflict[]
}

/** Takes the preview of a change out of `result`, which the workspace gave. A `PlanProblem` says why the change could not be previewed. */
export function previewOf (result: Json): Preview | PlanProblem {
  const blocks = listIn(result, 'blocks')
  const preview = blocks.find(({ type }) => type === 'preview')
  if (preview !== undefined) {
    const { more } = preview
    return { files: listIn(preview, 'files'), more: typeof more === 'number' ? more : 0, shown: listIn(preview, 'shown'), conflicts: conflictsIn(preview) }
  }
  const missing = blocks.find(({ type }) => type === 'missing') ?? {}
  const [code, reason] = [textIn(missing, 'code'), textIn(missing, 'reason')]
  if (code === '') return { code: 'INTERNAL', message: `the change could not be shown: ${reason}` }
  return { code, message: reason.startsWith(`${code}: `) ? reason.slice(code.length + 2) : reason }
}

/** The paths that a change did not touch, since somebody else has changed them, each with the reason for it. */
export function conflictsIn (result: Json): Conflict[] {
  return listIn(result, 'conflicts').map(each => ({ path: textIn(each, 'path'), reason: textIn(each, 'reason') as Conflict['reason'] }))
}

/** The paths that were really changed, as the result of the change lists them; `undefined` when the result has no such list. */
export function changedIn (result: Json): ChangedPath[] | undefined {
  if (!isJsonObject(result) || !Array.isArray(result['applied'])) return undefined
  return listIn(result, 'applied').map(each => ({ kind: textIn(each, 'kind'), path: textIn(each, 'path') }))
}

/** The exit code and the output of a check that failed; `undefined` for a check that passed. */
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
