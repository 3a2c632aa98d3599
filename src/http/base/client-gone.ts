import { type FastifyReply } from 'fastify'
import { clientClosed } from '../../base/errors.ts'
import { type CallerSignal, LightSignal } from '../../runtime/caller-signal.ts'

/** A signal that aborts when the client leaves before its reply is complete. */
export function abortWhenGone (reply: FastifyReply): CallerSignal {
  const signal = new LightSignal()
  // A client that left while its body waited to be parsed has closed its connection already.
  if (reply.raw.destroyed) signal.abort(clientClosed())
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) signal.abort(clientClosed())
  })
  return signal
}
