import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { effectId, type LaterFact, type Moment, type Next } from '../session/engine.ts'
import type {
  Action, ApplyEffect, CheckEffect, ChildEffect, CommitEffect, Effect, ExecEffect, ModelEffect, Notice, ReadEffect, RememberEffect, ShellEffect, ToolEffect,
  Usage
} from '../session/model.ts'
import { handlebarsLanguage } from '../template/handlebars/handlebars-language.ts'
import { DEFAULT_LIMITS, RenderRun } from '../template/run.ts'
import { ScopeRoot } from '../template/scope.ts'
import type { AgentText } from './texts.ts'

/** The end of an effect (a model request, a tool call), as a dialogue gets it: a value, or a failure. */
export type Ended =
  | { readonly value: Json, readonly usage?: Usage | undefined }
  /** `isSpent`: the service refused the effect, because the session has used up its budget. */
  | { readonly failure: string, readonly code: string, readonly isSpent?: boolean }

/** The message about an interrupted tool call or command that perhaps was done. @param reason what is known about its end, without a full stop */
export function unknownOutcome (reason = 'it was interrupted'): string {
  return `${reason}. Nobody knows whether it was done`
}

/**
 * A reducer holds the rules of a dialogue. `hear` and `end` take one fact (an entry of the session's log), and compute the session's new state,
 * the effects (model requests, tool calls) to begin, and the notices for clients.
 */
export interface Reducer<S> {
  /** Handles a message or an action of the user. */
  hear (text: string, action?: Action): Next<S>
  /** Handles the end of an effect: the answer to a model request, or the result of a tool call. */
  end (effect: string, ended: Ended): Next<S>
  /** The state, effects and notices that `hear` or `end` has computed; the old state alone when the fact does not concern the dialogue. */
  next (): Next<S>
}

/** Passes a fact (an entry of the session's log) to the method of the dialogue's reducer that takes it. */
export function takeFact<S> (reducer: Reducer<S>, fact: LaterFact): Next<S> {
  switch (fact.kind) {
    case 'input': return reducer.hear(fact.text, fact.action)
    case 'result': return reducer.end(fact.effect, { value: fact.result, usage: fact.usage })
    case 'failure': return reducer.end(fact.effect, { failure: fact.message, code: fact.code })
    case 'refused': return reducer.end(fact.effect, { failure: `refused: ${fact.reason}`, code: 'REFUSED', isSpent: fact.by === 'budget' })
    case 'unknown': return reducer.end(fact.effect, { failure: unknownOutcome(fact.reason), code: 'UNKNOWN' })
    default: return reducer.next()
  }
}

/** The time limit of a skill's request to its model, in ms. */
export const MODEL_TIMEOUT = 30_000

/** The largest length of what a model or a tool has said, where requests to the model repeat it, in code points; a longer text is cut. */
export const MAX_MESSAGE = 4000

/** The mark that stands for the words of users, models and tools in brief log lines. */
const LEFT_OUT = '…'

/**
 * An outbox gathers what an engine asks for while it handles one fact (an entry of the session's log): effects, such as model calls and tool calls,
 * and notices, which are events for the clients that follow the session.
 */
export class Outbox {
  readonly effects: Effect[] = []
  readonly notices: Notice[] = []
  readonly #moment: Moment

  constructor (moment: Moment) {
    this.#moment = moment
  }

  /** The id of the session. */
  get session (): string {
    return this.#moment.session
  }

  /** The time of the fact (an entry of the session's log) that the engine handles now, in ms since 1970. */
  get at (): number {
    return this.#moment.at
  }

  /** The id of the next notice (event for the session's clients), unique among the events of all sessions. */
  get noticeId (): string {
    const { session, seq, notices } = this.#moment
    return `${session}:${seq}.${notices + this.notices.length}`
  }

  /** Adds a request to the model as an effect. Each method that adds an effect returns the effect's id. */
  askModel (effect: Omit<ModelEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'llm' }))
  }

  callTool (effect: Omit<ToolEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'tool' }))
  }

  runCommand (effect: Omit<ExecEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'exec' }))
  }

  openShell (effect: Omit<ShellEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'shell' }))
  }

  runCheck (effect: Omit<CheckEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'check' }))
  }

  readFrom (effect: Omit<ReadEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'read' }))
  }

  change (effect: Omit<ApplyEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'apply' }))
  }

  commit (effect: Omit<CommitEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'commit' }))
  }

  remember (effect: Omit<RememberEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'remember' }))
  }

  startChild (effect: Omit<ChildEffect, 'id' | 'kind'>): string {
    return this.#add(id => ({ ...effect, id, kind: 'child' }))
  }

  /** Adds an effect by which the session waits for its user's next input. */
  wait (): string {
    return this.#add(id => ({ id, kind: 'wait' }))
  }

  /**
   * Shows the user the text, and writes the log line, that the table `ROWS` has for an outcome of an agent's step.
   * @param texts the texts for users, by the names in the table
   * @param own a text that replaces the one in the table, unless it is empty
   * @returns what was shown, if anything
   */
  say (outcome: StepOutcome, prefix: Prefix, texts: Readonly<Record<AgentText, string>>, values: JsonObject, own?: string): string | undefined {
    const row: OutcomeRow = ROWS[outcome]
    const text = own !== undefined && own !== '' ? own : row.text === undefined ? undefined : texts[row.text]
    const shown = text === undefined || text === '' ? undefined : renderText(text, values)
    if (shown !== undefined) this.show(shown)
    // Every operator is allowed to read the brief log line, so it leaves out what a model or a tool has said.
    const brief = renderText(row.log, { ...values, reason: LEFT_OUT, ...(row.isModelsName === true ? { name: LEFT_OUT } : {}) })
    this.log(prefix, row.level, renderText(row.log, values), { brief, ...(Object.hasOwn(values, 'code') ? { code: values['code'] } : {}) })
    return shown
  }

  /** Shows the user a line of text. */
  show (text: string): void {
    this.notice('stdout', { text })
  }

  /**
   * Writes a line to the session's log events.
   * @param more fields of the event, such as the code of a failure; `brief` is the line without any text of a user, a model or a tool,
   * and is dropped when it equals the line
   */
  log (prefix: Prefix, level: Level, text: string, { brief, ...more }: JsonObject = {}): void {
    this.notice('log', { prefix, level, text, ...(brief === undefined || brief === text ? {} : { brief }), ...more })
  }

  notice (type: Notice['type'], data: JsonObject): void {
    this.notices.push({ type, data })
  }

  #add (make: (id: string) => Effect): string {
    const id = effectId(this.#moment, this.effects.length)
    this.effects.push(make(id))
    return id
  }
}

/**
 * Further fields of an event about an ended command: the effect that ran the command, and how long it ran.
 * @param effect id of the effect; left out when the client ran the command
 */
export function ranAs (effect: string | undefined, result: Json): JsonObject {
  if (effect === undefined) return {}
  const duration = isJsonObject(result) ? result['durationMs'] : undefined
  return { effect, ...(typeof duration === 'number' ? { durationMs: duration } : {}) }
}

/** The level of a log line. `critical` is for outcomes that end the dialogue. */
export type Level = 'debug' | 'warning' | 'error' | 'critical'

/** The prefix of a log line, which names the agent's step: `[cls] …`. A free agent only has `main`, `turn` and `exec`. */
export type Prefix = 'main' | 'cls' | 'select' | 'valid' | 'exec' | 'turn'

/** What follows an outcome of a step: the text that the user is shown, whether the model reads it later, the log line, and a code for programs. */
export interface OutcomeRow {
  /** The name of the text that the user is shown. A tool's definition can replace this text. */
  readonly text?: AgentText
  /**
   * Whether the text is kept in the dialogue: as `reply`, or as `status`, a line about the agent's own work, which models are sent only
   * when the agent's definition says so.
   */
  readonly toHistory?: 'reply' | 'status'
  /** The template of the log line, with the values of the outcome such as `{{reason}}` and `{{name}}`. */
  readonly log: string
  readonly level: Level
  readonly code?: number
  /** Whether `{{name}}` was written by a model. The brief log line, which must not contain words of users, models or tools, then leaves it out. */
  readonly isModelsName?: true
}

/**
 * What the user is shown, and what is logged, for each outcome of a step: first the outcomes of agents that work in steps, then those of free
 * agents. `AgentReducer` and `LoopReducer` decide which step follows.
 */
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

/**
 * Renders a short text of an agent's definition as a Handlebars template with plain values, without tools, prompts, shared variables or a
 * clock. When the template fails, its source is returned, so that a wrong text never ends a dialogue.
 */
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
