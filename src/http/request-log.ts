import type { FastifyReply, FastifyRequest } from 'fastify'
import { stringifyJson } from '../base/json.ts'
import { RequestBytes } from '../llm/model-request.ts'
import { type Observer, RequestActivity } from '../observe/activity.ts'
import type { App } from './app.ts'
import { KINDS } from '../registry/kind-table.ts'
import { testsKind } from '../registry/kinds/tests-kind.ts'

const REQUEST_FIELDS = {
  traceId: 'W3C trace id, where the caller sent one or traces are exported',
  method: 'of HTTP',
  route: 'the pattern that matched, if any',
  id: 'in the path; missing where `prompt` says it',
  prompt: 'id of the registered prompt',
  promptRevision: 'its revision',
  promptVersion: 'its version, if recorded',
  promptLabel: 'the label it was served under, if any',
  status: 'of HTTP; 499 when the client left early',
  revision: 'of the registry that answered',
  milliseconds: 'from its arrival to the last byte of the answer',
  renderMs: 'of them, rendering, with tools',
  toolsMs: 'of them, while a tool was called',
  modelMs: 'of them, asking a model, with waits and retries',
  body: 'the request\'s body, cut at 16 KiB; with `LOG_VALUES=true` only'
} as const

type RequestLine = Partial<Record<keyof typeof REQUEST_FIELDS, string | number | undefined>>

/** Logged and counted when the client left before its answer; nobody receives it. */
const CLIENT_CLOSED = 499

/** In characters. */
const MAX_BODY = 16 * 1024

/** @param logValues whether the line has the request's body */
export function observeRequests (app: App, observer: Observer, logValues: boolean): void {
  const end = (request: FastifyRequest, reply: FastifyReply, status: number): void => {
    const { activity, method, routeOptions: { url } } = request
    const milliseconds = reply.elapsedTime
    activity.end(method, url, status, milliseconds)
    request.log.info(requestLine(request, url, status, milliseconds, logValues), 'request')
  }

  app.decorateRequest('activity')
  app.addHook('onRequest', (request, reply, done) => {
    request.activity = new RequestActivity(observer, request.method, request.routeOptions.url, request.headers['traceparent'])
    // Fastify calls no hook for an answer that never finishes because its client left.
    reply.raw.once('close', () => { if (!request.activity.isOver) end(request, reply, CLIENT_CLOSED) })
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    end(request, reply, reply.statusCode)
    done()
  })
}

function requestLine (
  { activity, method, params, body, generation }: FastifyRequest,
  route: string | undefined,
  status: number,
  milliseconds: number,
  logValues: boolean
): RequestLine {
  const { traceId, prompt, promptRevision, promptVersion, promptLabel, renderMs, toolsMs, modelMs } = activity
  const line: RequestLine = { method, route, status, revision: generation.revision, milliseconds: rounded(milliseconds) }
  if (traceId !== undefined) line.traceId = traceId
  if (prompt !== undefined) {
    line.prompt = prompt
    line.promptRevision = promptRevision
    if (promptVersion !== undefined) line.promptVersion = promptVersion
    if (promptLabel !== undefined) line.promptLabel = promptLabel
  } else if (isIdentified(params)) {
    line.id = params.id
  }
  if (renderMs !== undefined) line.renderMs = rounded(renderMs)
  if (toolsMs !== undefined) line.toolsMs = rounded(toolsMs)
  if (modelMs !== undefined) line.modelMs = rounded(modelMs)
  if (logValues && body != null) line.body = textOf(body).slice(0, MAX_BODY)
  return line
}

function textOf (body: unknown): string {
  // A character has four bytes at most.
  return body instanceof RequestBytes ? body.asBytes().toString('utf8', 0, 4 * MAX_BODY) : stringifyJson(body)
}

function rounded (milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}

function isIdentified (params: unknown): params is { readonly id: string } {
  return typeof params === 'object' && params !== null && 'id' in params
}

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
  dropped: 'notices that were not kept for a receiver, since the start',
  durationMs: 'of a failed tool call',
  engine: 'of a session, with its version: `agent/1`',
  err: 'an error: `type`, `message`, `code`, `status`; `stack` of an unexpected one; with `LOG_VALUES=true` 500 characters of a model\'s unusable `answer`',
  event: 'what a plan or skill tells: `LLM_REQUEST_SENT`, `skill_start`',
  fallback: 'the model asked instead',
  generation: 'number of the published generation',
  key: 'the key in the store',
  lines: 'dropped lines',
  model: 'the model that failed',
  notice: 'its id, as receivers get it in `webhook-id`',
  offered: 'a tool of an MCP server',
  path: 'what a model\'s API was asked for',
  prefix: 'where a session is: `main`, `cls`, `select`, `valid`, `exec`, `turn`, `skill`, or a plan\'s trace id',
  protocol: 'the one asked for traces',
  provider: 'of the model',
  queue: 'of notices about one thing, for one receiver',
  receiver: 'of notices: its name in the operator\'s file',
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
  type: 'of a notice: `approval.waiting`',
  unusable: 'prompts that cannot be rendered',
  version: 'the recorded version of a prompt that is served',
  words: 'of a notice that is not kept',
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
