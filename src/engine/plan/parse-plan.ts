import type { Json, JsonObject } from '../../base/json.ts'
import { fieldsOf, itemsOf, member, optionalText, parseAction, type RequestedAction, requiredText, wrongForm } from '../../files/change/change-rules.ts'
import { FileRefusal } from '../../files/workspace-files.ts'
import { jsonIn } from '../../llm/json-in.ts'

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
  readonly actions: readonly RequestedAction[]
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

/** Also reads an answer inside a code fence. */
export function parsePlan (text: string, version: number, isEarlier?: true): PlanReply | PlanProblem {
  if (!/[[{]/.test(text)) return { code: 'ERR_JSON_EXTRACT', message: 'the answer has no JSON object and no array' }
  const json = jsonIn(text, isEarlier)
  if ('reason' in json) return { code: 'ERR_JSON_PARSE', message: `the answer is not JSON: ${json.reason}` }
  try {
    return replyOf(json.value, version)
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return { code: error.code, message: error.message }
  }
}

export function isProblem (value: PlanReply | PlanProblem): value is PlanProblem {
  return 'code' in value
}

function replyOf (json: Json, version: number): PlanReply {
  if (Array.isArray(json)) {
    const actions = json.map((each: Json, index) => parseAction(each, `[${index}]`, version))
    return { form: 'array', actions, summary: '', requests: [], patch: {}, json }
  }
  const reply = fieldsOf(json, 'the answer')
  const proposed = member(reply, 'proposed_changes')
  const own = member(reply, 'actions')
  const actions = own !== undefined || proposed === undefined ? own : member(fieldsOf(proposed, 'proposed_changes'), 'actions')
  const place = own === undefined ? 'proposed_changes.actions' : 'actions'
  const patch = member(reply, 'memory_patch')
  return {
    form: 'object',
    actions: itemsOf(actions, place).map((each, index) => parseAction(each, `${place}[${index}]`, version)),
    summary: optionalText(reply, 'summary', '') ?? '',
    requests: itemsOf(member(reply, 'context_requests'), 'context_requests').map((each, index) => requestOf(each, `context_requests[${index}]`, version)),
    patch: patch === undefined ? {} : withoutNulls(fieldsOf(patch, 'memory_patch')),
    json
  }
}

function requestOf (value: Json, place: string, version: number): ContextRequest {
  const request = fieldsOf(value, place)
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
      if (version === 1 || type !== 'list') throw wrongForm(`${place}.type`, `one of read_file, search, logs, env${version === 1 ? '' : ', list'}`, type)
      const [path, glob] = [optionalText(request, 'path', place), optionalText(request, 'glob', place)]
      return { type, ...(path === undefined || path === '' ? {} : { path }), ...(glob === undefined || glob === '' ? {} : { glob }) }
    }
  }
}

/** Under a strict schema the model must write null where it would leave a member out. */
function withoutNulls (object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

function lineOf (object: JsonObject, name: string, place: string): number | undefined {
  const value = member(object, name)
  if (value !== undefined && !Number.isSafeInteger(value)) throw wrongForm(`${place}.${name}`, 'a whole number', value)
  return value as number | undefined
}
