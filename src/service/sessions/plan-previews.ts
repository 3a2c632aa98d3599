import { type Caller } from '../../access/caller.ts'
import { requestInvalid, sessionBusy, sessionNotFound } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { utf8In } from '../../base/text.ts'
import { PLAN } from '../../engine/plan/state.ts'
import { type DryTurn } from '../../files/change/undo.ts'
import { type Page, type Touched } from '../../files/change/page.ts'
import { type Workspaces } from '../../files/workspaces.ts'
import { approvalsIn } from '../../session/approvals.ts'
import { resultOf, startedAs } from '../../session/engine.ts'
import { type Transition } from '../../session/model.ts'
import { readShown } from '../../session/session-log.ts'
import { type Session } from '../../session/session.ts'
import { type Approvals } from './approvals.ts'
import { type SessionDoor } from './door.ts'
import { type RunningSessions } from './running-sessions.ts'
import { isWanted } from './session-kind.ts'

/** The longest part of a file's text that a preview shows, in bytes. */
const MAX_TEXT = 1024 * 1024

/** The content of one file of a plan's change, before or after it. */
export interface PreviewText {
  readonly path: string
  readonly side: 'before' | 'after'
  /** SHA-256 of the whole file; null where there is no file on the wanted side (before or after the change). */
  readonly sha256: string | null
  readonly bytes: number
  /** The text of the file; left out for a binary file and for a content that is not kept any more. */
  readonly text?: string
  readonly isCut?: true
  /** Set when the content of the file is stored nowhere any more; `text` is then left out. */
  readonly isOutdated?: true
}

/** The kind of sessions that have previews: plans. */
const PLANS = { engines: [PLAN] }

export interface PlanPreviewsOptions {
  readonly running: RunningSessions
  readonly door: Pick<SessionDoor, 'getUsable'>
  readonly approvals: Pick<Approvals, 'waitingIn'>
  readonly loadWorkspaces: () => Promise<Workspaces>
}

/** Previews of the files that a plan changes, for a person who looks at the change before agreeing to it. */
export class PlanPreviews {
  readonly #options: PlanPreviewsOptions

  constructor (options: PlanPreviewsOptions) {
    this.#options = options
  }

  /** Finds a plan whose change the caller is allowed to see: an own plan or, for an approver, a plan that waits for approval. @throws SESSION_NOT_FOUND */
  async planFor (caller: Caller, id: string): Promise<Session> {
    const waiting = caller.roles.has('approve') ? await this.#waiting(caller, id) : undefined
    return waiting ?? await this.#options.door.getUsable(PLANS, caller, id)
  }

  /**
   * Reads a page of the files that a plan changes: those of the change that waits for a person or, if no change waits, of all rounds of the goal
   * together.
   * @param after how many files come before the page
   */
  async page (session: Session, after: number, limit: number): Promise<Page> {
    const { change, touched } = await this.#lastShown(session)
    if (touched.length === 0) return { files: [], more: 0 }
    const workspaces = await this.#options.loadWorkspaces()
    return await workspaces.page(workspaceOf(session), { session: session.id, change, touched, after, limit })
  }

  /** Reads the first MiB of one file as it is before or after the plan's change. @throws REQUEST_INVALID for a path that the change does not touch */
  async text (session: Session, path: string, side: 'before' | 'after'): Promise<PreviewText> {
    const { change, touched } = await this.#lastShown(session)
    const file = touched.find(each => each.path === path)
    if (file === undefined) {
      const near = touched[0] === undefined ? '' : `, such as ${JSON.stringify(touched[0].path)}`
      throw requestInvalid(`querystring: path: expected a path of the change${near}, got ${JSON.stringify(path)}`, { part: 'querystring' })
    }
    const mark = file[side]
    if (mark === null || mark === 'folder') return { path, side, sha256: null, bytes: 0, text: '' }
    const workspaces = await this.#options.loadWorkspaces()
    const bytes = await workspaces.content(workspaceOf(session), { session: session.id, change, path, sha256: mark })
    if (bytes === undefined) return { path, side, sha256: mark, bytes: 0, isOutdated: true }
    if (bytes.includes(0) || utf8In(bytes) === undefined) return { path, side, sha256: mark, bytes: bytes.length }
    return { path, side, sha256: mark, bytes: bytes.length, text: bytes.subarray(0, MAX_TEXT).toString(), ...(bytes.length > MAX_TEXT ? { isCut: true } : {}) }
  }

  /**
   * Tries an undo or a redo of a plan without writing anything: says what it would do now.
   * @param paths the files of the change to undo or redo. @default all of them
   * @throws SESSION_BUSY when there is nothing to undo or redo, REQUEST_INVALID for a path that the change does not touch
   */
  async turn (session: Session, kind: 'undo' | 'redo', paths?: readonly string[]): Promise<DryTurn> {
    const { applied, undone, changes } = resultOf(session, PLAN)
    const all = (kind === 'undo' ? applied : undone).map(({ path }) => path)
    if (all.length === 0) throw sessionBusy(session.id, session.status, `there is nothing to ${kind}`)
    const wrong = paths?.find(path => !all.includes(path))
    if (wrong !== undefined) {
      throw requestInvalid(`body: paths: expected paths of the change, such as ${JSON.stringify(all[0])}, got ${JSON.stringify(wrong)}`, { part: 'body' })
    }
    return await (await this.#options.loadWorkspaces()).dryTurn(workspaceOf(session), kind, session.id, changes, paths ?? all)
  }

  async #waiting (caller: Caller, id: string): Promise<Session | undefined> {
    const { session, held } = await this.#options.approvals.waitingIn(caller, id)
    if (!isWanted(session, PLANS)) throw sessionNotFound(id)
    return held.length > 0 ? session : undefined
  }

  /**
   * Gives the plan's change that waits for a person, and the files that it touches. If no change waits, these are the files that all rounds of the
   * goal have changed together; before the first round, or when the journal has forgotten it, those of the newest preview in the session's log.
   */
  async #lastShown (session: Session): Promise<{ readonly change: JsonObject, readonly touched: readonly Touched[] }> {
    const waiting = changeIn(session)
    if (waiting !== undefined) return { change: waiting, touched: shownIn(waiting) }
    const { eol } = startedAs(session.start, PLAN).setting
    const { actions, changes } = resultOf(session, PLAN)
    const made = { do: { actions: actions.map(action => ({ ...action })), eol } }
    const touched = await (await this.#options.loadWorkspaces()).changedBy(workspaceOf(session), session.id, changes)
    if (touched.length > 0) return { change: made, touched }
    const shown = await this.#options.running.use(async ({ store }) => await lastPreview(readShown(store, session.id, 0)))
    // The contents of a change that was made are in the journal or on the disk, so only its actions are given here.
    return { change: made, touched: touchedIn(shown?.['shown']) }
  }
}

/** The plan's change that waits for the user's consent or for an approval; `undefined` if no change waits. */
function changeIn (session: Session): JsonObject | undefined {
  const { held } = resultOf(session, PLAN)
  return held?.change ?? approvalsIn(session).find(({ content }) => content['kind'] === 'apply')?.content['change'] as JsonObject | undefined
}

/** The newest preview in the log of a plan. */
async function lastPreview (transitions: AsyncIterable<Transition>): Promise<JsonObject | undefined> {
  let last: JsonObject | undefined
  for await (const transition of transitions) last = previewIn(transition).at(-1) ?? last
  return last
}

/** The files that a plan's change touches, as its preview has listed them. */
export function shownIn (change: JsonObject): readonly Touched[] {
  const [wish] = Object.values(change)
  return touchedIn(isJsonObject(wish) ? wish['shown'] : undefined)
}

function touchedIn (shown: Json | undefined): readonly Touched[] {
  return Array.isArray(shown) ? shown as unknown as readonly Touched[] : []
}

function previewIn ({ fact }: Transition): JsonObject[] {
  const blocks = fact.kind === 'result' && isJsonObject(fact.result) ? fact.result['blocks'] : undefined
  return Array.isArray(blocks) ? (blocks as readonly Json[]).filter(isJsonObject).filter(({ type }) => type === 'preview') : []
}

function workspaceOf ({ start }: Session): string {
  return startedAs(start, PLAN).setting.workspace
}
