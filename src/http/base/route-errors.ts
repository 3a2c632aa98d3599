import { type ErrorCode } from '../../base/error-codes.ts'

/** The errors of routes that read a session (a dialogue with an agent, a run of a skill, a plan or a terminal). */
export const READS_SESSION: readonly ErrorCode[] = ['SESSION_NOT_FOUND', 'SESSIONS_UNAVAILABLE']

/** The errors of routes that start a session. The routes of agents, skills and plans add further errors. */
export const BEGINS_SESSION: readonly ErrorCode[] = [
  'DEFINITION_NOT_FOUND', 'TARGET_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'TOO_MANY_SESSIONS', 'SESSIONS_UNAVAILABLE'
]

/**
 * The errors of routes that continue a session. Each such request checks again that the caller is allowed to use the session's agent, skill
 * or plan (its definition) and its target (machine).
 */
export const DRIVES_SESSION: readonly ErrorCode[] = [
  ...READS_SESSION, 'SESSION_BUSY', 'SESSION_ENDED', 'SESSION_FULL', 'DEFINITION_NOT_FOUND', 'TARGET_NOT_FOUND'
]

/** The errors of routes that approve or reject an action which waits for a person. */
export const DECIDES: readonly ErrorCode[] = [...DRIVES_SESSION, 'APPROVAL_OUTDATED', 'APPROVAL_DECIDED']

/** The errors of routes that read a prompt, whose templates must have no syntax errors. */
export const READS_PROMPT: readonly ErrorCode[] = ['PROMPT_NOT_FOUND', 'TEMPLATE_SYNTAX']

/** The errors of routes that read a prompt by its label or version. */
export const CHOOSES_PROMPT: readonly ErrorCode[] = [...READS_PROMPT, 'LABEL_NOT_FOUND', 'VERSION_NOT_FOUND']

/** The errors of routes that change the versions or labels of a prompt. */
export const CHANGES_RELEASES: readonly ErrorCode[] = [
  'PROMPT_NOT_FOUND', 'VERSION_NOT_FOUND', 'ENTRY_FORBIDDEN', 'ENTRY_INVALID', 'ENTRY_CHANGED', 'STORE_READ_ONLY', 'RELEASES_UNREADABLE'
]

/** The errors of routes that render a prompt. */
export const RENDERS: readonly ErrorCode[] = [
  ...CHOOSES_PROMPT,
  'PROMPT_REVISION',
  'TEMPLATE_LINK',
  'TEMPLATE_CYCLE',
  'VARIABLE_MISSING',
  'VARIABLES_INVALID',
  'ENVIRON_INVALID',
  'RENDER_FAILED',
  'RENDER_TIMEOUT',
  'RENDER_BUDGET',
  'RENDER_ENDLESS',
  'PART_INVALID',
  'TOOL_FAILED'
]

/** The errors of routes that ask a model. */
export const ASKS_MODEL: readonly ErrorCode[] = ['MODEL_NOT_FOUND', 'LLM_NOT_CONFIGURED', 'LLM_UPSTREAM', 'LLM_RATE_LIMITED', 'LLM_AUTH', 'LLM_BUSY']

/** The errors of routes that ask a model with a rendered prompt. */
export const CHATS: readonly ErrorCode[] = [...RENDERS, ...ASKS_MODEL, 'INPUT_TOO_LONG', 'INPUT_UNCOUNTED', 'ANSWER_INVALID', 'TOOL_LOOP_ENDLESS']

/** The errors of routes that continue a skill (a runbook that a model carries out): it may fail, or not be waiting for input. */
export const RUNS_SKILL: readonly ErrorCode[] = ['SKILL_NOT_WAITING', 'SKILL_FAILED', 'INTERNAL']

/**
 * The errors of routes that start a skill. They include errors of the terminal in which the skill runs commands, and errors of the skill's
 * text, which can be a template.
 */
export const STARTS_SKILL: readonly ErrorCode[] = [
  ...BEGINS_SESSION, 'TARGETS_NOT_OFFERED', 'TERMINAL_NOT_FOUND', 'TERMINAL_GONE', 'TERMINAL_UNSUPPORTED',
  'VARIABLE_MISSING', 'VARIABLES_INVALID', 'TEMPLATE_SYNTAX', ...RUNS_SKILL
]
