import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type Json, stringifyJson } from '../base/json.ts'
import type { App, RequestObserver } from './app.ts'

export const REQUEST_FIELDS = {
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
export function observeRequests (app: App, observer: RequestObserver, logValues: boolean): void {
  const end = (request: FastifyRequest, reply: FastifyReply, status: number): void => {
    const { activity, method, routeOptions: { url } } = request
    const milliseconds = reply.elapsedTime
    activity.end(method, url, status, milliseconds)
    request.log.info(requestLine(request, url, status, milliseconds, logValues), 'request')
  }

  app.decorateRequest('activity')
  app.addHook('onRequest', (request, reply, done) => {
    request.activity = observer.begin(request)
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
  if (logValues && body != null) line.body = stringifyJson(body as Json).slice(0, MAX_BODY)
  return line
}

function rounded (milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}

function isIdentified (params: unknown): params is { readonly id: string } {
  return typeof params === 'object' && params !== null && 'id' in params
}
