import { isJsonObject, type Json, type JsonObject, objectOf, objectsIn, textOf } from '../../base/json.ts'
import type { Conflict } from '../../files/change/change-rules.ts'
import { clip } from '../clip.ts'
import type { Ended } from '../reducer.ts'
import type { PlanProblem } from './parse-plan.ts'
import type { ChangedPath } from './plan-state.ts'
import { awaitEffect, emitPlanText, emitProblem, fail, goTo, keepError, listen, listenAfterChange, type PlanTurn } from './plan-turn.ts'

/** In ms. A commit's is long, since git hooks sometimes run all tests. */
const TIMEOUTS = { preview: 30_000, change: 120_000, commit: 600_000 } as const

/** Characters of a commit's hash that users are shown. */
const HASH_LENGTH = 10

/** Conflicts that a message names; the result lists all. */
const MAX_NAMED = 20

type TurnBack = 'rollback' | 'undo' | 'redo'

/** The newest first. @param paths @default all */
export function takeBack (turn: PlanTurn, purpose: 'rollback' | 'undo', paths?: readonly string[]): void {
  const { changes } = turn.state
  const own: JsonObject = paths === undefined ? {} : { paths: [...paths] }
  begin(turn, purpose, changes.length < 2 ? [{ undo: own }] : changes.toReversed().map(of => ({ undo: { of, ...own } })), paths === undefined)
}

/** The oldest first. If they delete something, a person is asked again. */
export function doAgain (turn: PlanTurn, paths?: readonly string[]): void {
  const wish: JsonObject = { redo: paths === undefined ? {} : { paths: [...paths] } }
  begin(turn, 'redo', Array.from({ length: Math.max(1, turn.state.reversed) }, () => wish), paths === undefined)
}

function begin (turn: PlanTurn, purpose: TurnBack, [first = {}, ...left]: readonly JsonObject[], isWhole: boolean): void {
  goTo(turn, 'applying')
  const { setting: { keepsUndo } } = turn.state
  // Only in APPLY can files change, whatever the mode of the last goal was.
  turn.set({ mode: 'apply', held: undefined, turning: { left, conflicts: [], ...(isWhole && keepsUndo === true ? { isWhole } : {}) } })
  turnBack(turn, purpose, first)
}

function turnBack (turn: PlanTurn, purpose: TurnBack, wish: JsonObject): void {
  if (purpose === 'redo') preview(turn, wish)
  else change(turn, purpose, wish, false)
}

/** @returns whether there is more to turn back */
function goOn (turn: PlanTurn, purpose: TurnBack, conflicts: readonly Conflict[]): boolean {
  const { turning } = turn.state
  const [next, ...left] = turning?.left ?? []
  turn.set({ turning: next === undefined ? undefined : { ...turning, left, conflicts } })
  if (next !== undefined) turnBack(turn, purpose, next)
  return next !== undefined
}

export function onRolledBack (turn: PlanTurn, ended: Ended): void {
  const { checkFailed = '', applied, turning, setting: { schemaVersion, checks }, check } = turn.state
  const conflicts = merged(turning?.conflicts, 'failure' in ended ? [] : conflictsIn(ended.value))
  const stays = (reason: string): void => {
    turn.set({ rest: 'applied' })
    fail(turn, { code: 'AUTO_CHECK_FAILED_NOT_ROLLED_BACK', message: `${checkFailed}\n${reason}` })
  }
  // A created folder stays if the check has put files into it; a foreign change keeps the whole change.
  if (conflicts.some(({ reason }) => reason !== 'filled')) {
    turn.set({ conflicts, turning: undefined })
    return stays(`The change was not taken back: ${describeConflicts(conflicts)}`)
  }
  if ('failure' in ended) return stays(`The change could not be taken back: ${ended.code}: ${ended.failure}`)
  if (goOn(turn, 'rollback', conflicts)) return
  const [left, undone] = divided(applied, conflicts)
  turn.set({ applied: left, undone, conflicts, reversed: turn.state.changes.length, rest: 'undone' })
  turn.emit('files', { stage: 'undone', files: undone.map(each => ({ ...each })), ...withConflicts(conflicts) })
  if (schemaVersion !== 1) emitPlanText(turn, 'planGivenUp', { check: checks[check] ?? '' })
  fail(turn, { code: 'AUTO_CHECK_FAILED_ROLLED_BACK', message: checkFailed })
}

export function onTurnedBack (turn: PlanTurn, name: 'undo' | 'redo', ended: Ended): void {
  const { applied, undone, turning } = turn.state
  const isNothing = isNothingOfMore(turn, ended)
  if ('failure' in ended && !isNothing) {
    emitProblem(turn, { code: ended.code, message: ended.failure })
    turn.set({ turning: undefined })
    return listenAfterChange(turn)
  }
  const result = 'value' in ended ? ended.value : {}
  const conflicts = merged(turning?.conflicts, conflictsIn(result))
  const from = name === 'undo' ? applied : undone
  // What a change wrote as it was before counts as taken back.
  const isAll = turning?.isWhole === true && turning.left.length === 0 && conflicts.length === 0
  const [moved, left] = divided(from, isAll ? from : isNothing ? [] : changedIn(result) ?? from)
  if (name === 'undo') turn.set({ applied: left, undone: [...undone, ...moved] })
  else turn.set({ undone: left, applied: [...applied, ...moved] })
  turn.emit('files', { stage: name === 'undo' ? 'undone' : 'redone', files: moved.map(each => ({ ...each })), ...withConflicts(conflicts) })
  if (!goOn(turn, name, conflicts)) allTurnedBack(turn, name, conflicts)
}

function allTurnedBack (turn: PlanTurn, name: 'undo' | 'redo', conflicts: readonly Conflict[]): void {
  const { changes, commit } = turn.state
  const message = `not ${name === 'undo' ? 'taken back' : 'done again'}: ${describeConflicts(conflicts)}`
  const error = conflicts.length === 0 ? undefined : { code: 'ERR_BASE_CHANGED', message }
  turn.set({ conflicts, error, reversed: name === 'undo' ? changes.length : 0 })
  if (error !== undefined) keepError(turn, error)
  if (name === 'undo' && commit !== undefined) emitPlanText(turn, 'commitStays', { hash: commit.slice(0, HASH_LENGTH) })
  listenAfterChange(turn)
}

/** One change of several with nothing to turn is no failure: a change that came to nothing has left no undo. */
function isNothingOfMore ({ state: { turning, reversed } }: PlanTurn, ended: Ended): boolean {
  const left = turning?.left.length ?? 0
  if (!('failure' in ended)) return false
  return ended.code === 'NOTHING_TO_UNDO' ? left > 0 : ended.code === 'NOTHING_TO_REDO' && left + 1 < reversed
}

export function preview (turn: PlanTurn, wish: JsonObject): void {
  const { setting: { workspace } } = turn.state
  turn.set({ change: { wish, isAsked: false } })
  const request = { type: 'preview', change: wish, ...('redo' in wish ? together(turn) : {}) }
  awaitEffect(turn, 'preview', turn.begin('read', { from: { workspace }, requests: [request], timeout: TIMEOUTS.preview }))
}

export function change (turn: PlanTurn, purpose: 'apply' | TurnBack, change: JsonObject, deletes: boolean): void {
  const { setting: { workspace } } = turn.state
  const more = purpose === 'apply' ? {} : together(turn)
  awaitEffect(turn, purpose, turn.begin('apply', { workspace, change, deletes, timeout: TIMEOUTS.change, ...more }))
}

function together ({ state: { setting: { keepsUndo }, changes } }: PlanTurn): { readonly together?: string[] } {
  return keepsUndo === true ? { together: [...changes] } : {}
}

/** @param message @default the summary of the last change */
export function commit (turn: PlanTurn, message: string): void {
  const { setting: { workspace }, applied, done } = turn.state
  goTo(turn, 'applying')
  turn.set({ mode: 'apply' })
  const paths = applied.filter(({ kind }) => kind !== 'CREATE_DIR').map(({ path }) => path)
  const effect = { workspace, paths, message: commitMessage(message === '' ? done : message), timeout: TIMEOUTS.commit }
  awaitEffect(turn, 'commit', turn.begin('commit', effect))
}

/** After a failed commit the plan waits for its user as after a good one. */
export function onCommitted (turn: PlanTurn, ended: Ended): void {
  const { hash, leftOut = [] } = 'value' in ended ? objectOf(ended.value) : {}
  if ('failure' in ended) emitProblem(turn, { code: ended.code === 'REFUSED' ? 'COMMIT_DENIED' : ended.code, message: ended.failure })
  if (typeof hash === 'string') {
    turn.set({ commit: hash })
    emitPlanText(turn, 'committed', { hash: hash.slice(0, HASH_LENGTH) })
    const list = (leftOut as readonly JsonObject[]).map(({ path, reason }) => `${String(path)} (${String(reason)})`).join(', ')
    if (list !== '') emitPlanText(turn, 'commitLeavesOut', { list })
  }
  listenAfterCommit(turn)
}

/** A commit of the goal before leaves the plan of the next goal as it is. */
export function listenAfterCommit (turn: PlanTurn): void {
  const { hasApplied, rest } = turn.state
  if (hasApplied || rest !== 'planned') return listenAfterChange(turn)
  turn.set({ mode: 'plan' })
  goTo(turn, 'planned')
  listen(turn)
}

/** @returns those with a path of `among`, and the others */
function divided (paths: readonly ChangedPath[], among: ReadonlyArray<{ readonly path: string }>): [ChangedPath[], ChangedPath[]] {
  const isAmong = ({ path }: ChangedPath): boolean => among.some(each => each.path === path)
  return [paths.filter(isAmong), paths.filter(each => !isAmong(each))]
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

/** `shown`: the state of every touched path before and after the change; `conflicts`: somebody else has changed these paths. */
export function previewOf (result: Json): PlanProblem | {
  readonly files: readonly JsonObject[]
  readonly more: number
  readonly shown: readonly JsonObject[]
  readonly conflicts: readonly Conflict[]
} {
  const blocks = objectsIn(result, 'blocks')
  const preview = blocks.find(({ type }) => type === 'preview')
  if (preview !== undefined) {
    const more = typeof preview['more'] === 'number' ? preview['more'] : 0
    return { files: objectsIn(preview, 'files'), more, shown: objectsIn(preview, 'shown'), conflicts: conflictsIn(preview) }
  }
  const missing = blocks.find(({ type }) => type === 'missing') ?? {}
  const [code, reason] = [textOf(missing['code']), textOf(missing['reason'])]
  if (code === '') return { code: 'INTERNAL', message: `the change could not be shown: ${reason}` }
  return { code, message: reason.startsWith(`${code}: `) ? reason.slice(code.length + 2) : reason }
}

function conflictsIn (result: Json): Conflict[] {
  return objectsIn(result, 'conflicts').map(each => ({ path: textOf(each['path']), reason: textOf(each['reason']) as Conflict['reason'] }))
}

/** `undefined` when the result has no such list. */
export function changedIn (result: Json): ChangedPath[] | undefined {
  if (!isJsonObject(result) || !Array.isArray(result['applied'])) return undefined
  return objectsIn(result, 'applied').map(each => ({ kind: textOf(each['kind']), path: textOf(each['path']) }))
}

/** `undefined` for a check that passed. */
export function failedCheck (result: Json): string | undefined {
  if (!isJsonObject(result)) return 'it has no result'
  const { outcome, exitCode } = result
  if (outcome === 'exited' && exitCode === 0) return undefined
  const output = [textOf(result['stdout']), textOf(result['stderr'])].filter(text => text !== '').join('\n')
  return `${outcome === 'exited' ? `exit code ${String(exitCode)}` : textOf(result['outcome'])}${output === '' ? '' : `\n${output}`}`
}
