import { contentHash, type JsonObject } from '../../base/json.ts'
import { type Next } from '../../session/engine.ts'
import { cleanOutputForAI, clip, cutMiddle } from '../clip.ts'
import { type Ended, ranAs } from '../reducer.ts'
import { changedIn, failedCheck, MAX_SHOWN_OUTPUT, previewOf, UndoReducer } from './undo.ts'
import { type PlanProblem } from './parse-plan.ts'
import { type ChangedPath, type PlanPurpose, type PlanState } from './state.ts'

/** The longest time that the preview of a change, or a check (a command that tests the workspace), is allowed to take, in ms. */
const TIMEOUTS = { preview: 30_000, check: 600_000 } as const

/** The length to which the output of a failed check is cut for the model, in UTF-16 units; its middle is left out. */
const MAX_OUTPUT = 12_000

/** The error codes of changes that failed because a file is not as the model saw it. The model gets the files again, and repairs its change. */
const STALE: ReadonlySet<string> = new Set(['ERR_BASE_CHANGED', 'PATH_NOT_FOUND', 'ERR_FILE_EXISTS'])

/** The part of a plan's reducer (its rules) that changes files: a change is shown, applied, checked, and repaired where a check fails. */
export abstract class ChangeReducer extends UndoReducer {
  /** Handles the result or failure of the effect (model request, read, change or check) for which the plan waits. */
  abstract end (effect: string, ended: Ended): Next<PlanState>

  /** Asks the model to repair its last answer. @param paths files that the service reads again before it asks */
  protected abstract askAgain (problem: PlanProblem | undefined, paths: readonly string[]): Next<PlanState>

  /** Asks the model for the changes that the goal needs. Before that, the service reads the files that the goal mentions. */
  protected abstract begin (): Next<PlanState>

  /** Handles the result or failure of a preview, a change, a check or a commit. */
  protected endOfChange (purpose: ChangePurpose, ended: Ended, effect: string): Next<PlanState> {
    switch (purpose) {
      case 'preview': return this.#previewed(ended)
      case 'apply': return this.#applied(ended, effect)
      case 'check': return this.#checked(ended, effect)
      case 'rollback': return this.rolledBack(ended)
      case 'undo': return this.turned('undo', ended)
      case 'commit': return this.committed(ended)
      case 'redo': return this.#showAnew(ended) ?? this.turned('redo', ended)
    }
  }

  /** Continues after a person has approved what the plan waits to do: a change that deletes something, or a git commit. */
  allow (effect: string): Next<PlanState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.goTo('applying')
    this.state = { ...this.state, awaits, error: undefined }
    return this.next()
  }

  /**
   * Handles a person's refusal of what the plan wants to do. A refused change ends the plan. After a refused redo or commit, the plan waits
   * for its user.
   */
  reject (effect: string): Next<PlanState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.state = { ...this.state, error: undefined }
    if (awaits.purpose === 'apply') return this.state.setting.keepsUndo === true ? this.rejected() : this.finish('rejected')
    if (awaits.purpose === 'redo') return this.settle()
    if (awaits.purpose === 'commit') return this.afterCommit()
    return this.end(effect, { failure: 'refused by a person', code: 'REFUSED' })
  }

  /**
   * Drops the goal that its user does not want any more. A change that is being mended is taken back. The plan goes on where an earlier goal has
   * changed something, since that can still be undone.
   */
  protected rejected (): Next<PlanState> {
    if (this.isMending) return this.giveUp()
    const { setting: { schemaVersion, keepsUndo }, applied, undone } = this.state
    if (schemaVersion === 1 || keepsUndo !== true || applied.length + undone.length === 0) return this.finish('rejected')
    this.state = { ...this.state, held: undefined, plan: undefined }
    if (applied.length > 0) this.tellUser('planDropped')
    return this.settle()
  }

  /** Writes exactly the diff that was shown, since the user has agreed to it. */
  protected writeHeld (): Next<PlanState> {
    const { held, agreed } = this.state
    if (held === undefined) return this.next()
    this.state = { ...this.state, held: undefined, agreed: [...new Set([...agreed, ...held.paths])] }
    this.goTo('applying')
    return this.change('apply', held.change, false)
  }

  protected preview (wish: JsonObject): Next<PlanState> {
    const { setting: { workspace } } = this.state
    this.state = { ...this.state, change: { wish, isAsked: false } }
    const request = { type: 'preview', change: wish, ...('redo' in wish ? this.together() : {}) }
    return this.wait('preview', this.outbox.readFrom({ from: { workspace }, requests: [request], timeout: TIMEOUTS.preview }))
  }

  /**
   * Shows the user the preview of a change, and begins the change or waits for consent. The change is applied only while the files are still
   * as the preview says.
   */
  #previewed (ended: Ended): Next<PlanState> {
    const { change: { wish } = { wish: {} } } = this.state
    const [kind = '', given = {}] = Object.entries(wish as Record<string, JsonObject>)[0] ?? []
    const purpose = kind === 'redo' ? 'redo' : 'apply'
    const preview = 'failure' in ended ? { code: ended.code, message: ended.failure } : previewOf(ended.value)
    if ('code' in preview) return purpose === 'redo' ? this.turned('redo', { failure: preview.message, code: preview.code }) : this.#notMade(preview)
    const { files, more, shown, conflicts } = preview
    if (purpose === 'redo' && shown.length === 0) return this.turned('redo', { value: { applied: [], conflicts: conflicts.map(each => ({ ...each })) } })
    const change = { [kind]: { ...given, shown } }
    const paths = shown.map(each => String(each['path']))
    const isAsked = this.state.setting.confirm !== 'none' && shown.some(each => isDeletion({ kind: String(each['kind']) }))
    const digest = purpose === 'apply' && !isAsked && this.#waitsForUser(paths) ? contentHash(change) : undefined
    this.outbox.notice('files', { stage: 'preview', files, ...(more > 0 ? { more } : {}), ...(digest === undefined ? {} : { digest }) })
    this.log('debug', 'PREVIEW_READY', { files: shown.length })
    this.state = { ...this.state, change: { wish, isAsked } }
    if (digest !== undefined) return this.#hold({ digest, change, paths })
    if (isAsked) this.goTo('awaiting_confirmation')
    if (purpose === 'apply') this.state = { ...this.state, agreed: [...new Set([...this.state.agreed, ...paths])] }
    return this.change(purpose, change, isAsked)
  }

  /**
   * Whether a change has to wait until the user consents to its diff; never unless the plan's setting has `confirm: diff`. The repair of an
   * applied change waits only if it touches a file whose diff the user has not agreed to, or if `repair.confirm` is set.
   */
  #waitsForUser (paths: readonly string[]): boolean {
    const { setting: { confirm, repair }, agreed, hasApplied } = this.state
    if (confirm !== 'diff') return false
    return !hasApplied || repair.confirm || paths.some(path => !agreed.includes(path))
  }

  #hold (held: NonNullable<PlanState['held']>): Next<PlanState> {
    this.state = { ...this.state, held }
    this.goTo('awaiting_confirmation')
    this.tellUser('planDiff')
    return this.listen()
  }

  /** Shows a change again, for a new approval, when its files have changed since a person was asked; `undefined` in all other cases. */
  #showAnew (ended: Ended): Next<PlanState> | undefined {
    const { change } = this.state
    if (!('failure' in ended) || ended.code !== 'ERR_BASE_CHANGED' || change?.isAsked !== true) return undefined
    this.tell({ code: ended.code, message: ended.failure })
    return this.preview(change.wish)
  }

  /** Asks the model to repair a change that could not be applied. Nothing was written. */
  #notMade (error: PlanProblem): Next<PlanState> {
    if (!this.mayRepair) return this.cannotGoOn(error)
    const { reply, agreed } = this.state
    const named = (reply?.actions ?? []).map(({ path }) => path).filter(path => error.message.includes(JSON.stringify(path)))
    const paths = STALE.has(error.code) ? named : []
    for (const path of paths) this.tellUser('planBase', { path })
    // The user's consent to the diff of a file ends when somebody changes that file.
    this.state = { ...this.state, agreed: agreed.filter(path => !paths.includes(path)) }
    return this.askAgain(error, paths)
  }

  #applied (ended: Ended, effect: string): Next<PlanState> {
    if ('failure' in ended) {
      const anew = this.#showAnew(ended)
      if (anew !== undefined) return anew
      if (ended.code === 'APPLY_FAILED_ROLLED_BACK') this.log('error', 'APPLY_ROLLBACK', { code: ended.code })
      const error = { code: ended.code, message: ended.failure }
      return STALE.has(ended.code) ? this.#notMade(error) : this.fail(error)
    }
    const { reply, applied, changes, hasApplied } = this.state
    const changed = changedIn(ended.value) ?? (reply?.actions ?? []).map(({ kind, path }) => ({ kind, path }))
    const before = hasApplied ? applied.filter(({ path }) => !changed.some(each => each.path === path)) : []
    this.state = {
      ...this.state,
      applied: [...before, ...changed],
      undone: [],
      changes: [...hasApplied ? changes : [], effect],
      reversed: 0,
      hasApplied: true,
      check: 0,
      done: this.state.summary,
      commit: undefined
    }
    this.goTo('applying')
    this.outbox.notice('files', { stage: 'applied', files: changed.map(each => ({ ...each })) })
    return this.#runCheck()
  }

  #runCheck (): Next<PlanState> {
    const { setting: { checks }, check } = this.state
    const name = checks[check]
    if (name === undefined) {
      this.log('debug', 'APPLY_SUCCESS', { files: this.state.applied.length, checks: checks.length })
      this.state = { ...this.state, failedCheck: '' }
      // A change without checks has passed no check, so it is not committed automatically.
      if (this.state.setting.commit === 'passed' && checks.length > 0) return this.commit('')
      return this.settle()
    }
    return this.#waitForCheck(name)
  }

  /** Runs the check that the user wants to pass (`fix`), before the model is asked for a change. */
  protected runFix (check: string): Next<PlanState> {
    this.goTo('applying')
    return this.#waitForCheck(check)
  }

  #waitForCheck (check: string): Next<PlanState> {
    return this.wait('check', this.outbox.runCheck({ workspace: this.state.setting.workspace, check, timeout: TIMEOUTS.check }))
  }

  /** Handles the result of a check. A check that could not run has failed. */
  #checked (ended: Ended, effect: string): Next<PlanState> {
    const { setting: { checks }, check, fix } = this.state
    const name = fix ?? checks[check] ?? ''
    const failed = 'failure' in ended ? ended.failure : failedCheck(ended.value)
    const ran = ranAs(effect, 'value' in ended ? ended.value : null)
    const output = failed === undefined ? {} : { output: clip(failed, MAX_SHOWN_OUTPUT) }
    this.outbox.notice('command', { check: name, phase: 'ended', passed: failed === undefined, ...ran, ...output })
    if (fix !== undefined) return this.#checkedFirst(name, failed)
    if (failed === undefined) {
      this.state = { ...this.state, check: check + 1 }
      return this.#runCheck()
    }
    this.state = { ...this.state, checkFailed: this.failureOf(name, failed), failedCheck: reportOf(name, failed) }
    if (this.mayRepair && !this.#isRepeated()) return this.#nextRound(name)
    return this.giveUp()
  }

  /** Handles the result of the check that the user wants to pass. The output of the failed check becomes the report that the model reads. */
  #checkedFirst (name: string, failed: string | undefined): Next<PlanState> {
    this.state = { ...this.state, fix: undefined }
    if (failed === undefined) return this.nothingToDo()
    this.state = { ...this.state, report: reportOf(name, failed) }
    return this.begin()
  }

  /** Begins a repair of an applied change: the change stays, and the model reads the output of the failed check and the changed files. */
  #nextRound (check: string): Next<PlanState> {
    const { used, setting: { repair: { rounds } }, applied } = this.state
    this.log('warning', 'CHECK_FAILED_ROUND', { check, round: used + 1 })
    this.tellUser('planRound', { check, n: used + 1, rounds })
    this.state = { ...this.state, lastActions: this.#actionsHash() }
    return this.askAgain(undefined, applied.map(({ path }) => path))
  }

  /** Whether an applied change is being repaired because its check failed. */
  protected get isMending (): boolean {
    return this.state.hasApplied && this.state.failedCheck !== ''
  }

  /**
   * Gives up a change whose check still fails: undoes the goal's first change and every repair of it. If the plan profile (the operator's
   * settings of plans) says to keep them, they stay.
   */
  protected giveUp (): Next<PlanState> {
    const { setting: { repair: { then }, checks }, check, checkFailed = '' } = this.state
    this.log('error', 'APPLY_ROLLBACK', { check: checks[check] ?? '' })
    if (then === 'rollback') return this.takeBack('rollback')
    return this.fail({ code: 'AUTO_CHECK_FAILED_KEPT', message: checkFailed })
  }

  /** Fails the plan, since the model is not asked for a further repair. While a failed check is being repaired, `giveUp` decides about the change. */
  protected cannotGoOn (problem: PlanProblem): Next<PlanState> {
    if (!this.isMending) return this.fail(problem)
    this.tell(problem)
    return this.giveUp()
  }

  /** Ends a session whose goal needs no change. In schema 2, a session with earlier changes stays open, so that its user can undo or redo them. */
  protected nothingToDo (): Next<PlanState> {
    const { setting: { schemaVersion }, applied, undone } = this.state
    return schemaVersion === 1 || applied.length + undone.length === 0 ? this.finish('no_changes') : this.settle()
  }

  /** Whether the model's actions (the changes in its answer) are the same as before its last repair. */
  #isRepeated (): boolean {
    return this.state.lastActions === this.#actionsHash()
  }

  #actionsHash (): string {
    return contentHash((this.state.reply?.actions ?? []).map(action => ({ ...action })))
  }
}

type ChangePurpose = Extract<PlanPurpose, 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo' | 'commit'>

/** The output of a failed check, cut and cleaned for the model. */
function reportOf (check: string, output: string): string {
  return `CHECK[${check}]: ${cutMiddle(cleanOutputForAI(output), MAX_OUTPUT)}`
}

function isDeletion ({ kind }: Pick<ChangedPath, 'kind'>): boolean {
  return kind === 'DELETE_FILE' || kind === 'DELETE_DIR'
}
