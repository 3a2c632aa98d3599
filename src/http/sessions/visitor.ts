import { type FastifyReply, type FastifyRequest } from 'fastify'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { type Visitor } from '../../service/sessions/door.ts'
import { abortWhenGone } from '../base/client-gone.ts'

/**
 * Describes the sender of a request for the functions that drive sessions: the caller, the request, and how long the sender waits. With
 * `Prefer: respond-async` (RFC 7240) the sender follows the session's events, and does not wait.
 * @param patience how long the sender waits for a reply, in ms; see `Visitor`
 */
export function visitorOf ({ caller, id, headers }: Pick<FastifyRequest, 'caller' | 'id' | 'headers'>, reply: FastifyReply, patience?: number): Visitor {
  const { 'idempotency-key': key, prefer } = headers
  const isAsync = /(?:^|,)\s*respond-async\s*(?:[,;]|$)/i.test([prefer ?? ''].flat().join(','))
  const waits = isAsync ? 0 : patience
  return { caller, requestId: id, key: typeof key === 'string' ? key : undefined, signal: toAbortSignal(abortWhenGone(reply)), patience: waits }
}
