import { type JsonObject } from '../../base/json.ts'
import { type Moment, type Next } from '../../session/engine.ts'
import { clip } from '../shared/clip.ts'
import { type Level } from '../shared/messages.ts'
import { renderText } from '../shared/render-text.ts'
import { PLAN_TEXTS, type PlanText } from '../texts/plan-texts.ts'
import { Outbox } from '../shared/outbox.ts'
import { type PlanProblem } from './parse-plan.ts'
import { type PlanPurpose, type PlanState, type PlanStep } from './plan-state.ts'

/** The largest number of errors that the plan's state keeps, and the length to which the text of each error is cut, in code points. */
const MAX_ERRORS = 5
const MAX_ERROR = 300

/** The base of a plan's reducer (its rules): it changes the state, reports steps and errors, and asks for effects such as a model request. */
export abstract class PlanReducerBase {
  protected readonly outbox: Outbox
  protected state: PlanState

  constructor (state: PlanState, moment: Moment) {
    this.state = state
    this.outbox = new Outbox(moment)
  }

  next (): Next<PlanState> {
    return { state: this.state, effects: this.outbox.effects, notices: this.outbox.notices }
  }

  /** Reports an error of the plan. In schema 1 the error ends the plan; in schema 2 the plan waits for its user again. */
  protected fail (error: PlanProblem): Next<PlanState> {
    this.tell(error)
    if (this.state.setting.schemaVersion === 1) return this.finish('failed')
    const { hasApplied, applied, rest } = this.state
    this.state = { ...this.state, held: undefined, repair: undefined }
    this.goTo(!hasApplied ? rest : applied.length > 0 ? 'applied' : 'undone')
    return this.listen()
  }

  /** Whether the model can still be asked to repair its last answer or change. The plan's settings limit the number of repairs. */
  protected get mayRepair (): boolean {
    return this.state.used < this.state.setting.repair.rounds
  }

  /** Shows the user one of the service's own texts about plans. */
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

  /** Adds a line to the detailed log of the session: `[trace_id] EVENT k=v …`. */
  protected log (level: Level, event: string, values: Readonly<Record<string, string | number>> = {}): void {
    const { setting: { traceId } } = this.state
    const text = [event, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join(' ')
    this.outbox.notice('log', { prefix: traceId, level, text, trace_id: traceId, event, ...values })
  }
}
