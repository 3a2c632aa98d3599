import { describeViolations } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { MAX_EDIT_TEXT, MAX_EDITS } from '../../files/change/action.ts'
import { conflictAmong } from '../../files/change/change-rules.ts'
import { readPatch } from '../../files/memory-rules.ts'
import { describeWhitelist, isForbidden, isProtected, isWhitelisted, normalisePath, type Whitelist } from '../../files/path-rules.ts'
import { type CompiledSchema, compileSchemaLater } from '../../schema/compile.ts'
import { isProblem, parsePlan, type PlanAction, type PlanProblem, type PlanReply } from './parse-plan.ts'
import type { PlanLimits } from './plan-setting.ts'
import type { PlanState } from './plan-state.ts'

/** Share of unprintable characters from which a content is no text. */
const MAX_UNPRINTABLE = 0.1

/** UTF-16 units of paths in messages. */
const MAX_SHOWN = 100

/** By text alone, before any file is read. @returns normalised actions, or the first problem */
export function validateActions (actions: readonly PlanAction[], limits: PlanLimits, whitelist: Whitelist): readonly PlanAction[] | PlanProblem {
  const { max_actions: most, max_total_content_bytes: mostBytes } = limits
  if (actions.length > most) return { code: 'ERR_TOO_MANY_ACTIONS', message: `a plan has at most ${most} actions; this one has ${actions.length}` }
  const normal: PlanAction[] = []
  for (const action of actions) {
    const normalised = normalisePath(action.path)
    if ('code' in normalised) return normalised
    const { path } = normalised
    const problem = problemOfPath(action, path, whitelist) ?? problemOfContent(action, path, limits)
    if (problem !== undefined) return problem
    normal.push({ ...action, path })
  }
  const bytes = normal.reduce((sum, { content = '' }) => sum + bytesOf(content), 0)
  if (bytes > mostBytes) return { code: 'ERR_CONTENT_TOO_LARGE', message: `the contents of a plan have at most ${mostBytes} bytes; these have ${bytes}` }
  const conflict = conflictAmong(normal)
  return conflict === undefined ? normal : conflictOf(...conflict)
}

function problemOfPath ({ kind }: PlanAction, path: string, whitelist: Whitelist): PlanProblem | undefined {
  if (isProtected(path)) return { code: 'PROTECTED_PATH', message: `${quotePath(path)} is protected: it is neither written nor deleted` }
  const isFolder = kind === 'CREATE_DIR' || kind === 'DELETE_DIR'
  const mayChange = isFolder ? !isForbidden(path, whitelist) : isWhitelisted(path, whitelist)
  if (mayChange) return undefined
  return { code: 'FORBIDDEN_PATH', message: `${quotePath(path)} is none of the names that may be changed: ${describeWhitelist(whitelist)}` }
}

function problemOfContent ({ kind, content, edits = [] }: PlanAction, path: string, { max_file_bytes: most }: PlanLimits): PlanProblem | undefined {
  if (kind === 'EDIT_FILE') return problemOfEdits(edits, path)
  if (kind !== 'CREATE_FILE' && kind !== 'UPDATE_FILE') return undefined
  if (content === undefined) return { code: 'ERR_CONTENT_REQUIRED', message: `${kind} of ${quotePath(path)} needs "content"` }
  const bytes = bytesOf(content)
  if (bytes > most) return { code: 'ERR_CONTENT_TOO_LARGE', message: `a file has at most ${most} bytes; ${quotePath(path)} would have ${bytes}` }
  if (!isPseudoBinary(content)) return undefined
  const reason = `it has NUL, half of a character, or more than ${MAX_UNPRINTABLE * 100} % of it cannot be printed`
  return { code: 'ERR_PSEUDO_BINARY', message: `the content of ${quotePath(path)} is no text: ${reason}` }
}

function problemOfEdits (edits: NonNullable<PlanAction['edits']>, path: string): PlanProblem | undefined {
  if (edits.length === 0) return { code: 'ERR_CONTENT_REQUIRED', message: `EDIT_FILE of ${quotePath(path)} needs "edits"` }
  if (edits.length > MAX_EDITS) {
    return { code: 'ERR_SCHEMA_VALIDATION', message: `a file has at most ${MAX_EDITS} edits; ${quotePath(path)} has ${edits.length}` }
  }
  for (const [index, edit] of edits.entries()) {
    const problem = problemOfEdit(edit, `edits[${index}] of ${quotePath(path)}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOfEdit ({ search, replace }: NonNullable<PlanAction['edits']>[number], name: string): PlanProblem | undefined {
  if (search === '') {
    const message = `${name}: "search" is empty; it has the text that is replaced, with enough around it to be found once`
    return { code: 'ERR_SCHEMA_VALIDATION', message }
  }
  if (Math.max(search.length, replace.length) > MAX_EDIT_TEXT) {
    return { code: 'ERR_CONTENT_TOO_LARGE', message: `a text of an edit has at most ${MAX_EDIT_TEXT} characters; ${name} has more` }
  }
  if (isPseudoBinary(replace) || !search.isWellFormed()) return { code: 'ERR_PSEUDO_BINARY', message: `${name} is no text` }
  return undefined
}

/** An unpaired surrogate has no bytes. Unprintable: control characters but line ends and tabs, and U+FFFD for undecodable bytes. */
function isPseudoBinary (content: string): boolean {
  if (content.includes('\0') || !content.isWellFormed()) return true
  let [unprintable, length] = [0, 0]
  for (const point of content) {
    length++
    if (/[\p{Cc}\uFFFD]/u.test(point) && !'\n\r\t'.includes(point)) unprintable++
  }
  return unprintable > length * MAX_UNPRINTABLE
}

function conflictOf (one: PlanAction, other: PlanAction): PlanProblem {
  return { code: 'ERR_ACTION_CONFLICT', message: `${one.kind} of ${quotePath(one.path)} and ${other.kind} of ${quotePath(other.path)} exclude each other` }
}

function bytesOf (text: string): number {
  return Buffer.byteLength(text)
}

function quotePath (path: string): string {
  return JSON.stringify(beginningOf(path, MAX_SHOWN))
}

/** By this beginning the model says that nothing has to change. Else APPLY needs actions, a patch or read requests. */
const NO_CHANGES = 'NO_CHANGES:'

/** Files that an error message names to the model. */
const MAX_NAMED = 5

/** Sessions have different schemas only after an update of the service. */
const MAX_COMPILED = 4

type Judged =
  | { readonly verdict: 'take', readonly reply: PlanReply }
  | { readonly verdict: 'read', readonly reply: PlanReply }
  /** Not yet seen by the model: a file that is replaced unseen loses its content. */
  | { readonly verdict: 'read-bases', readonly paths: readonly string[] }
  | { readonly verdict: 'repair', readonly problem: PlanProblem }

interface JudgedBy extends Pick<PlanState, 'mode' | 'rounds' | 'bases' | 'isDirect'> {
  readonly setting: Pick<PlanState['setting'], 'limits' | 'whitelist' | 'schemaVersion'>
  readonly whole: readonly string[]
  /** @default none */
  readonly strict?: { readonly schema: JsonObject, readonly hash: string } | undefined
}

export function judgeReply (text: string, state: JudgedBy, isEarlier?: true): Judged {
  const reply = parsePlan(text, state.setting.schemaVersion, isEarlier)
  if (isProblem(reply)) return { verdict: 'repair', problem: reply }
  const problem = state.strict === undefined ? undefined : strictProblem(reply.json, state.strict.schema, state.strict.hash)
  if (problem !== undefined) return { verdict: 'repair', problem }
  const mayRead = state.rounds < state.setting.limits.max_context_rounds
  return state.mode === 'plan' ? judgePlan(reply, mayRead) : judgeChange(reply, state, mayRead)
}

function judgePlan (reply: PlanReply, mayRead: boolean): Judged {
  const { form, actions, requests, summary, patch } = reply
  if (form === 'array') return repair('ERR_SCHEMA_VALIDATION', 'the answer: expected an object with a summary in PLAN, got a bare array')
  if (actions.length > 0) return repair('ERR_PLAN_NONEMPTY_ACTIONS', `in PLAN "actions" is empty; it has ${actions.length}`)
  if (requests.length > 0 && mayRead) return { verdict: 'read', reply }
  // The user asked to remember something, not for a diagnosis.
  if (summary.trim() !== '' || Object.keys(patch).length > 0) return { verdict: 'take', reply }
  return repair('ERR_PLAN_EMPTY_SUMMARY', 'in PLAN "summary" has the diagnosis, the steps and the commands that check them')
}

function judgeChange (reply: PlanReply, state: JudgedBy, mayRead: boolean): Judged {
  const { setting: { limits, whitelist, schemaVersion }, bases, whole, isDirect } = state
  if (reply.actions.length === 0) {
    if (reply.requests.length > 0 && mayRead) return { verdict: 'read', reply }
    if (reply.summary.startsWith(NO_CHANGES) || Object.keys(readPatch(reply.patch).patch).length > 0) return { verdict: 'take', reply }
    return repair(
      'ERR_APPLY_EMPTY_ACTIONS',
      `in APPLY "actions" is not empty, or "summary" begins with ${NO_CHANGES}, or "memory_patch" has what is to be remembered`
    )
  }
  const actions = validateActions(reply.actions, limits, whitelist)
  if ('code' in actions) return { verdict: 'repair', problem: actions }
  const unseen = actions.filter(({ kind, path }) => (kind === 'UPDATE_FILE' || kind === 'EDIT_FILE') && !Object.hasOwn(bases, path)).map(({ path }) => path)
  if (unseen.length > 0) {
    if (isDirect && mayRead) return { verdict: 'read-bases', paths: unseen }
    const need = schemaVersion === 1 ? 'UPDATE_FILE needs' : 'UPDATE_FILE and EDIT_FILE need'
    const named = unseen.slice(0, MAX_NAMED).map(path => JSON.stringify(path)).join(', ')
    return repair('ERR_UPDATE_WITHOUT_BASE', `${need} a file that was read (FILE[path]:); not read: ${named}`)
  }
  const partial = schemaVersion === 1 ? undefined : actions.find(({ kind, path }) => kind === 'UPDATE_FILE' && !whole.includes(path))
  if (partial === undefined) return { verdict: 'take', reply: { ...reply, actions } }
  return repair('ERR_UPDATE_PARTIAL', `UPDATE_FILE of ${JSON.stringify(partial.path)} would lose what was not shown of it; use EDIT_FILE`)
}

function repair (code: string, message: string): Judged {
  return { verdict: 'repair', problem: { code, message } }
}

const compiled = new Map<string, CompiledSchema>()

/** Some APIs do not enforce a schema, although the request tells them to. */
function strictProblem (answer: Json, schema: JsonObject, hash: string): PlanProblem | undefined {
  const known = compiled.get(hash) ?? compileSchemaLater(schema)
  if (!compiled.has(hash) && compiled.size >= MAX_COMPILED) compiled.clear()
  compiled.set(hash, known)
  const violations = known.validate(answer, 'the answer')
  return violations.length === 0 ? undefined : { code: 'ERR_SCHEMA_VALIDATION', message: describeViolations(violations) }
}
