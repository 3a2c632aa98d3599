import { type JsonObject } from '../../base/json.ts'
import { type Conflict } from '../../files/change/conflict.ts'
import { type Next } from '../../session/engine.ts'
import { clip } from '../shared/clip.ts'
import { type Ended } from '../shared/reducer.ts'
import { ranAs } from '../shared/outbox.ts'
import { changedIn, conflictsIn, failedCheck, previewOf } from './change-result.ts'
import { type PlanProblem } from './parse-plan.ts'
import { type ChangedPath, type PlanPurpose, type PlanState } from './plan-state.ts'
import { PlanReducerBase } from './plan-reducer-base.ts'

/** In ms. */
const TIMEOUTS = { preview: 30_000, apply: 120_000, check: 600_000 } as const

/** What is said of a failed check is shown up to this length, in code points. */
const MAX_SHOWN_OUTPUT = 2000

/** So many conflicts are named in words; all of them are in the result. */
const MAX_NAMED = 20

/** The files of a plan: its change is shown, made, checked, taken back and made again. */
export abstract class ChangeReducer extends PlanReducerBase {
  /** An effect has ended. */
  abstract end (effect: string, ended: Ended): Next<PlanState>

  /** What was done to files has ended. */
  protected endOfChange (purpose: ChangePurpose, ended: Ended, effect: string): Next<PlanState> {
    switch (purpose) {
      case 'preview': return this.#previewed(ended)
      case 'apply': return this.#applied(ended)
      case 'check': return this.#checked(ended, effect)
      case 'rollback': return this.#rolledBack(ended)
      case 'undo':
      case 'redo': return this.#tookBack(purpose, ended)
    }
  }

  /** A person has said yes to a deletion. */
  allow (effect: string): Next<PlanState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.goTo('applying')
    this.state = { ...this.state, awaits, error: undefined }
    return this.next()
  }

  /** A person has said no to a deletion. */
  reject (effect: string): Next<PlanState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.state = { ...this.state, error: undefined }
    if (awaits.purpose === 'apply') return this.finish('rejected')
    if (awaits.purpose === 'redo') return this.#settle()
    return this.end(effect, { failure: 'refused by a person', code: 'REFUSED' })
  }

  protected preview (wish: JsonObject): Next<PlanState> {
    const { setting: { workspace } } = this.state
    this.state = { ...this.state, change: { wish, isAsked: false } }
    return this.wait('preview', this.outbox.readFrom({ from: { workspace }, requests: [{ type: 'preview', change: wish }], timeout: TIMEOUTS.preview }))
  }

  /** Nothing is written that was not shown: the change is made where all is still as the preview says. */
  #previewed (ended: Ended): Next<PlanState> {
    const { change: { wish } = { wish: {} } } = this.state
    const [kind = '', given = {}] = Object.entries(wish as Record<string, JsonObject>)[0] ?? []
    const purpose = kind === 'redo' ? 'redo' : 'apply'
    const preview = 'failure' in ended ? { code: ended.code, message: ended.failure } : previewOf(ended.value)
    if ('code' in preview) return purpose === 'redo' ? this.#tookBack('redo', { failure: preview.message, code: preview.code }) : this.fail(preview)
    const { files, more, shown, conflicts } = preview
    if (purpose === 'redo' && shown.length === 0) return this.#tookBack('redo', { value: { applied: [], conflicts: conflicts.map(each => ({ ...each })) } })
    this.outbox.notice('files', { stage: 'preview', files, ...(more > 0 ? { more } : {}) })
    this.log('debug', 'PREVIEW_READY', { files: shown.length })
    const isAsked = shown.some(each => isDeletion({ kind: String(each['kind']) }))
    if (isAsked) this.goTo('awaiting_confirmation')
    this.state = { ...this.state, change: { wish, isAsked } }
    return this.change(purpose, { [kind]: { ...given, shown } }, isAsked)
  }

  /** What was shown to a person is so no more: it is shown anew, and asked for again. */
  #showAnew (error: PlanProblem): Next<PlanState> | undefined {
    const { change } = this.state
    if (error.code !== 'ERR_BASE_CHANGED' || change?.isAsked !== true) return undefined
    this.tell(error)
    return this.preview(change.wish)
  }

  #applied (ended: Ended): Next<PlanState> {
    if ('failure' in ended) {
      const anew = this.#showAnew({ code: ended.code, message: ended.failure })
      if (anew !== undefined) return anew
      if (ended.code === 'APPLY_FAILED_ROLLED_BACK') this.log('error', 'APPLY_ROLLBACK', { code: ended.code })
      return this.fail({ code: ended.code, message: ended.failure })
    }
    const { reply } = this.state
    const changed = changedIn(ended.value) ?? (reply?.actions ?? []).map(({ kind, path }) => ({ kind, path }))
    this.state = { ...this.state, applied: changed, undone: [], check: 0 }
    this.goTo('applying')
    this.outbox.notice('files', { stage: 'applied', files: changed.map(each => ({ ...each })) })
    return this.#runCheck()
  }

  #runCheck (): Next<PlanState> {
    const { setting: { checks, workspace }, check } = this.state
    const name = checks[check]
    if (name === undefined) {
      this.log('debug', 'APPLY_SUCCESS', { files: this.state.applied.length, checks: checks.length })
      return this.#settle()
    }
    return this.wait('check', this.outbox.runCheck({ workspace, check: name, timeout: TIMEOUTS.check }))
  }

  /** A check that could not be made has not passed. */
  #checked (ended: Ended, effect: string): Next<PlanState> {
    const { setting: { checks }, check } = this.state
    const name = checks[check] ?? ''
    const failed = 'failure' in ended ? ended.failure : failedCheck(ended.value)
    this.outbox.notice('command', { check: name, phase: 'ended', passed: failed === undefined, ...ranAs(effect, 'value' in ended ? ended.value : null), ...(failed === undefined ? {} : { output: clip(failed, MAX_SHOWN_OUTPUT) }) })
    if (failed === undefined) {
      this.state = { ...this.state, check: check + 1 }
      return this.#runCheck()
    }
    this.log('error', 'APPLY_ROLLBACK', { check: name })
    this.state = { ...this.state, checkFailed: `the check "${name}" failed: ${clip(failed, MAX_SHOWN_OUTPUT)}` }
    return this.change('rollback', { undo: {} }, false)
  }

  #rolledBack (ended: Ended): Next<PlanState> {
    const { checkFailed = '', applied } = this.state
    const conflicts = 'failure' in ended ? [] : conflictsIn(ended.value)
    // A folder into which the check has put something stays; anything else that was changed keeps all of the change.
    if (conflicts.some(({ reason }) => reason !== 'filled')) {
      this.state = { ...this.state, conflicts }
      return this.fail({ code: 'AUTO_CHECK_FAILED_NOT_ROLLED_BACK', message: `${checkFailed}\nThe change was not taken back: ${inWords(conflicts)}` })
    }
    if ('failure' in ended) return this.fail({ code: 'AUTO_CHECK_FAILED_NOT_ROLLED_BACK', message: `${checkFailed}\nThe change could not be taken back: ${ended.code}: ${ended.failure}` })
    const stays = (change: ChangedPath): boolean => conflicts.some(({ path }) => path === change.path)
    const undone = applied.filter(change => !stays(change))
    this.state = { ...this.state, applied: applied.filter(stays), undone, conflicts }
    this.outbox.notice('files', { stage: 'undone', files: undone.map(each => ({ ...each })), ...withConflicts(conflicts) })
    return this.fail({ code: 'AUTO_CHECK_FAILED_ROLLED_BACK', message: checkFailed })
  }

  #tookBack (name: 'undo' | 'redo', ended: Ended): Next<PlanState> {
    const { applied, undone } = this.state
    if ('failure' in ended) {
      const error = { code: ended.code, message: ended.failure }
      const anew = name === 'redo' ? this.#showAnew(error) : undefined
      if (anew !== undefined) return anew
      this.tell(error)
      return this.#settle()
    }
    const conflicts = conflictsIn(ended.value)
    const from = name === 'undo' ? applied : undone
    const paths = new Set((changedIn(ended.value) ?? from).map(({ path }) => path))
    const moved = from.filter(({ path }) => paths.has(path))
    const left = from.filter(({ path }) => !paths.has(path))
    this.state = name === 'undo' ? { ...this.state, applied: left, undone: [...undone, ...moved] } : { ...this.state, undone: left, applied: [...applied, ...moved] }
    this.outbox.notice('files', { stage: name === 'undo' ? 'undone' : 'redone', files: moved.map(each => ({ ...each })), ...withConflicts(conflicts) })
    const error = conflicts.length === 0 ? undefined : { code: 'ERR_BASE_CHANGED', message: `not ${name === 'undo' ? 'taken back' : 'done again'}: ${inWords(conflicts)}` }
    this.state = { ...this.state, conflicts, error }
    if (error !== undefined) this.keepError(error)
    return this.#settle()
  }

  /** A change is there, or was taken back: both may be turned round. */
  #settle (): Next<PlanState> {
    this.goTo(this.state.applied.length > 0 ? 'applied' : 'undone')
    return this.listen()
  }

  protected change (purpose: 'apply' | 'rollback' | 'undo' | 'redo', change: JsonObject, deletes: boolean): Next<PlanState> {
    const { setting: { workspace } } = this.state
    return this.wait(purpose, this.outbox.change({ workspace, change, deletes, timeout: TIMEOUTS.apply }))
  }
}

type ChangePurpose = Extract<PlanPurpose, 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo'>

function withConflicts (conflicts: readonly Conflict[]): JsonObject {
  return conflicts.length === 0 ? {} : { conflicts: conflicts.map(conflict => ({ ...conflict })) }
}

function inWords (conflicts: readonly Conflict[]): string {
  const named = conflicts.slice(0, MAX_NAMED).map(({ path, reason }) => `${path} (${reason})`).join(', ')
  return `${named}${conflicts.length > MAX_NAMED ? ` and ${conflicts.length - MAX_NAMED} more` : ''}; somebody else has been there since`
}

function isDeletion ({ kind }: Pick<ChangedPath, 'kind'>): boolean {
  return kind === 'DELETE_FILE' || kind === 'DELETE_DIR'
}
