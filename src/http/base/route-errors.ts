import { type ErrorCode } from '../../base/error-codes.ts'

/** The errors of routes that read a session. */
export const READS_SESSION: readonly ErrorCode[] = ['SESSION_NOT_FOUND', 'SESSIONS_UNAVAILABLE']

/** What routes answer with that begin a session; what it runs is looked up too, and has errors of its own. */
export const BEGINS_SESSION: readonly ErrorCode[] = [
  'DEFINITION_NOT_FOUND', 'TARGET_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'TOO_MANY_SESSIONS', 'SESSIONS_UNAVAILABLE'
]

/** What routes answer with that a session goes on with; its target and its definition have to be the caller's still. */
export const DRIVES_SESSION: readonly ErrorCode[] = [
  ...READS_SESSION, 'SESSION_BUSY', 'SESSION_ENDED', 'SESSION_FULL', 'DEFINITION_NOT_FOUND', 'TARGET_NOT_FOUND'
]

/** What routes answer with that decide what waits for a person. */
export const DECIDES: readonly ErrorCode[] = [...DRIVES_SESSION, 'APPROVAL_OUTDATED', 'APPROVAL_DECIDED']

/** What routes answer with that find a prompt which has to be without mistakes. */
export const READS_PROMPT: readonly ErrorCode[] = ['PROMPT_NOT_FOUND', 'TEMPLATE_SYNTAX']

/** The same where a label or a version may be asked for. */
export const CHOOSES_PROMPT: readonly ErrorCode[] = [...READS_PROMPT, 'LABEL_NOT_FOUND', 'VERSION_NOT_FOUND']

/** What routes answer with that change what is registered of a prompt's releases. */
export const CHANGES_RELEASES: readonly ErrorCode[] = [
  'PROMPT_NOT_FOUND', 'VERSION_NOT_FOUND', 'ENTRY_FORBIDDEN', 'ENTRY_INVALID', 'ENTRY_CHANGED', 'STORE_READ_ONLY', 'RELEASES_UNREADABLE'
]

/** What routes answer with that render a prompt. */
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

/** What routes answer with that ask a model. */
export const ASKS_MODEL: readonly ErrorCode[] = ['MODEL_NOT_FOUND', 'LLM_NOT_CONFIGURED', 'LLM_UPSTREAM', 'LLM_RATE_LIMITED', 'LLM_AUTH', 'LLM_BUSY']

/** What routes answer with that ask a model with a rendered prompt. */
export const CHATS: readonly ErrorCode[] = [...RENDERS, ...ASKS_MODEL, 'INPUT_TOO_LONG', 'INPUT_UNCOUNTED', 'ANSWER_INVALID', 'TOOL_LOOP_ENDLESS']

/** What comes of a skill that runs, or does not wait for this. */
export const RUNS_SKILL: readonly ErrorCode[] = ['SKILL_NOT_WAITING', 'SKILL_FAILED', 'INTERNAL']

/** What comes of a start of a skill: of the terminal in which it is to run, and of a body that is a template. */
export const STARTS_SKILL: readonly ErrorCode[] = [
  ...BEGINS_SESSION, 'TARGETS_NOT_OFFERED', 'TERMINAL_NOT_FOUND', 'TERMINAL_GONE', 'TERMINAL_UNSUPPORTED',
  'VARIABLE_MISSING', 'VARIABLES_INVALID', 'TEMPLATE_SYNTAX', ...RUNS_SKILL
]
