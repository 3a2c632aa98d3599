import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { overloaded } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'
import { corsHeaders } from '../security/cors.ts'
import { errorBody } from '../base/error-handler.ts'
import { isOpenAiPath, openAiBody } from '../base/openai-error.ts'
import { AdmissionQueue } from './admission-queue.ts'

/** The paths of health checks and metrics, which never wait: they are needed most during an overload. */
const ALWAYS_OPEN = /^\/(?:healthz|readyz|metrics)(?:\?|$)/

/** The time for which refusals are counted before one log line gives their number, in ms. */
const LOG_AFTER = 1000

/** The error that every refused request gets. It is made once, because recording the stack would be the most expensive part of a refusal. */
const REFUSAL = overloaded()

export interface AdmissionOptions {
  /** How long a request may wait during an overload before it is refused, in ms. */
  readonly limit: number
  /** Called for each refused request. */
  readonly onRefused: () => void
  /** The origins whose web pages may read the answer to a refused request (CORS). */
  readonly origins: readonly string[]
}

/**
 * Begins requests as fast as the process can serve them, and answers some with 503 OVERLOADED when more arrive. The control works in front
 * of Fastify, before the body is read: a refusal there takes an eighth of the time that it takes to render a small prompt; a refusal
 * after Fastify's router and hooks would take a third.
 */
export function controlAdmission (app: App, { limit, onRefused, origins }: AdmissionOptions): void {
  const queue = new AdmissionQueue({ limit })
  const countRefusal = refusalCounter(app, onRefused)
  const [answer] = app.server.listeners('request') as [RequestListener]
  app.server.removeAllListeners('request').on('request', (request, response) => {
    if (ALWAYS_OPEN.test(request.url ?? '')) return answer(request, response)
    queue.enter({
      // A request whose client left while the request waited is dropped.
      begin: () => { if (!request.destroyed) answer(request, response) },
      refuse () {
        if (request.destroyed) return
        countRefusal()
        refuse(request, response, origins)
      }
    })
  })
}

/** Makes a counter of refusals that logs at most one line a second: an overload must not flood the log. */
function refusalCounter (app: App, onRefused: () => void): () => void {
  let refused = 0
  let timer: NodeJS.Timeout | undefined
  app.addHook('onClose', async () => { clearTimeout(timer) })
  return () => {
    onRefused()
    refused++
    timer ??= setTimeout(() => {
      app.log.warn({ refused }, 'overloaded: requests were refused')
      refused = 0
      timer = undefined
    }, LOG_AFTER).unref()
  }
}

function refuse ({ url = '', headers: { origin } }: IncomingMessage, response: ServerResponse, origins: readonly string[]): void {
  const requestId = randomUUID()
  const body = JSON.stringify(isOpenAiPath(url) ? openAiBody(REFUSAL) : errorBody(REFUSAL, requestId))
  response.writeHead(REFUSAL.statusCode, {
    ...REFUSAL.headers,
    ...corsHeaders(origins, origin),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId
  })
  response.end(body)
}
