import { type Json, type JsonObject } from '../base/json.ts'
import { Type } from '../base/schema-builder.ts'
import { traceIdOf } from '../service/sessions/trace/trace.ts'
import { approvalsIn } from '../session/approval.ts'
import { type Transition } from '../session/model.ts'
import { type Session } from '../session/session.ts'
import { SessionStatus } from './session-view.ts'

const Change = Type.Object({ kind: Type.String({ description: 'CREATE_FILE, CREATE_DIR, UPDATE_FILE, DELETE_FILE or DELETE_DIR' }), path: Type.String() })

/** A plan as programs read it: AgentPlan of the protocol, and where its session is. */
export const PlanReply = Type.Object({
  id: Type.String({ description: 'Of the session' }),
  status: SessionStatus,
  state: Type.String({ description: 'planning, planned, applying, awaiting_confirmation, applied, no_changes, rejected, failed or undone' }),
  trace_id: Type.String(),
  ok: Type.Boolean(),
  summary: Type.String(),
  actions: Type.Array(Type.Object({ ...Change.properties, content: Type.Optional(Type.String()) }), { description: 'What is changed; empty while a plan is made' }),
  error: Type.Optional(Type.String()),
  error_code: Type.Optional(Type.String({ description: 'docs/plans.md has all of them' })),
  plan_json: Type.Optional(Type.String({ description: 'The plan as the model wrote it' })),
  plan_context: Type.Optional(Type.String({ description: 'What it had read' })),
  applied: Type.Array(Change, { description: 'Changes that are on the disk' }),
  undone: Type.Array(Change, { description: 'Changes that were taken back' }),
  confirm: Type.Optional(Type.Object({
    digest: Type.String({ description: 'Of what waits to be confirmed' }),
    deletes: Type.Array(Type.String(), { description: 'Paths that it deletes' })
  }))
})

/** A change as it would be, or was. */
export const PreviewReply = Type.Object({
  files: Type.Array(Type.Object({ path: Type.String(), kind: Type.String(), diff: Type.Optional(Type.String({ description: 'Unified diff' })) }, { additionalProperties: true })),
  confirm: PlanReply.properties.confirm
})

export function describePlan (session: Session) {
  const { id, status, engine: { view: { word, result = {} } } } = session
  const { ok = true, summary = '', actions = [], error, error_code: code, plan_json: plan, plan_context: context, applied = [], undone = [] } = result
  const reply = {
    id,
    status,
    state: word,
    trace_id: traceIdOf(id),
    ok,
    summary,
    actions,
    ...withDefined({ error, error_code: code, plan_json: plan, plan_context: context }),
    applied,
    undone,
    ...confirmOf(session)
  }
  // The engine's result has this form; the schema of the reply says so to the world.
  return reply as never
}

/** What the last preview of a plan has shown. */
export function describePreview (session: Session, transitions: readonly Transition[]) {
  const shown = transitions.flatMap(({ notices }) => notices.filter(({ type, data }) => type === 'files' && data['stage'] === 'preview')).at(-1)
  return { files: shown?.data['files'] ?? [], ...confirmOf(session) } as never
}

/** What is waiting for a confirmation, if anything is. */
function confirmOf (session: Session): { readonly confirm?: { readonly digest: string, readonly deletes: string[] } } {
  const [held] = approvalsIn(session)
  if (held === undefined) return {}
  const { undone = [], actions = [] } = session.engine.view.result ?? {}
  return { confirm: { digest: held.digest, deletes: deletedBy(held.content['change'] as JsonObject, { undone, actions }) } }
}

/** A change names its actions itself; one that is made again, the paths of what was undone. */
function deletedBy ({ redo }: JsonObject, { undone, actions }: Readonly<Record<'undone' | 'actions', Json>>): string[] {
  const chosen = (redo as JsonObject | undefined)?.['paths'] as readonly string[] | undefined
  const changes = (redo === undefined ? actions : undone) as ReadonlyArray<Readonly<Record<'kind' | 'path', string>>>
  return changes.filter(({ kind, path }) => kind.startsWith('DELETE_') && chosen?.includes(path) !== false).map(({ path }) => path)
}

function withDefined (members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]))
}
