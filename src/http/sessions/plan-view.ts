import { type JsonObject } from '../../base/json.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { PLAN, type PlanResult } from '../../engine/plan/plan-key.ts'
import { type Page } from '../../files/change/page.ts'
import { type Progress } from '../../service/sessions/door.ts'
import { shownIn } from '../../service/sessions/plan-previews.ts'
import { traceIdOf } from '../../service/sessions/trace/trace.ts'
import { approvalsIn } from '../../session/approval.ts'
import { resultOf } from '../../session/engine.ts'
import { type Session } from '../../session/session.ts'
import { nullable, oneOf } from '../base/schemas.ts'
import { SessionStatus } from './session-view.ts'

const Change = Type.Object({ kind: Type.String({ description: 'CREATE_FILE, CREATE_DIR, UPDATE_FILE, EDIT_FILE, DELETE_FILE or DELETE_DIR' }), path: Type.String() })

const CONFLICT = oneOf(['changed', 'gone', 'there', 'filled'])

/** The schema of a plan (changes of files that a model proposes) in replies: its result (`PlanResult`), with the state of its session. */
export const PlanReply = Type.Object({
  id: Type.String({ description: 'Of the session' }),
  status: SessionStatus,
  state: Type.String({ description: 'draft, planning, planned, applying, awaiting_confirmation, applied, no_changes, rejected, failed or undone' }),
  trace_id: Type.String(),
  ok: Type.Boolean(),
  summary: Type.String(),
  actions: Type.Array(Type.Object({
    ...Change.properties,
    content: Type.Optional(Type.String()),
    edits: Type.Optional(Type.Array(Type.Object({ search: Type.String(), replace: Type.String() })))
  }), { description: 'What is changed; empty while a plan is made' }),
  error: Type.Optional(Type.String()),
  error_code: Type.Optional(Type.String({ description: 'docs/plans.md has all of them' })),
  plan_json: Type.Optional(Type.String({ description: 'The plan as the model wrote it' })),
  plan_context: Type.Optional(Type.String({ description: 'What it had read' })),
  applied: Type.Array(Change, { description: 'Changes that are on the disk' }),
  undone: Type.Array(Change, { description: 'Changes that were taken back' }),
  conflicts: Type.Optional(Type.Array(Type.Object({ path: Type.String(), reason: CONFLICT }), { description: 'What the last undo or redo has left alone, since somebody else had been there' })),
  commit: Type.Optional(Type.String({ description: 'Hash of the commit of what is applied' })),
  memory_patch: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'What the model wants remembered; `remember` agrees to it' })),
  session_memory: Type.Optional(Type.Object({
    current_task_goal: Type.String(),
    current_branch: Type.Union([Type.String(), Type.Null()]),
    recent_files: Type.Array(Type.String()),
    recent_errors: Type.Array(Type.String())
  }, { description: 'What the session remembers of itself; no model is told' })),
  confirm: Type.Optional(Type.Object({
    kind: oneOf(['diff', 'deletions', 'commit'], {
      description: '`diff`: its user agrees by `/apply` with the digest. `deletions` and `commit`: whoever has the role `approve` does by `/confirm`'
    }),
    digest: Type.String({ description: 'Of what waits to be confirmed: all of the change, and what was there when it was shown' }),
    paths: Type.Optional(Type.Array(Type.String(), { description: 'Of a diff and of a commit: what it touches; the first 500' })),
    message: Type.Optional(Type.String({ description: 'Of a commit' })),
    deletes: Type.Array(Type.String(), { description: 'Files and folders that it deletes, those below a folder too; the first 500' }),
    more: Type.Optional(Type.Integer({ description: 'How many further ones there are: `/preview` has all of them' }))
  }))
})

/** The schema of the reply to an undo or redo with `dryRun`, which says what would happen and writes nothing. */
export const DryTurnReply = Type.Object({
  dryRun: Type.Literal(true),
  files: Type.Array(Change, { description: 'What would be as it was before, or as it was made' }),
  conflicts: Type.Array(Type.Object({ path: Type.String(), reason: CONFLICT }), { description: 'What would be left alone, since somebody else has been there' })
})

/** The schema of one page of the files that a plan proposes to change or has changed. */
export const PreviewReply = Type.Object({
  files: Type.Array(Type.Object({
    kind: Change.properties.kind,
    path: Change.properties.path,
    before: nullable(Type.String(), { description: 'What was there when it was shown: the SHA-256 of a file, `folder`, or null for nothing' }),
    after: nullable(Type.String(), { description: 'What comes' }),
    bytes: Type.Integer({ description: 'Of the file that comes; of one that goes, of that' }),
    diff: Type.String({ description: 'Unified diff, with line ends as they will be written' }),
    isCut: Type.Optional(Type.Boolean({ description: 'The diff is not all of it: `?path=` has the texts' })),
    isOutdated: Type.Optional(Type.Boolean({ description: 'What was there has changed since it was shown, so that there is no diff' }))
  })),
  more: Type.Integer({ description: 'How many come after these' }),
  confirm: PlanReply.properties.confirm
})

/** The schema of a changed file's text, as the file is before or after the plan's change. */
export const PreviewText = Type.Object({
  path: Type.String(),
  side: oneOf(['before', 'after']),
  sha256: nullable(Type.String(), { description: 'Of the whole file; null for none' }),
  bytes: Type.Integer(),
  text: Type.Optional(Type.String({ description: 'Its first MiB; left out for what is no text' })),
  isCut: Type.Optional(Type.Boolean({ description: 'The text is not all of it' })),
  isOutdated: Type.Optional(Type.Boolean({ description: 'The file has changed since it was shown, and nobody has that text any more' }))
})

/** Describes a plan. A caller who may only confirm the plan does not see what the model has read or what the session remembers. */
export function describePlan ({ session, isOwn }: Pick<Progress, 'session' | 'isOwn'>): Static<typeof PlanReply> {
  const { id, status, engine: { view: { stateName } } } = session
  const { ok, summary, actions, applied, undone, ...result } = resultOf(session, PLAN)
  return {
    id,
    status,
    state: stateName,
    trace_id: traceIdOf(id),
    ok,
    summary,
    actions: actions.map(({ edits, ...action }) => ({ ...action, ...(edits === undefined ? {} : { edits: [...edits] }) })),
    ...withDefined({ error: result.error, error_code: result.error_code, plan_json: result.plan_json }),
    ...(isOwn ? withDefined({ plan_context: result.plan_context }) : {}),
    applied: [...applied],
    undone: [...undone],
    ...withDefined({ conflicts: result.conflicts === undefined ? undefined : [...result.conflicts], commit: result.commit, memory_patch: result.memory_patch }),
    ...(isOwn ? { session_memory: describeMemory(result.session_memory) } : {}),
    ...confirmOf(session)
  }
}

function describeMemory ({ recent_files: files, recent_errors: errors, ...memory }: PlanResult['session_memory']) {
  return { ...memory, recent_files: [...files], recent_errors: [...errors] }
}

/** Describes one page of the files that a plan changes, with the confirmation that the plan waits for. */
export function describePreview (session: Session, { files, more }: Page) {
  return { files: [...files], more, ...confirmOf(session) }
}

/** The most paths of changed or deleted files that one reply lists. */
const MAX_LISTED = 500

/** What a person has to confirm before a plan goes on: a diff, deletions or a commit; empty if the plan waits for no confirmation. */
function confirmOf (session: Session): { readonly confirm?: Waiting } {
  const { held } = resultOf(session, PLAN)
  if (held !== undefined) {
    const paths = shownIn(held.change).map(({ path }) => path)
    return { confirm: { kind: 'diff', digest: held.digest, ...listed('paths', paths), deletes: [] } }
  }
  const [asked] = approvalsIn(session)
  if (asked === undefined) return {}
  const { kind, paths = [], message = '' } = asked.content
  if (kind === 'commit') return { confirm: { kind, digest: asked.digest, ...listed('paths', paths as string[]), message: String(message), deletes: [] } }
  const deleted = shownIn(asked.content['change'] as JsonObject).filter(each => each.kind.startsWith('DELETE_')).map(({ path }) => path)
  return { confirm: { kind: 'deletions', digest: asked.digest, deletes: [], ...listed('deletes', deleted) } }
}

type Waiting = NonNullable<Static<typeof PlanReply>['confirm']>

function listed (name: 'paths' | 'deletes', all: readonly string[]): Pick<Waiting, 'paths' | 'more'> {
  const more = Math.max(0, all.length - MAX_LISTED)
  return { [name]: all.slice(0, MAX_LISTED), ...(more > 0 ? { more } : {}) }
}

/** A copy of an object without the members whose value is undefined. */
function withDefined<T extends object> (members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
