import { type FastifyReply } from 'fastify'
import { type Rated, type Rates, type RateState } from '../../access/rates.ts'
import { rateLimited } from '../../base/errors.ts'
import { type App } from '../base/app-types.ts'

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
