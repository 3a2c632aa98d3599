import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Rated, Rates, RateState } from '../access/rates.ts'
import { bodyTooLarge, clientClosed, overloaded, rateLimited } from '../base/errors.ts'
import { NoSlotError, Slots } from '../runtime/concurrency.ts'
import { hasTurnToSpare, inTurn } from '../runtime/event-loop.ts'
import { corsHeaders } from './access.ts'
import type { App } from './app.ts'
import { bodyTooLargeFor, errorBody, isOpenAiPath, openAiBody } from './error-replies.ts'
import { abortWhenGone } from './send-reply.ts'

const WORDS: Readonly<Record<Rated, string>> = { requests: 'requests', tokens: 'model tokens' }

/** A model's tokens are known only after its answer, so a call is refused only when the limit is used up already. @throws RATE_LIMITED */
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

/** Overloaded means: for so long (in ms) the oldest request has always waited beyond the `limit`; a short burst is over by then. */
const PATIENCE = 100

/** For so long after a refusal (in ms) one late request means overload again; else the queue would fill up during `PATIENCE`. */
const MEMORY = 1000

/** The share of time that refusals may take, so that clients which retry at once do not slow down the others. */
const REFUSAL_SHARE = 1 / 16

/** The most requests that wait in an overload; above it the oldest are refused beyond `REFUSAL_SHARE`, but none within the `limit`. */
const MOST_WAITING = 2000

/** The time (in ms) and the number of requests that one turn of the event loop begins from the queue. */
const TURN_MILLISECONDS = 10
const MOST_PER_TURN = 100

interface Arrival {
  begin (): void
  refuse (): void
}

/** Requests not yet begun. In overload the newest goes first and late ones are refused: https://queue.acm.org/detail.cfm?id=2839461 */
export class AdmissionQueue {
  readonly #limit: number
  readonly #now: () => number
  readonly #queue: Array<{ readonly arrival: Arrival, readonly since: number }> = []
  #turnIsDue = false
  #turnEndedAt = 0
  #longSince: number | undefined
  #refusedAt = -Infinity

  /** @param limit in ms */
  constructor (limit: number, now = (): number => performance.now()) {
    this.#limit = limit
    this.#now = now
  }

  enter (arrival: Arrival): void {
    if (this.#queue.length === 0 && hasTurnToSpare()) {
      beginCounted(arrival)
      return
    }
    this.#queue.push({ arrival, since: this.#now() })
    this.#schedule()
  }

  /** One `setImmediate` per request: Node finishes what one immediate has caused before the next, so requests end before others begin. */
  #schedule (): void {
    if (this.#turnIsDue) return
    this.#turnIsDue = true
    const isOverload = this.#isOverload()
    let begin = 0
    for (let place = 0; place < Math.min(this.#queue.length, MOST_PER_TURN); place++) {
      setImmediate(() => {
        if (place === 0) begin = this.#now()
        // Begun requests go first, but each turn begins at least one from the queue.
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

/** Counts the request's time towards this turn's share of long work; without time left it begins all the same. */
function beginCounted (arrival: Arrival): void {
  if (hasTurnToSpare()) void inTurn(() => { arrival.begin() })
  else arrival.begin()
}

/** Requests whose bodies wait for room. */
const MOST_WITHOUT_ROOM = 1000

/**
 * Bodies for models are large, and in memory until their answers are complete. A body is not read before there is room for it.
 * @param limit of one body, and `most` of all together, in bytes; `patience` in ms
 */
export function limitChatBodies (app: App, limit: number, most: number, patience: number): void {
  const room = new Slots({ concurrency: most, queue: MOST_WITHOUT_ROOM, wait: patience })

  function hold (request: FastifyRequest, reply: FastifyReply, bytes: number): Error | undefined {
    let held = bytes
    if (reply.raw.destroyed) {
      room.free(held)
      return clientClosed()
    }
    request.keepRoom = kept => {
      room.free(held - kept)
      held = kept
    }
    reply.raw.once('close', () => room.free(held))
    return undefined
  }

  async function wait (reply: FastifyReply, bytes: number): Promise<void> {
    try {
      await room.wait(abortWhenGone(reply), bytes)
    } catch (error) {
      throw error instanceof NoSlotError ? overloaded() : error
    }
  }

  app.decorateRequest('keepRoom')
  app.addHook('onRoute', route => {
    if (route.config?.role !== 'chat' || route.method === 'GET') return
    route.bodyLimit = limit
    route.preParsing = (request, reply, _payload, done) => {
      const { 'content-length': length = 0, 'transfer-encoding': encoding } = request.headers
      // A body without a length takes room for the largest until it is there.
      const bytes = encoding === undefined ? Number(length) : Math.min(limit, most)
      // Refused here, Node reads on and drops the rest, so that clients which send all of it first get the answer.
      if (bytes > limit) return done(bodyTooLargeFor(request))
      if (bytes > most) return done(bodyTooLarge(most, 'all bodies together may take, a quarter of the heap\'s limit of this service'))
      const begin = (): void => done(hold(request, reply, bytes))
      if (room.tryTake(bytes)) begin()
      else wait(reply, bytes).then(begin, done)
    }
  })
}

/** Never wait: they are needed most during an overload. The files of the console cost little, and what they ask of the API waits. */
const ALWAYS_OPEN = /^\/(?:(?:healthz|readyz|metrics|console)(?:\?|$)|console\/)/

/** In ms. */
const LOG_AFTER = 1000

/** Made once: recording the stack would be the most expensive part of a refusal. */
const REFUSAL = overloaded()

/**
 * Refuses with 503 OVERLOADED in front of Fastify, before the body is read: that costs less than half of a refusal after its hooks.
 * @param limit in ms
 */
export function controlAdmission (app: App, limit: number, onRefused: () => void, origins: readonly string[]): void {
  const queue = new AdmissionQueue(limit)
  const countRefusal = refusalCounter(app, onRefused)
  const [answer] = app.server.listeners('request') as [RequestListener]
  app.server.removeAllListeners('request').on('request', (request, response) => {
    if (ALWAYS_OPEN.test(request.url ?? '')) return answer(request, response)
    queue.enter({
      begin: () => { if (!request.destroyed) answer(request, response) },
      refuse () {
        if (request.destroyed) return
        countRefusal()
        refuse(request, response, origins)
      }
    })
  })
}

/** Logs at most one line a second: an overload must not flood the log. */
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
