import { describeViolations } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { validateActions } from '../../files/change/change-rules.ts'
import { readPatch } from '../../files/memory-rules.ts'
import { type CompiledSchema, compileSchemaLater } from '../../schema/compile.ts'
import { isProblem, parsePlan, type PlanProblem, type PlanReply } from './parse-plan.ts'
import type { PlanState } from './plan-state.ts'

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
