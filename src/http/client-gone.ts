import { type FastifyReply } from 'fastify'
import { clientClosed } from '../errors.ts'

/** A signal that aborts when the client leaves before its reply is complete. */
export function abortWhenGone (reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(clientClosed())
  })
  return controller.signal
}
