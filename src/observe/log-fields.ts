import { KINDS } from '../registry/kind-table.ts'
import { testsKind } from '../registry/kinds/tests-kind.ts'
import { REQUEST_FIELDS } from '../http/request-log.ts'

const COMMON_FIELDS = {
  level: '10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal',
  time: 'Unix time in ms',
  pid: 'of the process',
  hostname: 'of the machine or container',
  msg: 'what happened, always in the same words',
  requestId: 'the request\'s `x-request-id`'
} as const

const COUNTS = Object.fromEntries(KINDS.map(({ name }) => [name, 'how many are registered']))

const EVENT_FIELDS = {
  address: 'of a model\'s API: scheme, host and port',
  attempt: 'the retry of a model call that follows',
  attempts: 'how often a provider was asked in vain',
  changes: 'pushed or polled',
  code: 'of an error answered with 5xx or to an unreadable request, of a failed tool call, or what a worker ended with',
  data: 'numbers and codes of a line of a session; with `LOG_VALUES=true` all that it has',
  definition: 'what a session runs: `agents/helper`',
  directory: 'the folder of the store',
  durationMs: 'of a failed tool call',
  engine: 'of a session, with its version: `agent/1`',
  err: 'an error: `type`, `message`, `code`, `status`; `stack` of an unexpected one; with `LOG_VALUES=true` 500 characters of a model\'s unusable `answer`',
  event: 'what a plan or skill tells: `LLM_REQUEST_SENT`, `skill_start`',
  fallback: 'the model asked instead',
  generation: 'number of the published generation',
  key: 'the key in the store',
  lines: 'dropped lines',
  model: 'the model that failed',
  offered: 'a tool of an MCP server',
  path: 'what a model\'s API was asked for',
  prefix: 'where a session is: `main`, `cls`, `select`, `valid`, `exec`, `turn`, `skill`, or a plan\'s trace id',
  protocol: 'the one asked for traces',
  provider: 'of the model',
  reason: 'why, in words; never values, unless `LOG_VALUES=true`',
  reasons: 'the same, of an entry',
  redis: 'its address without credentials',
  refused: 'how many requests, in the last second',
  servesLastGood: 'whether an earlier version is served',
  session: 'id of a session',
  severity: 'of a session\'s line: debug, info, warning, error, or critical, which ends a dialogue (by `level` an error)',
  signal: 'what ended that worker',
  steps: 'a session\'s calls of models and tools',
  text: 'a session\'s line with all its words; with `LOG_VALUES=true` only',
  tokens: 'tokens of models that a session has used',
  tool: 'id of a tool',
  violations: 'how a tool\'s result differs from its `returns`',
  unusable: 'prompts that cannot be rendered',
  version: 'the recorded version of a prompt that is served',
  wait: 'ms until the next attempt',
  worker: 'pid of a worker that died',
  workers: 'how many listen'
} as const

const OF_TRIAL = 'of a preview or test'

const AUDIT_FIELDS = {
  action: 'publish, withdraw, freeze, restore, move label, remove label, remove version, preview, test',
  kind: [...KINDS.map(({ key }) => key), testsKind.key].join(', '),
  id: 'of what has changed',
  version: 'its version',
  label: 'the label that was moved',
  from: 'versions that it meant',
  to: 'versions that it means now',
  note: 'why, in the words of whoever did it',
  by: 'the token\'s name; empty without tokens',
  run: OF_TRIAL,
  tools: OF_TRIAL,
  outcome: OF_TRIAL
} as const

/** All log fields by the lines that have them: docs/observability.md is generated from them, and tests compare them with log lines. */
export const LOG_FIELDS: ReadonlyArray<readonly [title: string, fields: Readonly<Record<string, string>>]> = [
  ['Every line', COMMON_FIELDS],
  ['Lines `request`', REQUEST_FIELDS],
  ['Lines `audit`', AUDIT_FIELDS],
  ['Other lines', sorted({ ...EVENT_FIELDS, ...COUNTS })]
]

function sorted (fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).sort(([one], [other]) => one < other ? -1 : 1))
}
