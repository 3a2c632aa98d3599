import { isJsonObject, type Json, type JsonObject, ownField } from '../../base/json.ts'
import { beginningOf, describeKind } from '../../base/text.ts'
import { jsonIn } from '../../llm/json-in.ts'

export const ACTION_KINDS = ['CREATE_FILE', 'CREATE_DIR', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR'] as const

export const ACTION_KINDS_2 = [...ACTION_KINDS, 'EDIT_FILE'] as const

type PlanActionKind = typeof ACTION_KINDS_2[number]

export interface PlanAction {
  readonly kind: PlanActionKind
  readonly path: string
  readonly content?: string
  /** `search` becomes `replace`. */
  readonly edits?: ReadonlyArray<{ readonly search: string, readonly replace: string }>
}

export type ContextRequest =
  | { readonly type: 'read_file', readonly path: string, readonly start_line?: number, readonly end_line?: number }
  | { readonly type: 'search', readonly query: string, readonly glob?: string }
  | { readonly type: 'logs', readonly source: string, readonly last_n?: number }
  | { readonly type: 'env' }
  /** In schema 2 only. */
  | { readonly type: 'list', readonly path?: string, readonly glob?: string }

export interface PlanReply {
  /** A bare `array` of actions has no summary and no requests for context. */
  readonly form: 'object' | 'array'
  readonly actions: readonly PlanAction[]
  readonly summary: string
  readonly requests: readonly ContextRequest[]
  /** Not checked yet. */
  readonly patch: JsonObject
  readonly json: Json
}

/** `code` is for programs, `message` for the model and the user. */
export interface PlanProblem {
  readonly code: string
  readonly message: string
}

/** Lines of a log. */
const LOG_LINES = { default: 200, most: 5000 }

/** UTF-16 units of the answer that an error message repeats. */
const MAX_SHOWN = 60

/** Also reads an answer inside a code fence. */
export function parsePlan (text: string, version: number, isEarlier?: true): PlanReply | PlanProblem {
  if (!/[[{]/.test(text)) return { code: 'ERR_JSON_EXTRACT', message: 'the answer has no JSON object and no array' }
  const json = jsonIn(text, isEarlier)
  if ('reason' in json) return { code: 'ERR_JSON_PARSE', message: `the answer is not JSON: ${json.reason}` }
  try {
    return replyOf(json.value, version)
  } catch (error) {
    if (!(error instanceof WrongForm)) throw error
    return { code: 'ERR_SCHEMA_VALIDATION', message: error.message }
  }
}

export function isProblem (value: PlanReply | PlanProblem): value is PlanProblem {
  return 'code' in value
}

class WrongForm extends Error {
  constructor (place: string, expected: string, value: Json | undefined) {
    const kind = value === undefined ? 'nothing' : describeKind(value)
    super(`${place}: expected ${expected}, got ${typeof value === 'string' ? `"${beginningOf(value, MAX_SHOWN)}"` : kind}`)
  }
}

function replyOf (json: Json, version: number): PlanReply {
  if (Array.isArray(json)) {
    const actions = json.map((each: Json, index) => actionOf(each, `[${index}]`, version))
    return { form: 'array', actions, summary: '', requests: [], patch: {}, json }
  }
  const reply = objectOf(json, 'the answer')
  const proposed = member(reply, 'proposed_changes')
  const own = member(reply, 'actions')
  const actions = own !== undefined || proposed === undefined ? own : member(objectOf(proposed, 'proposed_changes'), 'actions')
  const place = own === undefined ? 'proposed_changes.actions' : 'actions'
  const patch = member(reply, 'memory_patch')
  return {
    form: 'object',
    actions: listOf(actions, place).map((each, index) => actionOf(each, `${place}[${index}]`, version)),
    summary: optionalText(reply, 'summary', '') ?? '',
    requests: listOf(member(reply, 'context_requests'), 'context_requests').map((each, index) => requestOf(each, `context_requests[${index}]`, version)),
    patch: patch === undefined ? {} : withoutNulls(objectOf(patch, 'memory_patch')),
    json
  }
}

function actionOf (value: Json, place: string, version: number): PlanAction {
  const action = objectOf(value, place)
  const kind = member(action, 'kind')
  const kinds: readonly PlanActionKind[] = version === 1 ? ACTION_KINDS : ACTION_KINDS_2
  const known = kinds.find(each => each === kind)
  if (known === undefined) throw new WrongForm(`${place}.kind`, `one of ${kinds.join(', ')}`, kind)
  const path = requiredText(action, 'path', place)
  if (known === 'EDIT_FILE') {
    const edits = listOf(member(action, 'edits'), `${place}.edits`)
    return { kind: known, path, edits: edits.map((each, index) => editOf(each, `${place}.edits[${index}]`)) }
  }
  const content = known === 'CREATE_FILE' || known === 'UPDATE_FILE' ? optionalText(action, 'content', place) : undefined
  return { kind: known, path, ...(content === undefined ? {} : { content }) }
}

function editOf (value: Json, place: string): { readonly search: string, readonly replace: string } {
  const edit = objectOf(value, place)
  return { search: requiredText(edit, 'search', place), replace: requiredText(edit, 'replace', place) }
}

function requestOf (value: Json, place: string, version: number): ContextRequest {
  const request = objectOf(value, place)
  const type = member(request, 'type')
  switch (type) {
    case 'read_file': {
      const [start, end] = [lineOf(request, 'start_line', place), lineOf(request, 'end_line', place)]
      const lines = { ...(start === undefined ? {} : { start_line: start }), ...(end === undefined ? {} : { end_line: end }) }
      return { type, path: requiredText(request, 'path', place), ...lines }
    }
    case 'search': {
      const glob = optionalText(request, 'glob', place)
      return { type, query: requiredText(request, 'query', place), ...(glob === undefined || glob === '' ? {} : { glob }) }
    }
    case 'logs': {
      const lines = lineOf(request, 'last_n', place) ?? LOG_LINES.default
      return { type, source: requiredText(request, 'source', place), last_n: Math.min(Math.max(lines, 1), LOG_LINES.most) }
    }
    case 'env':
      return { type }
    default: {
      if (version === 1 || type !== 'list') throw new WrongForm(`${place}.type`, `one of read_file, search, logs, env${version === 1 ? '' : ', list'}`, type)
      const [path, glob] = [optionalText(request, 'path', place), optionalText(request, 'glob', place)]
      return { type, ...(path === undefined || path === '' ? {} : { path }), ...(glob === undefined || glob === '' ? {} : { glob }) }
    }
  }
}

/** Under a strict schema the model must write null where it would leave a member out. */
function member (object: JsonObject, name: string): Json | undefined {
  const value = ownField(object, name)
  return value === null ? undefined : value
}

/** Under a strict schema the model must write null where it would leave a member out. */
function withoutNulls (object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

function objectOf (value: Json, place: string): JsonObject {
  if (!isJsonObject(value)) throw new WrongForm(place, 'an object', value)
  return value
}

function listOf (value: Json | undefined, place: string): readonly Json[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new WrongForm(place, 'an array', value)
  return value as readonly Json[]
}

function optionalText (object: JsonObject, name: string, place: string): string | undefined {
  const value = member(object, name)
  if (value !== undefined && typeof value !== 'string') throw new WrongForm(place === '' ? name : `${place}.${name}`, 'a text', value)
  return value
}

function requiredText (object: JsonObject, name: string, place: string): string {
  const value = optionalText(object, name, place)
  if (value === undefined) throw new WrongForm(`${place}.${name}`, 'a text', value)
  return value
}

function lineOf (object: JsonObject, name: string, place: string): number | undefined {
  const value = member(object, name)
  if (value !== undefined && !Number.isSafeInteger(value)) throw new WrongForm(`${place}.${name}`, 'a whole number', value)
  return value as number | undefined
}
