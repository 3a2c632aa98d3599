import { type Caller } from '../../access/caller.ts'
import { requestInvalid, sessionBusy, sessionNotFound } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, listOf, ownField } from '../../base/json.ts'
import { utf8In } from '../../base/text.ts'
import { PLAN } from '../../engine/plan/plan-state.ts'
import { type DryTurn } from '../../files/change/undo.ts'
import { type Page, type Touched } from '../../files/change/diff.ts'
import { type Workspaces } from '../../files/workspaces.ts'
import { approvalsIn } from '../../session/approvals.ts'
import { resultOf, startedAs } from '../../session/engine.ts'
import { type LogEntry } from '../../session/model.ts'
import { readShown } from '../../session/session-log.ts'
import { type Session } from '../../session/session.ts'
import { type SessionService } from './session-service.ts'
import { isRequestedKind } from './session-kind.ts'

/** In bytes. */
const MAX_TEXT = 1024 * 1024

const PLANS = { engines: [PLAN] }

/** For a person who looks at the change before agreeing to it. */
export class PlanPreviews {
  readonly #sessions: SessionService
  readonly #loadWorkspaces: () => Promise<Workspaces>

  constructor (sessions: SessionService, loadWorkspaces: () => Promise<Workspaces>) {
    this.#sessions = sessions
    this.#loadWorkspaces = loadWorkspaces
  }

  /** An own plan or, for an approver, one that waits for approval. @throws SESSION_NOT_FOUND */
  async planFor (caller: Caller, id: string): Promise<Session> {
    const waiting = caller.roles.has('approve') ? await this.#waiting(caller, id) : undefined
    return waiting ?? await this.#sessions.getUsable(PLANS, caller, id)
  }

  /** Files of the change that waits or, if none waits, of all rounds of the goal; `after` counts the files before the page. */
  async page (session: Session, after: number, limit: number): Promise<Page> {
    const { change, touched } = await this.#lastShown(session)
    if (touched.length === 0) return { files: [], more: 0 }
    const workspaces = await this.#loadWorkspaces()
    return await workspaces.page(workspaceOf(session), { session: session.id, change, touched, after, limit })
  }

  /**
   * One side of a file, or the diff of both. The text is only the first MiB, and left out for a binary file and for a content that is not kept
   * any more; `sha256` is that of the whole file, and null where there is no file on that side. @throws REQUEST_INVALID for a path that the
   * change does not touch
   */
  async text (session: Session, path: string, side: 'before' | 'after' | 'diff') {
    const { change, touched } = await this.#lastShown(session)
    const file = touched.find(each => each.path === path)
    if (file === undefined) {
      const near = touched[0] === undefined ? '' : `, such as ${JSON.stringify(touched[0].path)}`
      throw requestInvalid(`querystring: path: expected a path of the change${near}, got ${JSON.stringify(path)}`, { part: 'querystring' })
    }
    if (side === 'diff') {
      const workspaces = await this.#loadWorkspaces()
      const { bytes, diff, isCut, isOutdated } = await workspaces.difference(workspaceOf(session), { session: session.id, change, touched: file })
      return { path, side, sha256: file.after === 'folder' ? null : file.after, bytes, text: diff, isCut, isOutdated }
    }
    const mark = file[side]
    if (mark === null || mark === 'folder') return { path, side, sha256: null, bytes: 0, text: '' }
    const workspaces = await this.#loadWorkspaces()
    const bytes = await workspaces.content(workspaceOf(session), { session: session.id, change, path, sha256: mark })
    if (bytes === undefined) return { path, side, sha256: mark, bytes: 0, isOutdated: true }
    if (bytes.includes(0) || utf8In(bytes) === undefined) return { path, side, sha256: mark, bytes: bytes.length }
    return { path, side, sha256: mark, bytes: bytes.length, text: bytes.subarray(0, MAX_TEXT).toString(), isCut: bytes.length > MAX_TEXT ? true : undefined }
  }

  /** Writes nothing. @default all files @throws SESSION_BUSY when there is nothing to undo or redo, REQUEST_INVALID for an untouched path */
  async turn (session: Session, kind: 'undo' | 'redo', paths?: readonly string[]): Promise<DryTurn> {
    const { applied, undone, changes } = resultOf(session, PLAN)
    const all = (kind === 'undo' ? applied : undone).map(({ path }) => path)
    if (all.length === 0) throw sessionBusy(session.id, session.status, `there is nothing to ${kind}`)
    const wrong = paths?.find(path => !all.includes(path))
    if (wrong !== undefined) {
      throw requestInvalid(`body: paths: expected paths of the change, such as ${JSON.stringify(all[0])}, got ${JSON.stringify(wrong)}`, { part: 'body' })
    }
    return await (await this.#loadWorkspaces()).dryTurn(workspaceOf(session), kind, session.id, changes, paths ?? all)
  }

  async #waiting (caller: Caller, id: string): Promise<Session | undefined> {
    const { session, held } = await this.#sessions.waitingIn(caller, id)
    if (!isRequestedKind(session, PLANS)) throw sessionNotFound(id)
    return held.length > 0 ? session : undefined
  }

  /** Else the files of all rounds of the goal or, where the journal has none, those of the newest preview in the log. */
  async #lastShown (session: Session): Promise<{ readonly change: JsonObject, readonly touched: readonly Touched[] }> {
    const waiting = changeIn(session)
    if (waiting !== undefined) return { change: waiting, touched: shownIn(waiting) }
    const { eol } = startedAs(session.start, PLAN).setting
    const { actions, changes } = resultOf(session, PLAN)
    const made = { do: { actions: actions.map(action => ({ ...action })), eol } }
    const touched = await (await this.#loadWorkspaces()).changedBy(workspaceOf(session), session.id, changes)
    if (touched.length > 0) return { change: made, touched }
    const shown = await this.#sessions.use(async ({ store }) => await lastPreview(readShown(store, session.id, 0)))
    return { change: made, touched: touchedIn(shown?.['shown']) }
  }
}

function changeIn (session: Session): JsonObject | undefined {
  const { held } = resultOf(session, PLAN)
  return held?.change ?? approvalsIn(session).find(({ content }) => content['kind'] === 'apply')?.content['change'] as JsonObject | undefined
}

async function lastPreview (transitions: AsyncIterable<LogEntry>): Promise<JsonObject | undefined> {
  let last: JsonObject | undefined
  for await (const transition of transitions) last = previewIn(transition).at(-1) ?? last
  return last
}

export function shownIn (change: JsonObject): readonly Touched[] {
  const [wish] = Object.values(change)
  return touchedIn(ownField(wish, 'shown'))
}

function touchedIn (shown: Json | undefined): readonly Touched[] {
  return Array.isArray(shown) ? shown as unknown as readonly Touched[] : []
}

function previewIn ({ fact }: LogEntry): JsonObject[] {
  const blocks = fact.kind === 'result' ? ownField(fact.result, 'blocks') : undefined
  return listOf(blocks).filter(isJsonObject).filter(({ type }) => type === 'preview')
}

function workspaceOf ({ start }: Session): string {
  return startedAs(start, PLAN).setting.workspace
}
