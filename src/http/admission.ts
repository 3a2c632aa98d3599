import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Rated, Rates, RateState } from '../access/rates.ts'
import { overloaded, rateLimited } from '../base/errors.ts'
import { hasTurnToSpare, inTurn } from '../runtime/event-loop.ts'
import { corsHeaders } from './access.ts'
import type { App } from './app.ts'
import { errorBody, isOpenAiPath, openAiBody } from './error-replies.ts'

/** How error messages name the things whose use is limited. */
const WORDS: Readonly<Record<Rated, string>> = { requests: 'requests', tokens: 'model tokens' }

/**
 * Enforces the limits that callers have on requests and model tokens, and tells in headers, as OpenAI's API does, how much of each limit is
 * left. How many tokens a model will use is not known before it answers, so a call is refused only when the limit is used up already.
 * @throws RATE_LIMITED
 */
export function limitRates (app: App, rates: Rates): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { caller } = request
    const { role } = request.routeOptions.config
    if (role === undefined || (caller.limits.requests === undefined && caller.limits.tokens === undefined)) return done()
    try {
      if (role === 'chat') demand(reply, 'tokens', rates.remaining(caller, 'tokens'), 0)
      demand(reply, 'requests', rates.remaining(caller, 'requests'), 1)
      rates.count(caller, 'requests', 1)
      done()
    } catch (error) {
      done(error as Error)
    }

    function demand (to: FastifyReply, rated: Rated, state: RateState | undefined, taken: number): void {
      if (state === undefined) return
      const { limit, remaining, seconds } = state
      to.header(`x-ratelimit-limit-${rated}`, limit)
      to.header(`x-ratelimit-remaining-${rated}`, Math.max(0, remaining - taken))
      to.header(`x-ratelimit-reset-${rated}`, `${seconds}s`)
      if (remaining === 0) throw rateLimited(caller.name, WORDS[rated], limit, seconds)
    }
  })
}

/**
 * The process counts as overloaded when, for this time (in ms), the oldest request in the queue has always been one that had waited longer
 * than the queue's `limit`. A short burst of requests is over by then.
 */
const PATIENCE = 100

/**
 * The time after a refusal, in ms, during which the process counts as overloaded as soon as a request has waited longer than the queue's
 * `limit`, without the delay of `PATIENCE`. Otherwise the queue would fill up again during that delay.
 */
const MEMORY = 1000

/** The share of the process's time that refusals may take, so that clients which send refused requests again at once do not slow down the others. */
const REFUSAL_SHARE = 1 / 16

/**
 * The most requests that wait during an overload. While there are more, the oldest are refused even if refusals then take more time than
 * `REFUSAL_SHARE` allows. A request that has not waited longer than the queue's `limit` is never refused.
 */
const MOST_WAITING = 2000

/** For how long one turn of the event loop begins requests from the queue, in ms, and how many requests it begins at most. */
const TURN_MILLISECONDS = 10
const MOST_PER_TURN = 100

/** A request that may have to wait in the queue before it is begun. */
interface Arrival {
  begin (): void
  /** Refuses the request: it has waited too long while the process is overloaded. */
  refuse (): void
}

interface AdmissionQueueOptions {
  /** The longest time that a request waits during an overload before it is refused, in ms. */
  readonly limit: number
  /** Gives the current time, in ms; left out for `performance.now()`. */
  readonly now?: () => number
}

/**
 * The queue of requests (arrivals) that were not begun yet, because the process is busy with earlier ones. A burst may fill the queue for a
 * moment. When waits stay too long (see `PATIENCE`), the process counts as overloaded: then the latest request goes first, so that the requests that are
 * begun are answered in time, and requests that have waited too long are refused. The method is that of "Fail at Scale",
 * https://queue.acm.org/detail.cfm?id=2839461 (controlled delay, adaptive LIFO).
 */
export class AdmissionQueue {
  readonly #limit: number
  readonly #now: () => number
  readonly #queue: Array<{ readonly arrival: Arrival, readonly since: number }> = []
  #turnIsDue = false
  #turnEndedAt = 0
  #longSince: number | undefined
  #refusedAt = -Infinity

  constructor ({ limit, now = () => performance.now() }: AdmissionQueueOptions) {
    this.#limit = limit
    this.#now = now
  }

  /** Starts to handle a request that has arrived: at once when no other waits and this turn of the event loop has time left, else later. */
  enter (arrival: Arrival): void {
    if (this.#queue.length === 0 && hasTurnToSpare()) {
      beginCounted(arrival)
      return
    }
    this.#queue.push({ arrival, since: this.#now() })
    this.#schedule()
  }

  /**
   * Lets the next turn of the event loop begin requests from the queue, each in a `setImmediate` of its own. Node does the work that one
   * immediate has caused before it runs the next, so that a begun request is mostly finished before the next one begins.
   */
  #schedule (): void {
    if (this.#turnIsDue) return
    this.#turnIsDue = true
    const isOverload = this.#isOverload()
    let begin = 0
    for (let place = 0; place < Math.min(this.#queue.length, MOST_PER_TURN); place++) {
      setImmediate(() => {
        if (place === 0) begin = this.#now()
        // Requests that were begun earlier may still have work to do, which goes first. But each turn begins at least one request from the queue.
        if (place > 0 && (!hasTurnToSpare() || this.#now() - begin > TURN_MILLISECONDS)) return
        const next = isOverload ? this.#queue.pop() : this.#queue.shift()
        if (next !== undefined) beginCounted(next.arrival)
      })
    }
    setImmediate(() => {
      this.#turnIsDue = false
      if (isOverload) this.#refuseTheLate()
      this.#turnEndedAt = this.#now()
      if (this.#queue.length > 0) this.#schedule()
    })
  }

  #isOverload (): boolean {
    const now = this.#now()
    if (now - (this.#queue[0]?.since ?? now) <= this.#limit) {
      this.#longSince = undefined
      return false
    }
    this.#longSince ??= now
    return now - this.#longSince >= PATIENCE || now - this.#refusedAt < MEMORY
  }

  #refuseTheLate (): void {
    const begin = this.#now()
    const end = begin + (begin - this.#turnEndedAt) * REFUSAL_SHARE
    for (let now = begin; now < end || this.#queue.length > MOST_WAITING; now = this.#now()) {
      const [oldest] = this.#queue
      if (oldest === undefined || now - oldest.since <= this.#limit) break
      this.#queue.shift()
      this.#refusedAt = now
      oldest.arrival.refuse()
    }
  }
}

/**
 * Begins a request. Its time counts towards the time that long work is allowed to take in this turn of the event loop; if no time is left,
 * the request begins all the same.
 */
function beginCounted (arrival: Arrival): void {
  if (hasTurnToSpare()) void inTurn(() => { arrival.begin() })
  else arrival.begin()
}

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
