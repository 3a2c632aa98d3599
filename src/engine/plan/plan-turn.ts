import type { JsonObject } from '../../base/json.ts'
import { clip } from '../clip.ts'
import { type Level, renderText, type Turn } from '../reducer.ts'
import { PLAN_TEXTS, type PlanText } from '../texts.ts'
import type { PlanProblem } from './parse-plan.ts'
import type { PlanPurpose, PlanState, PlanStep } from './plan-state.ts'

/** What all parts of a plan do: change the step, wait for an effect or the user, and fail. */
export type PlanTurn = Turn<PlanState>

/** Errors, and code points of each. */
const MAX_ERRORS = 5
const MAX_ERROR = 300

export function goTo (turn: PlanTurn, step: PlanStep): void {
  if (step !== turn.state.step) turn.emit('state', { word: step })
  turn.set({ step, awaits: undefined })
}

export function awaitEffect (turn: PlanTurn, purpose: PlanPurpose, effect: string): void {
  turn.set({ awaits: { effect, purpose } })
}

export function listen (turn: PlanTurn): void {
  const { step, rest, child } = turn.state
  turn.set({ rest: step === 'planned' || step === 'applied' || step === 'undone' ? step : rest })
  if (child !== undefined && step !== 'awaiting_confirmation') turn.set({ child: 'over' })
  else turn.begin('wait', {})
}

export function listenAfterChange (turn: PlanTurn): void {
  goTo(turn, turn.state.applied.length > 0 ? 'applied' : 'undone')
  listen(turn)
}

/** In schema 1 an error ends the plan; in schema 2 it waits for its user again. */
export function fail (turn: PlanTurn, error: PlanProblem): void {
  emitProblem(turn, error)
  const { hasApplied, applied, rest, setting: { schemaVersion } } = turn.state
  if (schemaVersion === 1) return goTo(turn, 'failed')
  turn.set({ held: undefined, repair: undefined })
  goTo(turn, !hasApplied ? rest : applied.length > 0 ? 'applied' : 'undone')
  listen(turn)
}

export function emitProblem (turn: PlanTurn, error: PlanProblem): void {
  turn.set({ error })
  turn.emitError(error.code, error.message)
  keepError(turn, error)
}

export function keepError (turn: PlanTurn, { code, message }: PlanProblem): void {
  turn.set({ recentErrors: [...turn.state.recentErrors, clip(`${code}: ${message}`, MAX_ERROR)].slice(-MAX_ERRORS) })
}

export function emitPlanText (turn: PlanTurn, text: PlanText, values: JsonObject = {}): void {
  turn.emitText(renderText(PLAN_TEXTS[turn.state.setting.language][text], values))
}

/** As `[trace_id] EVENT k=v …`. */
export function log (turn: PlanTurn, level: Level, event: string, values: Readonly<Record<string, string | number>> = {}): void {
  const { setting: { traceId } } = turn.state
  const text = [event, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)].join(' ')
  turn.emit('log', { prefix: traceId, level, text, trace_id: traceId, event, ...values })
}

export function mayRepair ({ state: { used, setting: { repair: { rounds } } } }: PlanTurn): boolean {
  return used < rounds
}
