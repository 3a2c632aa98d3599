import { contentHash, type JsonObject } from '../../base/json.ts'
import { type Next } from '../../session/engine.ts'
import { cleanOutputForAI, clip, cutMiddle } from '../clip.ts'
import { type Ended, ranAs } from '../reducer.ts'
import { changedIn, failedCheck, MAX_SHOWN_OUTPUT, previewOf, UndoReducer } from './undo.ts'
import { type PlanProblem } from './parse-plan.ts'
import { type ChangedPath, type PlanPurpose, type PlanState } from './plan-state.ts'

/** In ms. */
const TIMEOUTS = { preview: 30_000, check: 600_000 } as const

/** UTF-16 units of a failed check's output for the model; its middle is left out. */
const MAX_OUTPUT = 12_000

/** The file is not as the model saw it: it gets the file again, and repairs its change. */
const STALE: ReadonlySet<string> = new Set(['ERR_BASE_CHANGED', 'PATH_NOT_FOUND', 'ERR_FILE_EXISTS'])

export abstract class ChangeReducer extends UndoReducer {
  abstract end (effect: string, ended: Ended): Next<PlanState>

  /** @param paths are read again before the model is asked */
  protected abstract askAgain (problem: PlanProblem | undefined, paths: readonly string[]): Next<PlanState>

  /** The files that the goal mentions are read first. */
  protected abstract begin (): Next<PlanState>

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

  allow (effect: string): Next<PlanState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.goTo('applying')
    this.state = { ...this.state, awaits, error: undefined }
    return this.next()
  }

  /** A refused change ends the plan; after a refused redo or commit it waits for its user. */
  reject (effect: string): Next<PlanState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.state = { ...this.state, error: undefined }
    if (awaits.purpose === 'apply') return this.state.setting.keepsUndo === true ? this.rejected() : this.finish('rejected')
    if (awaits.purpose === 'redo') return this.settle()
    if (awaits.purpose === 'commit') return this.afterCommit()
    return this.end(effect, { failure: 'refused by a person', code: 'REFUSED' })
  }

  /** A repair that is rejected takes back its change. Where an earlier goal has changed files the session stays open, so that they can be undone. */
  protected rejected (): Next<PlanState> {
    if (this.isMending) return this.giveUp()
    const { setting: { schemaVersion, keepsUndo }, applied, undone } = this.state
    if (schemaVersion === 1 || keepsUndo !== true || applied.length + undone.length === 0) return this.finish('rejected')
    this.state = { ...this.state, held: undefined, plan: undefined }
    if (applied.length > 0) this.tellUser('planDropped')
    return this.settle()
  }

  /** Exactly the diff that was shown: the user has agreed to it. */
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

  /** The change is applied only while the files are still as the preview says. */
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

  /** A repair waits only for files whose diff the user has not agreed to, or with `repair.confirm`. */
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

  /** When its files have changed since a person was asked. */
  #showAnew (ended: Ended): Next<PlanState> | undefined {
    const { change } = this.state
    if (!('failure' in ended) || ended.code !== 'ERR_BASE_CHANGED' || change?.isAsked !== true) return undefined
    this.tell({ code: ended.code, message: ended.failure })
    return this.preview(change.wish)
  }

  /** Nothing was written. */
  #notMade (error: PlanProblem): Next<PlanState> {
    if (!this.mayRepair) return this.cannotGoOn(error)
    const { reply, agreed } = this.state
    const named = (reply?.actions ?? []).map(({ path }) => path).filter(path => error.message.includes(JSON.stringify(path)))
    const paths = STALE.has(error.code) ? named : []
    for (const path of paths) this.tellUser('planBase', { path })
    // Consent to a file's diff ends when somebody changes the file.
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
      // A change without checks has passed none, so it is not committed automatically.
      if (this.state.setting.commit === 'passed' && checks.length > 0) return this.commit('')
      return this.settle()
    }
    return this.#waitForCheck(name)
  }

  protected runFix (check: string): Next<PlanState> {
    this.goTo('applying')
    return this.#waitForCheck(check)
  }

  #waitForCheck (check: string): Next<PlanState> {
    return this.wait('check', this.outbox.runCheck({ workspace: this.state.setting.workspace, check, timeout: TIMEOUTS.check }))
  }

  /** A check that could not run has failed. */
  #checked (ended: Ended, effect: string): Next<PlanState> {
    const { setting: { checks }, check, fix } = this.state
    const name = fix ?? checks[check] ?? ''
    const failed = 'failure' in ended ? ended.failure : failedCheck(ended.value)
    const ran = ranAs(effect, 'value' in ended ? ended.value : null)
    const output: JsonObject = failed === undefined ? {} : { output: clip(failed, MAX_SHOWN_OUTPUT) }
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

  #checkedFirst (name: string, failed: string | undefined): Next<PlanState> {
    this.state = { ...this.state, fix: undefined }
    if (failed === undefined) return this.nothingToDo()
    this.state = { ...this.state, report: reportOf(name, failed) }
    return this.begin()
  }

  /** The change stays, and the model reads the check's output. */
  #nextRound (check: string): Next<PlanState> {
    const { used, setting: { repair: { rounds } }, applied } = this.state
    this.log('warning', 'CHECK_FAILED_ROUND', { check, round: used + 1 })
    this.tellUser('planRound', { check, n: used + 1, rounds })
    this.state = { ...this.state, lastActions: this.#actionsHash() }
    return this.askAgain(undefined, applied.map(({ path }) => path))
  }

  protected get isMending (): boolean {
    return this.state.hasApplied && this.state.failedCheck !== ''
  }

  /** Undoes the goal's first change and every repair, unless the profile keeps them. */
  protected giveUp (): Next<PlanState> {
    const { setting: { repair: { then }, checks }, check, checkFailed = '' } = this.state
    this.log('error', 'APPLY_ROLLBACK', { check: checks[check] ?? '' })
    if (then === 'rollback') return this.takeBack('rollback')
    return this.fail({ code: 'AUTO_CHECK_FAILED_KEPT', message: checkFailed })
  }

  /** While a failed check is being repaired, `giveUp` decides about the change. */
  protected cannotGoOn (problem: PlanProblem): Next<PlanState> {
    if (!this.isMending) return this.fail(problem)
    this.tell(problem)
    return this.giveUp()
  }

  /** In schema 2, a session with earlier changes stays open, so that they can be undone or redone. */
  protected nothingToDo (): Next<PlanState> {
    const { setting: { schemaVersion }, applied, undone } = this.state
    return schemaVersion === 1 || applied.length + undone.length === 0 ? this.finish('no_changes') : this.settle()
  }

  /** Whether the model's changes are the same as before its last repair. */
  #isRepeated (): boolean {
    return this.state.lastActions === this.#actionsHash()
  }

  #actionsHash (): string {
    return contentHash((this.state.reply?.actions ?? []).map(action => ({ ...action })))
  }
}

type ChangePurpose = Extract<PlanPurpose, 'preview' | 'apply' | 'check' | 'rollback' | 'undo' | 'redo' | 'commit'>

function reportOf (check: string, output: string): string {
  return `CHECK[${check}]: ${cutMiddle(cleanOutputForAI(output), MAX_OUTPUT)}`
}

function isDeletion ({ kind }: Pick<ChangedPath, 'kind'>): boolean {
  return kind === 'DELETE_FILE' || kind === 'DELETE_DIR'
}
