import { contentHash, type JsonObject } from '../../base/json.ts'
import { cleanOutputForAI, clip, cutMiddle } from '../clip.ts'
import { type Ended, ranAs } from '../reducer.ts'
import type { PlanProblem } from './parse-plan.ts'
import type { PlanPurpose, PlanState } from './plan-state.ts'
import { awaitEffect, emitPlanText, emitProblem, fail, goTo, listen, listenAfterChange, log, mayRepair, type PlanTurn } from './plan-turn.ts'
import { change, changedIn, commit, failedCheck, onCommitted, onRolledBack, onTurnedBack, preview, previewOf, takeBack } from './undo.ts'

/** In ms. */
const CHECK_TIMEOUT = 600_000

/** UTF-16 units of a failed check's output for the model; its middle is left out. */
const MAX_OUTPUT = 12_000

/** Code points of a failed check's output for users. */
const MAX_SHOWN_OUTPUT = 2000

/** The file is not as the model saw it: it gets the file again, and repairs its change. */
const STALE: ReadonlySet<string> = new Set(['ERR_BASE_CHANGED', 'PATH_NOT_FOUND', 'ERR_FILE_EXISTS'])

/** The model has to be asked again, after the paths were read again; or for the first time, where a check had to run before. */
export type AskModel = { readonly problem: PlanProblem | undefined, readonly paths: readonly string[] } | 'first'

/** A change is shown, agreed to, applied and checked; a failed check begins another round, or takes the change back. */
export function onChangeEnded (
  turn: PlanTurn,
  purpose: Extract<PlanPurpose, 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo' | 'commit'>,
  ended: Ended,
  effect: string
): AskModel | void {
  switch (purpose) {
    case 'preview': return onPreviewed(turn, ended)
    case 'apply': return onApplied(turn, ended, effect)
    case 'check': return onChecked(turn, ended, effect)
    case 'rollback': return onRolledBack(turn, ended)
    case 'undo': return onTurnedBack(turn, 'undo', ended)
    case 'commit': return onCommitted(turn, ended)
    case 'redo': if (!isShownAnew(turn, ended)) onTurnedBack(turn, 'redo', ended)
  }
}

/** The change is applied only while the files are still as the preview says. */
function onPreviewed (turn: PlanTurn, ended: Ended): AskModel | void {
  const { change: { wish } = { wish: {} }, setting: { confirm }, agreed } = turn.state
  const [kind = '', given = {}] = Object.entries(wish as Record<string, JsonObject>)[0] ?? []
  const purpose = kind === 'redo' ? 'redo' : 'apply'
  const preview = 'failure' in ended ? { code: ended.code, message: ended.failure } : previewOf(ended.value)
  if ('code' in preview) return purpose === 'redo' ? onTurnedBack(turn, 'redo', { failure: preview.message, code: preview.code }) : notMade(turn, preview)
  const { files, more, shown, conflicts } = preview
  if (purpose === 'redo' && shown.length === 0) return onTurnedBack(turn, 'redo', { value: { applied: [], conflicts: conflicts.map(each => ({ ...each })) } })
  const shownChange = { [kind]: { ...given, shown } }
  const paths = shown.map(each => String(each['path']))
  const isAsked = confirm !== 'none' && shown.some(each => String(each['kind']).startsWith('DELETE_'))
  const digest = purpose === 'apply' && !isAsked && waitsForUser(turn.state, paths) ? contentHash(shownChange) : undefined
  turn.emit('files', { stage: 'preview', files, ...(more > 0 ? { more } : {}), ...(digest === undefined ? {} : { digest }) })
  log(turn, 'debug', 'PREVIEW_READY', { files: shown.length })
  turn.set({ change: { wish, isAsked } })
  if (digest !== undefined) {
    turn.set({ held: { digest, change: shownChange, paths } })
    goTo(turn, 'awaiting_confirmation')
    emitPlanText(turn, 'planDiff')
    return listen(turn)
  }
  if (isAsked) goTo(turn, 'awaiting_confirmation')
  if (purpose === 'apply') turn.set({ agreed: [...new Set([...agreed, ...paths])] })
  change(turn, purpose, shownChange, isAsked)
}

/** A repair waits only for files whose diff the user has not agreed to, or with `repair.confirm`. */
function waitsForUser ({ setting: { confirm, repair }, agreed, hasApplied }: PlanState, paths: readonly string[]): boolean {
  return confirm === 'diff' && (!hasApplied || repair.confirm || paths.some(path => !agreed.includes(path)))
}

/** Exactly the diff that was shown: the user has agreed to it. */
export function writeHeld (turn: PlanTurn): void {
  const { held, agreed } = turn.state
  if (held === undefined) return
  turn.set({ held: undefined, agreed: [...new Set([...agreed, ...held.paths])] })
  goTo(turn, 'applying')
  change(turn, 'apply', held.change, false)
}

/** When its files have changed since a person was asked. */
function isShownAnew (turn: PlanTurn, ended: Ended): boolean {
  const { change } = turn.state
  if (!('failure' in ended) || ended.code !== 'ERR_BASE_CHANGED' || change?.isAsked !== true) return false
  emitProblem(turn, { code: ended.code, message: ended.failure })
  preview(turn, change.wish)
  return true
}

/** Nothing was written. */
function notMade (turn: PlanTurn, problem: PlanProblem): AskModel | void {
  if (!mayRepair(turn)) return cannotGoOn(turn, problem)
  const { reply, agreed } = turn.state
  const named = (reply?.actions ?? []).map(({ path }) => path).filter(path => problem.message.includes(JSON.stringify(path)))
  const paths = STALE.has(problem.code) ? named : []
  for (const path of paths) emitPlanText(turn, 'planBase', { path })
  // Consent to a file's diff ends when somebody changes the file.
  turn.set({ agreed: agreed.filter(path => !paths.includes(path)) })
  return { problem, paths }
}

function onApplied (turn: PlanTurn, ended: Ended, effect: string): AskModel | void {
  if ('failure' in ended) {
    if (isShownAnew(turn, ended)) return
    if (ended.code === 'APPLY_FAILED_ROLLED_BACK') log(turn, 'error', 'APPLY_ROLLBACK', { code: ended.code })
    const error = { code: ended.code, message: ended.failure }
    return STALE.has(ended.code) ? notMade(turn, error) : fail(turn, error)
  }
  const { reply, applied, changes, hasApplied, summary } = turn.state
  const changed = changedIn(ended.value) ?? (reply?.actions ?? []).map(({ kind, path }) => ({ kind, path }))
  const before = hasApplied ? applied.filter(({ path }) => !changed.some(each => each.path === path)) : []
  turn.set({
    applied: [...before, ...changed],
    undone: [],
    changes: [...hasApplied ? changes : [], effect],
    reversed: 0,
    hasApplied: true,
    check: 0,
    done: summary,
    commit: undefined
  })
  goTo(turn, 'applying')
  turn.emit('files', { stage: 'applied', files: changed.map(each => ({ ...each })) })
  runCheck(turn)
}

function runCheck (turn: PlanTurn): void {
  const { setting: { checks, commit: commits }, check, applied } = turn.state
  const name = checks[check]
  if (name !== undefined) return waitForCheck(turn, name)
  log(turn, 'debug', 'APPLY_SUCCESS', { files: applied.length, checks: checks.length })
  turn.set({ failedCheck: '' })
  // A change without checks has passed none, so it is not committed automatically.
  if (commits === 'passed' && checks.length > 0) commit(turn, '')
  else listenAfterChange(turn)
}

export function runFix (turn: PlanTurn, check: string): void {
  goTo(turn, 'applying')
  waitForCheck(turn, check)
}

function waitForCheck (turn: PlanTurn, check: string): void {
  awaitEffect(turn, 'check', turn.begin('check', { workspace: turn.state.setting.workspace, check, timeout: CHECK_TIMEOUT }))
}

/** A check that could not run has failed. */
function onChecked (turn: PlanTurn, ended: Ended, effect: string): AskModel | void {
  const { setting: { checks }, check, fix, lastActions, reply } = turn.state
  const name = fix ?? checks[check] ?? ''
  const failed = 'failure' in ended ? ended.failure : failedCheck(ended.value)
  const ran = ranAs(effect, 'value' in ended ? ended.value : null)
  const output: JsonObject = failed === undefined ? {} : { output: clip(failed, MAX_SHOWN_OUTPUT) }
  turn.emit('command', { check: name, phase: 'ended', passed: failed === undefined, ...ran, ...output })
  if (fix !== undefined) {
    turn.set({ fix: undefined })
    if (failed === undefined) return nothingToDo(turn)
    turn.set({ report: reportOf(name, failed) })
    return 'first'
  }
  if (failed === undefined) {
    turn.set({ check: check + 1 })
    return runCheck(turn)
  }
  turn.set({ checkFailed: `the check "${name}" failed: ${clip(failed, MAX_SHOWN_OUTPUT)}`, failedCheck: reportOf(name, failed) })
  // The same changes as before the last repair would fail again.
  const actions = contentHash((reply?.actions ?? []).map(action => ({ ...action })))
  if (!mayRepair(turn) || lastActions === actions) return giveUp(turn)
  return nextRound(turn, name, actions)
}

/** The change stays, and the model reads the check's output. */
function nextRound (turn: PlanTurn, check: string, actions: string): AskModel {
  const { used, setting: { repair: { rounds } }, applied } = turn.state
  log(turn, 'warning', 'CHECK_FAILED_ROUND', { check, round: used + 1 })
  emitPlanText(turn, 'planRound', { check, n: used + 1, rounds })
  turn.set({ lastActions: actions })
  return { problem: undefined, paths: applied.map(({ path }) => path) }
}

function reportOf (check: string, output: string): string {
  return `CHECK[${check}]: ${cutMiddle(cleanOutputForAI(output), MAX_OUTPUT)}`
}

export function isMending ({ state: { hasApplied, failedCheck } }: PlanTurn): boolean {
  return hasApplied && failedCheck !== ''
}

/** Undoes the goal's first change and every repair, unless the profile keeps them. */
export function giveUp (turn: PlanTurn): void {
  const { setting: { repair: { then }, checks }, check, checkFailed = '' } = turn.state
  log(turn, 'error', 'APPLY_ROLLBACK', { check: checks[check] ?? '' })
  if (then === 'rollback') takeBack(turn, 'rollback')
  else fail(turn, { code: 'AUTO_CHECK_FAILED_KEPT', message: checkFailed })
}

/** While a failed check is being repaired, `giveUp` decides about the change. */
export function cannotGoOn (turn: PlanTurn, problem: PlanProblem): void {
  if (!isMending(turn)) return fail(turn, problem)
  emitProblem(turn, problem)
  giveUp(turn)
}

/** A repair that is rejected takes back its change. Where an earlier goal has changed files the session stays open, so that they can be undone. */
export function dropChange (turn: PlanTurn): void {
  if (isMending(turn)) return giveUp(turn)
  const { setting: { schemaVersion, keepsUndo }, applied, undone } = turn.state
  if (schemaVersion === 1 || keepsUndo !== true || applied.length + undone.length === 0) return goTo(turn, 'rejected')
  turn.set({ held: undefined, plan: undefined })
  if (applied.length > 0) emitPlanText(turn, 'planDropped')
  listenAfterChange(turn)
}

/** In schema 2, a session with earlier changes stays open, so that they can be undone or redone. */
export function nothingToDo (turn: PlanTurn): void {
  const { setting: { schemaVersion }, applied, undone } = turn.state
  if (schemaVersion === 1 || applied.length + undone.length === 0) goTo(turn, 'no_changes')
  else listenAfterChange(turn)
}
