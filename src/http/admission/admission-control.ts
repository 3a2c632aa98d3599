import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { overloaded } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'
import { corsHeaders } from '../security/cors.ts'
import { errorBody } from '../base/error-handler.ts'
import { isOpenAiPath, openAiBody } from '../base/openai-error.ts'
import { AdmissionQueue } from './admission-queue.ts'

/** What is asked of an overloaded process above all; it never waits. */
const ALWAYS_OPEN = /^\/(?:healthz|readyz|metrics)(?:\?|$)/

/** Refusals are counted up for so long before a line says how many there were, in ms. */
const LOG_AFTER = 1000

/** Made once: an error takes a picture of the stack, which is the dearest part of a refusal. */
const REFUSAL = overloaded()

export interface AdmissionOptions {
  /** How long a request may wait during an overload before it is begun, in ms. */
  readonly limit: number
  /** Told of each request that is refused. */
  readonly onRefused: () => void
  /** Origins whose pages may read a refusal. */
  readonly origins: readonly string[]
}

/**
 * Lets requests in as the process can begin them, and answers 503 OVERLOADED while more come than that. It stands before
 * Fastify, and before the body is read: a refusal there costs an eighth of a small render, behind the router and the
 * hooks it would cost a third.
 */
export function controlAdmission (app: App, { limit, onRefused, origins }: AdmissionOptions): void {
  const queue = new AdmissionQueue({ limit })
  const countRefusal = refusalCounter(app, onRefused)
  const [answer] = app.server.listeners('request') as [RequestListener]
  app.server.removeAllListeners('request').on('request', (request, response) => {
    if (ALWAYS_OPEN.test(request.url ?? '')) return answer(request, response)
    queue.enter({
      // Whoever has left while it waited gets nothing done.
      begin: () => { if (!request.destroyed) answer(request, response) },
      refuse () {
        if (request.destroyed) return
        countRefusal()
        refuse(request, response, origins)
      }
    })
  })
}

/** Counts, and writes a line a second at most: an overload must not become one of the log. */
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
