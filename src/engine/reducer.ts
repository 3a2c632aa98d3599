import { type Json, type JsonObject, ownField } from '../base/json.ts'
import { effectId, type LaterFact, type Moment, type Next } from '../session/engine.ts'
import type { Effect, Notice, Usage } from '../session/model.ts'
import { handlebarsLanguage } from '../template/handlebars/handlebars-language.ts'
import { DEFAULT_LIMITS, RenderRun } from '../template/run.ts'
import { ScopeRoot } from '../template/scope.ts'
import type { AgentText } from './texts.ts'

export type Ended =
  | { readonly value: Json, readonly usage?: Usage | undefined }
  /** `isSpent`: refused, because the budget is used up. */
  | { readonly failure: string, readonly code: string, readonly isSpent?: boolean }

/** @param reason without a full stop */
export function unknownOutcome (reason = 'it was interrupted'): string {
  return `${reason}. Nobody knows whether it was done`
}

/** How an effect ended for its engine; `undefined` for a fact that is about no ended effect. */
export function endedOf (fact: LaterFact): Ended | undefined {
  switch (fact.kind) {
    case 'result': return { value: fact.result, usage: fact.usage }
    case 'failure': return { failure: fact.message, code: fact.code }
    case 'refused': return { failure: `refused: ${fact.reason}`, code: 'REFUSED', isSpent: fact.by === 'budget' }
    case 'unknown': return { failure: unknownOutcome(fact.reason), code: 'UNKNOWN' }
    default: return undefined
  }
}

/** Code points of what a model or a tool has said, in requests. */
export const MAX_MESSAGE = 4000

/** What an engine's handlers of one fact work on: the state so far, and the effects and notices that it has led to. States are never changed in place. */
export class Turn<S> implements Next<S> {
  state: S
  readonly effects: Effect[] = []
  readonly notices: Notice[] = []
  readonly #moment: Moment

  constructor (state: S, moment: Moment) {
    this.state = state
    this.#moment = moment
  }

  set<K extends keyof S> (part: Pick<S, K>): void {
    this.state = { ...this.state, ...part }
  }

  get session (): string {
    return this.#moment.session
  }

  /** In ms since 1970. */
  get at (): number {
    return this.#moment.at
  }

  /** Unique among the events of all sessions. */
  get noticeId (): string {
    const { session, seq, notices } = this.#moment
    return `${session}:${seq}.${notices + this.notices.length}`
  }

  /** @returns the effect's id */
  begin<K extends Effect['kind']> (kind: K, effect: Omit<Extract<Effect, { readonly kind: K }>, 'id' | 'kind'>): string {
    const id = effectId(this.#moment, this.effects.length)
    this.effects.push({ ...effect, id, kind } as Extract<Effect, { readonly kind: K }>)
    return id
  }

  emitText (text: string): void {
    this.emit('stdout', { text })
  }

  emitError (code: string, message: string): void {
    this.emit('error', { code, message })
  }

  /** @param more `brief` is the line without any text of a user, a model or a tool; dropped when it equals the line */
  log (prefix: Prefix, level: Level, text: string, { brief, ...more }: JsonObject = {}): void {
    this.emit('log', { prefix, level, text, ...(brief === undefined || brief === text ? {} : { brief }), ...more })
  }

  emit (type: Notice['type'], data: JsonObject): void {
    this.notices.push({ type, data })
  }
}

/** @param effect left out when the client ran the command */
export function ranAs (effect: string | undefined, result: Json): JsonObject {
  if (effect === undefined) return {}
  const duration = ownField(result, 'durationMs')
  return { effect, ...(typeof duration === 'number' ? { durationMs: duration } : {}) }
}

/** `critical` is for outcomes that end the dialogue. */
export type Level = 'debug' | 'warning' | 'error' | 'critical'

/** A free agent only has `main`, `turn` and `exec`. */
export type Prefix = 'main' | 'cls' | 'select' | 'valid' | 'exec' | 'turn'

export interface OutcomeRow {
  /** A tool's definition can replace this text. */
  readonly text?: AgentText
  /** `status`: a line about the agent's own work, sent to models only when the definition says so. */
  readonly toHistory?: 'reply' | 'status'
  readonly log: string
  readonly level: Level
  readonly code?: number
  /** The brief log line must not contain words of users, models or tools. */
  readonly isModelsName?: true
}

/** The reducers decide which step follows. */
export const ROWS = {
  budgetUsed: { text: 'budgetUsed', log: 'Budget used up: {{reason}}', level: 'critical' },
  start: { log: 'AgentStart', level: 'debug' },
  restart: { log: 'AgentRestart', level: 'debug' },
  end: { text: 'farewell', log: 'AgentEnd', level: 'debug' },
  help: { log: 'AgentHelp', level: 'debug' },
  clear: { text: 'cleared', log: 'AgentClear', level: 'debug' },
  classify: { text: 'classifying', log: 'AgentClassify', level: 'debug' },
  relevant: { text: 'relevant', toHistory: 'status', log: 'classify_intent // Relevant query', level: 'debug', code: 100 },
  irrelevant: { text: 'irrelevant', toHistory: 'reply', log: 'classify_intent // Irrelevant query', level: 'warning', code: 101 },
  classifyUnreadable: { text: 'unreadable', log: 'classify_intent // LLM Response Parse Error: {{reason}}', level: 'critical', code: 102 },
  classifyFailed: { text: 'modelFailed', log: 'classify_intent // LLM Error: {{reason}}', level: 'critical', code: 103 },
  classifySilent: { text: 'modelSilent', log: 'classify_intent // LLM Error: {{reason}}', level: 'error', code: 103 },
  classifyUnclear: { text: 'modelUnclear', log: 'classify_intent // LLM Response Parse Error: {{reason}}', level: 'error', code: 102 },
  classifyRepaired: { log: 'classify_intent // Asked again: {{reason}}', level: 'warning' },
  classifyTaken: { log: 'classify_intent // Taken as {{taken}}: {{reason}}', level: 'warning' },
  select: { text: 'selecting', log: 'AgentSelect', level: 'debug' },
  selected: { text: 'selected', toHistory: 'status', log: 'select_tool_call // Selection OK', level: 'debug', code: 200 },
  noTool: { text: 'noTool', toHistory: 'reply', log: 'select_tool_call // Selection Fail', level: 'warning', code: 201 },
  selectUnreadable: { text: 'unreadable', log: 'select_tool_call // LLM Response Parse Error: {{reason}}', level: 'critical', code: 202 },
  selectFailed: { text: 'modelFailed', log: 'select_tool_call // LLM Error: {{reason}}', level: 'critical', code: 203 },
  selectSilent: { text: 'modelSilent', log: 'select_tool_call // LLM Error: {{reason}}', level: 'error', code: 203 },
  selectUnclear: { text: 'modelUnclear', log: 'select_tool_call // LLM Response Parse Error: {{reason}}', level: 'error', code: 202 },
  selectRepaired: { log: 'select_tool_call // Asked again: {{reason}}', level: 'warning' },
  validate: { text: 'validating', log: 'AgentValidate', level: 'debug' },
  valid: { toHistory: 'status', log: 'validate_tool_call // Validation OK', level: 'debug', code: 300 },
  absent: { text: 'unknownTool', toHistory: 'reply', log: 'validate_tool_call // Missing Param: {{name}}', level: 'warning', code: 301 },
  empty: { text: 'unknownTool', toHistory: 'reply', log: 'validate_tool_call // Empty Param: {{name}}', level: 'warning', code: 301 },
  tooLong: { text: 'unknownTool', toHistory: 'reply', log: 'validate_tool_call // Too Long Param: {{name}}', level: 'warning', code: 301 },
  unknownTool: {
    text: 'unknownTool',
    toHistory: 'reply',
    log: 'validate_tool_call // Unknown tool: {{name}}',
    level: 'warning',
    code: 301,
    isModelsName: true
  },
  execute: { text: 'executing', log: 'AgentExecute', level: 'debug' },
  unhealthy: { text: 'toolFailed', toHistory: 'reply', log: '{{label}} // Health check failed', level: 'error', code: 402 },
  callFailed: { text: 'toolFailed', toHistory: 'reply', log: '{{label}} // Unexpected error: {{reason}}', level: 'error', code: 401 },
  callUnknown: { text: 'toolUnknown', toHistory: 'reply', log: '{{label}} // Outcome unknown: {{reason}}', level: 'error', code: 403 },
  toolReported: { text: 'toolFailed', toHistory: 'reply', log: '{{label}} // {{errorLabel}}: {{reason}}', level: 'error', code: 401 },
  answerFailed: { text: 'modelFailed', log: 'ask_model // LLM Error: {{reason}}', level: 'critical' },
  answerUnreadable: { text: 'unreadable', log: 'ask_model // LLM Response Parse Error: {{reason}}', level: 'critical' },
  answerSilent: { text: 'modelSilent', log: 'ask_model // LLM Error: {{reason}}', level: 'error' },
  answerUnclear: { text: 'modelUnclear', log: 'ask_model // LLM Response Parse Error: {{reason}}', level: 'error' },
  answerRepaired: { log: 'ask_model // Asked again: {{reason}}', level: 'warning' },
  notCompacted: { log: 'ask_model // No summary: {{reason}}', level: 'warning' },
  noAnswer: { text: 'noAnswer', log: 'ask_model // No answer: {{reason}}', level: 'warning' },
  handedOver: { text: 'handedOver', log: 'hand_over // {{name}}', level: 'debug' },
  toolCalled: { log: 'call_tool // {{name}}', level: 'debug' },
  toolUsable: { log: 'call_tool // {{name}}: OK', level: 'debug' },
  callInterrupted: { text: 'toolUnknown', log: 'call_tool // {{name}}: outcome unknown: {{reason}}', level: 'error' },
  callRefused: { log: 'call_tool // {{name}}: {{reason}}', level: 'warning', isModelsName: true },
  toolRefused: { log: 'call_tool // {{name}}: {{reason}}', level: 'warning' }
} as const satisfies Readonly<Record<string, OutcomeRow>>

export type StepOutcome = keyof typeof ROWS

/** Plain values only. When the template fails, its source is returned, so that a wrong text never ends a dialogue. */
export function renderText (text: string, values: JsonObject): string {
  if (!text.includes('{{')) return text
  const run = new RenderRun({ environs: NO_ENVIRONS, now: new Date(0), limits: DEFAULT_LIMITS })
  try {
    return handlebarsLanguage.compile({ text }).open(run, { links: [], root: new ScopeRoot(run, {}, {}, undefined) })(values)
  } catch {
    return text
  }
}

const NO_ENVIRONS = {
  has: () => false,
  hasBelow: () => false,
  namesBelow: () => [],
  segmentsBelow: () => [],
  cached: () => undefined,
  fetch: async () => new Map()
}
