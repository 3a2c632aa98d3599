import { type JsonObject } from '../../base/json.ts'
import { type Engine } from '../../session/engine.ts'
import { takeFact } from '../shared/reducer.ts'
import { NO_CACHE } from './cycle-cache.ts'
import { intentOf } from './plan-input.ts'
import { PLAN, type PlanResult } from './plan-key.ts'
import { describePlan } from './plan-result.ts'
import { type PlanSetting } from './plan-setting.ts'
import { type PlanState, type PlanStep } from './plan-state.ts'
import { PlanReducer } from './plan-reducer.ts'
import { routeMode } from './route-mode.ts'

/**
 * The engine of plans. In the mode PLAN a model proposes changes of files; in the mode APPLY the model writes these changes, and the service
 * applies them.
 */
export const planEngine: Engine<PlanSetting, PlanState, PlanResult> = {
  ...PLAN,
  begin ({ setting, input, parent }, moment) {
    const state = begun(setting, input)
    return new PlanReducer(parent === undefined ? state : { ...state, child: 'goes-on' }, moment).start()
  },
  next (state, fact, moment) {
    const reducer = new PlanReducer(state, moment)
    if (fact.kind === 'input') return reducer.hear(fact.text, fact.action)
    if (fact.kind === 'decided' && fact.decision === 'approve') return reducer.allow(fact.effect)
    if (fact.kind === 'refused' && fact.by === 'person') return reducer.reject(fact.effect)
    return takeFact(reducer, fact)
  },
  view (state) {
    const { mode, step } = state
    return { stateName: step, outcome: outcomeOf(state), mayWrite: mode === 'apply' && WRITING.has(step), result: describePlan(state) }
  },
  refuses (state, text, action) {
    const intent = intentOf(state, text, action)
    return 'kind' in intent ? intent : undefined
  }
}

const OUTCOMES: Readonly<Partial<Record<PlanStep, 'completed' | 'failed'>>> = { no_changes: 'completed', rejected: 'completed', failed: 'failed' }

/** The outcome of a plan's session. A child session (started by another session) has no user, so it ends where another plan would wait for its user. */
function outcomeOf ({ step, child, error }: PlanState): 'open' | 'completed' | 'failed' {
  return OUTCOMES[step] ?? (child !== 'over' ? 'open' : error === undefined ? 'completed' : 'failed')
}

/** The steps in which a plan in the mode APPLY can write files, for a change, an undo or a redo. */
const WRITING: ReadonlySet<PlanStep> = new Set<PlanStep>(['applying', 'awaiting_confirmation', 'applied', 'undone'])

function begun (setting: PlanSetting, input: JsonObject): PlanState {
  const { goal: said, mode: asked, report, fix } = input
  const { mode, goal } = routeMode(typeof said === 'string' ? said : '', false)
  const chosen = typeof fix === 'string' ? 'apply' : asked === 'plan' || asked === 'apply' ? asked : mode
  return {
    setting,
    step: 'planning',
    mode: chosen ?? 'plan',
    isRouted: chosen !== undefined,
    isDirect: chosen === 'apply',
    report: typeof report === 'string' ? report : '',
    words: goal,
    goal,
    exchanges: [],
    branch: undefined,
    recentErrors: [],
    offered: undefined,
    memory: { user: {}, project: {} },
    context: [],
    pending: [],
    cache: NO_CACHE,
    stats: undefined,
    bases: {},
    rounds: 0,
    repair: undefined,
    hasRepaired: false,
    used: 0,
    failedCheck: '',
    rest: 'draft',
    held: undefined,
    agreed: [],
    changes: [],
    reversed: 0,
    turning: undefined,
    hasApplied: false,
    lastActions: '',
    fix: typeof fix === 'string' ? fix : undefined,
    whole: [],
    isFormatRefused: false,
    reply: undefined,
    plan: undefined,
    awaits: undefined,
    change: undefined,
    check: 0,
    checkFailed: undefined,
    applied: [],
    undone: [],
    conflicts: [],
    summary: '',
    done: '',
    commit: undefined,
    error: undefined
  }
}
