import { KINDS } from '../registry/kind-table.ts'
import { REQUEST_FIELDS } from '../http/base/request-log.ts'

/** The fields that every log line has, each with its meaning. */
const COMMON_FIELDS = {
  level: '10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal',
  time: 'Unix time in ms',
  pid: 'of the process',
  hostname: 'of the machine or container',
  msg: 'what happened; the same text for the same event',
  requestId: 'the `x-request-id` of the request that a line belongs to'
} as const

/** The fields of the line about a published generation (a snapshot of all entries): how many entries of each kind it has. */
const COUNTS = Object.fromEntries(KINDS.map(({ name }) => [name, 'how many of the kind are registered']))

/** The fields of log lines about anything but a request or a change of an entry, each with its meaning. */
const EVENT_FIELDS = {
  address: 'of a model\'s API: scheme, host and port',
  attempt: 'which retry of a model call follows, from 1',
  attempts: 'how often a provider was asked in vain',
  changes: 'how changes of the store arrive: pushed or polled',
  code: 'of an error that is answered with 5xx or to an unreadable request, or of a failed tool call; what a worker ended with',
  data: 'facts of a line of a session: numbers and codes; with `LOG_VALUES=true` all that the line has',
  definition: 'what a session runs, as `agents/helper`',
  directory: 'the folder of the store',
  durationMs: 'of a tool call that failed, in ms',
  engine: 'of a session, with its version: `agent/1`',
  err: 'an error: `type`, `message`, `code`, `status`; `stack` when nobody expected it; with `LOG_VALUES=true` 500 characters of a model\'s unusable `answer`',
  event: 'what a plan or a skill tells with a line, as `LLM_REQUEST_SENT`, `skill_start`',
  fallback: 'the model that is asked instead',
  generation: 'number of the generation that was published',
  key: 'the key in the store',
  kind: `of what is registered: ${KINDS.map(({ key }) => key).join(', ')}`,
  lines: 'how many lines were dropped',
  model: 'the model that failed',
  offered: 'a tool of an MCP server',
  path: 'what a model\'s API was asked for',
  prefix: 'where a session is: `main`, `cls`, `select`, `valid`, `exec`, `turn`, `skill`, or the trace id of a plan',
  protocol: 'the protocol that traces were asked to be sent in',
  provider: 'name of the model\'s provider',
  reason: 'why, in words; never values, unless `LOG_VALUES=true`',
  reasons: 'the same, of an entry',
  redis: 'address of Redis, without credentials',
  refused: 'how many requests were refused in the last second',
  servesLastGood: 'whether an earlier version of the entry is served',
  session: 'id of a session',
  severity: 'of a line of a session: debug, info, warning, error, or critical, which ends a dialogue (an error by `level`)',
  signal: 'what ended a worker that died',
  steps: 'calls of models and tools that a session has made',
  text: 'a line of a session with all its words; with `LOG_VALUES=true` only',
  tokens: 'of models that a session has used',
  tool: 'id of a tool',
  violations: 'how a tool\'s result differs from its `returns`',
  unusable: 'how many prompts cannot be rendered',
  version: 'which recorded version of a prompt is served',
  wait: 'until the next attempt, in ms',
  worker: 'pid of a worker that died',
  workers: 'how many workers listen'
} as const

/** The fields of the line that reports a change of a registered entry over HTTP. */
const AUDIT_FIELDS = {
  action: 'publish, withdraw, freeze, restore, move label, remove label, remove version',
  kind: EVENT_FIELDS.kind,
  id: 'of what was changed',
  version: 'which version of it',
  label: 'which label was moved',
  from: 'the versions that the label meant',
  to: 'the versions that it means',
  note: 'why, in the words of whoever did it',
  by: 'name of the token; empty where none is asked for'
} as const

/**
 * All fields of the log, each with its meaning, grouped by the lines that have them. docs/observability.md is generated from them, and tests compare
 * them with log lines.
 */
export const LOG_FIELDS: ReadonlyArray<readonly [title: string, fields: Readonly<Record<string, string>>]> = [
  ['Every line', COMMON_FIELDS],
  ['The line of a request (`msg` is `request`)', REQUEST_FIELDS],
  ['The line of a change (`msg` is `audit`)', AUDIT_FIELDS],
  ['Other lines', sorted({ ...EVENT_FIELDS, ...COUNTS })]
]

function sorted (fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).sort(([one], [other]) => one < other ? -1 : 1))
}
