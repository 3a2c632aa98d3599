import { type AgentText } from '../texts/agent-texts.ts'

/** The level of a log line. `critical` is for outcomes that end the dialogue. */
export type Level = 'debug' | 'warning' | 'error' | 'critical'

/** The prefix of a log line, which names the agent's step: `[cls] …`. A free agent only has `main`, `turn` and `exec`. */
export type Prefix = 'main' | 'cls' | 'select' | 'valid' | 'exec' | 'turn'

/** What follows an outcome of a step: the text that the user is shown, whether the model reads it later, the log line, and a code for programs. */
export interface Row {
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
} as const satisfies Readonly<Record<string, Row>>

export type Outcome = keyof typeof ROWS
