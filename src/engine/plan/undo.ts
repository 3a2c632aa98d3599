import { isJsonObject, type Json, type JsonObject, listOf, objectOf, ownField, textIn } from '../../base/json.ts'
import type { Conflict } from '../../files/change/change-rules.ts'
import type { Moment, Next } from '../../session/engine.ts'
import { clip } from '../clip.ts'
import { type Ended, type Level, Outbox, renderText } from '../reducer.ts'
import { PLAN_TEXTS, type PlanText } from '../texts.ts'
import type { PlanProblem } from './parse-plan.ts'
import type { ChangedPath, PlanPurpose, PlanState, PlanStep } from './plan-state.ts'

/** Errors, and code points of each. */
const MAX_ERRORS = 5
const MAX_ERROR = 300

abstract class PlanReducerBase {
  protected readonly outbox: Outbox
  protected state: PlanState

  constructor (state: PlanState, moment: Moment) {
    this.state = state
    this.outbox = new Outbox(moment)
  }

  next (): Next<PlanState> {
    return { state: this.state, effects: this.outbox.effects, notices: this.outbox.notices }
  }

  /** In schema 1 an error ends the plan; in schema 2 it waits for its user again. */
  protected fail (error: PlanProblem): Next<PlanState> {
    this.tell(error)
    if (this.state.setting.schemaVersion === 1) return this.finish('failed')
    const { hasApplied, applied, rest } = this.state
    this.state = { ...this.state, held: undefined, repair: undefined }
    this.goTo(!hasApplied ? rest : applied.length > 0 ? 'applied' : 'undone')
    return this.listen()
  }

  protected get mayRepair (): boolean {
    return this.state.used < this.state.setting.repair.rounds
  }

  protected tellUser (text: PlanText, values: JsonObject = {}): void {
    this.outbox.show(renderText(PLAN_TEXTS[this.state.setting.language][text], values))
  }

  protected tell (error: PlanProblem): void {
    this.state = { ...this.state, error }
    this.outbox.notice('error', { code: error.code, message: error.message })
    this.keepError(error)
  }

  protected keepError ({ code, message }: PlanProblem): void {
    this.state = { ...this.state, recentErrors: [...this.state.recentErrors, clip(`${code}: ${message}`, MAX_ERROR)].slice(-MAX_ERRORS) }
  }

  protected finish (step: 'no_changes' | 'rejected' | 'failed'): Next<PlanState> {
    this.goTo(step)
    return this.next()
  }

  protected listen (): Next<PlanState> {
    const { step, rest } = this.state
    this.state = { ...this.state, rest: step === 'planned' || step === 'applied' || step === 'undone' ? step : rest }
    if (this.state.child !== undefined && step !== 'awaiting_confirmation') {
      this.state = { ...this.state, child: 'over' }
      return this.next()
    }
    this.outbox.wait()
    return this.next()
  }

  protected wait (purpose: PlanPurpose, effect: string): Next<PlanState> {
    this.state = { ...this.state, awaits: { effect, purpose } }
    return this.next()
  }

  protected goTo (step: PlanStep): void {
    if (step !== this.state.step) this.outbox.notice('state', { word: step })
    this.state = { ...this.state, step, awaits: undefined }
  }

  /** As `[trace_id] EVENT k=v …`. */
  protected log (level: Level, event: string, values: Readonly<Record<string, string | number>> = {}): void {
    const { setting: { traceId } } = this.state
    const text = [event, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join(' ')
    this.outbox.notice('log', { prefix: traceId, level, text, trace_id: traceId, event, ...values })
  }
}

/** In ms. */
const APPLY_TIMEOUT = 120_000

/** In ms. Long, since git hooks sometimes run all tests. */
const COMMIT_TIMEOUT = 600_000

/** Characters of a commit's hash that users are shown. */
const HASH_LENGTH = 10

/** Conflicts that a message names; the result lists all. */
const MAX_NAMED = 20

/** Code points of a failed check's output for users. */
export const MAX_SHOWN_OUTPUT = 2000

export abstract class UndoReducer extends PlanReducerBase {
  protected abstract preview (wish: JsonObject): Next<PlanState>

  /** The newest first. @param paths @default all */
  protected takeBack (purpose: 'rollback' | 'undo', paths?: readonly string[]): Next<PlanState> {
    const { changes } = this.state
    const own: JsonObject = paths === undefined ? {} : { paths: [...paths] }
    const wishes = changes.length < 2 ? [{ undo: own }] : changes.toReversed().map(of => ({ undo: { of, ...own } }))
    return this.#begin(purpose, wishes, paths === undefined)
  }

  /** The oldest first. If they delete something, a person is asked again. */
  protected doAgain (paths?: readonly string[]): Next<PlanState> {
    const wish: JsonObject = { redo: paths === undefined ? {} : { paths: [...paths] } }
    return this.#begin('redo', Array.from({ length: Math.max(1, this.state.reversed) }, () => wish), paths === undefined)
  }

  #begin (purpose: 'rollback' | 'undo' | 'redo', [first = {}, ...left]: readonly JsonObject[], isWhole: boolean): Next<PlanState> {
    this.goTo('applying')
    const { setting: { keepsUndo } } = this.state
    // Only in APPLY can files change, whatever the mode of the last goal was.
    this.state = { ...this.state, mode: 'apply', held: undefined, turning: { left, conflicts: [], ...(isWhole && keepsUndo === true ? { isWhole } : {}) } }
    return purpose === 'redo' ? this.preview(first) : this.change(purpose, first, false)
  }

  #goOn (purpose: 'rollback' | 'undo' | 'redo', conflicts: readonly Conflict[]): Next<PlanState> | undefined {
    const [next, ...left] = this.state.turning?.left ?? []
    const { turning } = this.state
    this.state = { ...this.state, turning: next === undefined ? undefined : { ...turning, left, conflicts } }
    if (next === undefined) return undefined
    return purpose === 'redo' ? this.preview(next) : this.change(purpose, next, false)
  }

  protected rolledBack (ended: Ended): Next<PlanState> {
    const { checkFailed = '', applied, turning, setting: { schemaVersion, checks }, check } = this.state
    const conflicts = merged(turning?.conflicts, 'failure' in ended ? [] : conflictsIn(ended.value))
    // A created folder stays if the check has put files into it; a foreign change keeps the whole change.
    if (conflicts.some(({ reason }) => reason !== 'filled')) {
      this.state = { ...this.state, conflicts, turning: undefined }
      return this.#staysApplied('AUTO_CHECK_FAILED_NOT_ROLLED_BACK', `${checkFailed}\nThe change was not taken back: ${describeConflicts(conflicts)}`)
    }
    if ('failure' in ended) {
      const reason = `The change could not be taken back: ${ended.code}: ${ended.failure}`
      return this.#staysApplied('AUTO_CHECK_FAILED_NOT_ROLLED_BACK', `${checkFailed}\n${reason}`)
    }
    const further = this.#goOn('rollback', conflicts)
    if (further !== undefined) return further
    const stays = (change: ChangedPath): boolean => conflicts.some(({ path }) => path === change.path)
    const undone = applied.filter(change => !stays(change))
    this.state = { ...this.state, applied: applied.filter(stays), undone, conflicts, reversed: this.state.changes.length, rest: 'undone' }
    this.outbox.notice('files', { stage: 'undone', files: undone.map(each => ({ ...each })), ...withConflicts(conflicts) })
    if (schemaVersion !== 1) this.tellUser('planGivenUp', { check: checks[check] ?? '' })
    return this.fail({ code: 'AUTO_CHECK_FAILED_ROLLED_BACK', message: checkFailed })
  }

  #staysApplied (code: string, message: string): Next<PlanState> {
    this.state = { ...this.state, rest: 'applied' }
    return this.fail({ code, message })
  }

  protected turned (name: 'undo' | 'redo', ended: Ended): Next<PlanState> {
    const { applied, undone, turning } = this.state
    const isNothing = this.#isNothingOfMore(ended)
    if ('failure' in ended && !isNothing) {
      this.tell({ code: ended.code, message: ended.failure })
      this.state = { ...this.state, turning: undefined }
      return this.settle()
    }
    const result = 'value' in ended ? ended.value : {}
    const conflicts = merged(turning?.conflicts, conflictsIn(result))
    const from = name === 'undo' ? applied : undone
    // What a change wrote as it was before counts as taken back.
    const isAll = turning?.isWhole === true && turning.left.length === 0 && conflicts.length === 0
    const turned = isAll ? from : isNothing ? [] : changedIn(result) ?? from
    const [moved, left] = divided(from, turned)
    this.state = name === 'undo'
      ? { ...this.state, applied: left, undone: [...undone, ...moved] }
      : { ...this.state, undone: left, applied: [...applied, ...moved] }
    this.outbox.notice('files', { stage: name === 'undo' ? 'undone' : 'redone', files: moved.map(each => ({ ...each })), ...withConflicts(conflicts) })
    const further = this.#goOn(name, conflicts)
    if (further !== undefined) return further
    const message = `not ${name === 'undo' ? 'taken back' : 'done again'}: ${describeConflicts(conflicts)}`
    const error = conflicts.length === 0 ? undefined : { code: 'ERR_BASE_CHANGED', message }
    this.state = { ...this.state, conflicts, error, reversed: name === 'undo' ? this.state.changes.length : 0 }
    if (error !== undefined) this.keepError(error)
    if (name === 'undo') this.#tellOfCommit()
    return this.settle()
  }

  /** One change of several with nothing to turn is no failure: a change that came to nothing has left no undo. */
  #isNothingOfMore (ended: Ended): boolean {
    const { turning, reversed } = this.state
    const left = turning?.left.length ?? 0
    if (!('failure' in ended)) return false
    return ended.code === 'NOTHING_TO_UNDO' ? left > 0 : ended.code === 'NOTHING_TO_REDO' && left + 1 < reversed
  }

  #tellOfCommit (): void {
    const { commit } = this.state
    if (commit !== undefined) this.tellUser('commitStays', { hash: commit.slice(0, HASH_LENGTH) })
  }

  protected settle (): Next<PlanState> {
    this.goTo(this.state.applied.length > 0 ? 'applied' : 'undone')
    return this.listen()
  }

  /** @param message @default the summary of the last change */
  protected commit (message: string): Next<PlanState> {
    const { setting: { workspace }, applied, done } = this.state
    this.goTo('applying')
    this.state = { ...this.state, mode: 'apply' }
    const paths = applied.filter(({ kind }) => kind !== 'CREATE_DIR').map(({ path }) => path)
    return this.wait('commit', this.outbox.commit({ workspace, paths, message: commitMessage(message === '' ? done : message), timeout: COMMIT_TIMEOUT }))
  }

  /** After a failed commit the plan waits for its user as after a good one. */
  protected committed (ended: Ended): Next<PlanState> {
    const { hash, leftOut = [] } = objectOf('value' in ended ? ended.value : {})
    if ('failure' in ended) this.tell({ code: ended.code === 'REFUSED' ? 'COMMIT_DENIED' : ended.code, message: ended.failure })
    if (typeof hash === 'string') {
      this.state = { ...this.state, commit: hash }
      this.tellUser('committed', { hash: hash.slice(0, HASH_LENGTH) })
      const list = (leftOut as readonly JsonObject[]).map(({ path, reason }) => `${String(path)} (${String(reason)})`).join(', ')
      if (list !== '') this.tellUser('commitLeavesOut', { list })
    }
    return this.afterCommit()
  }

  /** A commit of the goal before leaves the plan of the next goal as it is. */
  protected afterCommit (): Next<PlanState> {
    const { hasApplied, rest } = this.state
    if (hasApplied || rest !== 'planned') return this.settle()
    this.state = { ...this.state, mode: 'plan' }
    this.goTo('planned')
    return this.listen()
  }

  protected change (purpose: Extract<PlanPurpose, 'apply' | 'rollback' | 'undo' | 'redo'>, change: JsonObject, deletes: boolean): Next<PlanState> {
    const { setting: { workspace } } = this.state
    const together = purpose === 'apply' ? {} : this.together()
    return this.wait(purpose, this.outbox.change({ workspace, change, deletes, timeout: APPLY_TIMEOUT, ...together }))
  }

  protected together (): { readonly together?: string[] } {
    const { setting: { keepsUndo }, changes } = this.state
    return keepsUndo === true ? { together: [...changes] } : {}
  }

  protected failureOf (name: string, output: string): string {
    return `the check "${name}" failed: ${clip(output, MAX_SHOWN_OUTPUT)}`
  }
}

function divided (paths: readonly ChangedPath[], turned: readonly ChangedPath[]): [ChangedPath[], ChangedPath[]] {
  const isTurned = ({ path }: ChangedPath): boolean => turned.some(each => each.path === path)
  return [paths.filter(isTurned), paths.filter(each => !isTurned(each))]
}

function merged (before: readonly Conflict[] = [], found: readonly Conflict[]): Conflict[] {
  return [...before, ...found.filter(({ path }) => !before.some(each => each.path === path))]
}

function withConflicts (conflicts: readonly Conflict[]): JsonObject {
  return conflicts.length === 0 ? {} : { conflicts: conflicts.map(conflict => ({ ...conflict })) }
}

function describeConflicts (conflicts: readonly Conflict[]): string {
  const named = conflicts.slice(0, MAX_NAMED).map(({ path, reason }) => `${path} (${reason})`).join(', ')
  return `${named}${conflicts.length > MAX_NAMED ? ` and ${conflicts.length - MAX_NAMED} more` : ''}; somebody else has been there since`
}

/** Code points of the first line and of the whole text. */
const MAX_SUBJECT = 72
const MAX_MESSAGE = 4000

/** A first line that is too long becomes the subject, cut, and the whole text follows below. */
export function commitMessage (text: string): string {
  const plain = clip(text.replaceAll('\r\n', '\n').replace(/[^\P{Cc}\n\t]/gu, '').trim(), MAX_MESSAGE)
  const [first = ''] = plain.split('\n', 1)
  const points = Array.from(first)
  const subject = points.length > MAX_SUBJECT ? `${points.slice(0, MAX_SUBJECT - 1).join('')}…` : first
  if (subject === plain) return subject === '' ? 'Change files' : subject
  return subject === first ? `${subject}\n\n${plain.slice(first.length).trim()}` : `${subject}\n\n${plain}`
}

interface ChangePreview {
  readonly files: readonly JsonObject[]
  readonly more: number
  /** The state of every touched path before and after the change. */
  readonly shown: readonly JsonObject[]
  /** Somebody else has changed these paths. */
  readonly conflicts: readonly Conflict[]
}

export function previewOf (result: Json): ChangePreview | PlanProblem {
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

function conflictsIn (result: Json): Conflict[] {
  return listIn(result, 'conflicts').map(each => ({ path: textIn(each, 'path'), reason: textIn(each, 'reason') as Conflict['reason'] }))
}

/** `undefined` when the result has no such list. */
export function changedIn (result: Json): ChangedPath[] | undefined {
  if (!isJsonObject(result) || !Array.isArray(result['applied'])) return undefined
  return listIn(result, 'applied').map(each => ({ kind: textIn(each, 'kind'), path: textIn(each, 'path') }))
}

/** `undefined` for a check that passed. */
export function failedCheck (result: Json): string | undefined {
  if (!isJsonObject(result)) return 'it has no result'
  const { outcome, exitCode } = result
  if (outcome === 'exited' && exitCode === 0) return undefined
  const output = [textIn(result, 'stdout'), textIn(result, 'stderr')].filter(text => text !== '').join('\n')
  return `${outcome === 'exited' ? `exit code ${String(exitCode)}` : textIn(result, 'outcome')}${output === '' ? '' : `\n${output}`}`
}

function listIn (value: Json, name: string): readonly JsonObject[] {
  return listOf(ownField(value, name)).filter(isJsonObject)
}
