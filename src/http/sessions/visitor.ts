import { type FastifyReply, type FastifyRequest } from 'fastify'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { type Visitor } from '../../service/sessions/door.ts'
import { abortWhenGone } from '../base/client-gone.ts'

/**
 * The sender of a request as sessions know him: his identity, and how long he waits. @param patience the time until he wants a reply, in
 * ms; see `Visitor`
 */
export function visitorOf ({ caller, id, headers }: Pick<FastifyRequest, 'caller' | 'id' | 'headers'>, reply: FastifyReply, patience?: number): Visitor {
  const key = headers['idempotency-key']
  return { caller, requestId: id, key: typeof key === 'string' ? key : undefined, signal: toAbortSignal(abortWhenGone(reply)), patience }
}
