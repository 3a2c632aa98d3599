import { type FastifyReply } from 'fastify'

/** Names beyond are counted only: a prompt may call a hundred tools. */
const MAX_NAMES = 20

/**
 * Says in a reply which tools failed, so that a prompt with a hole in it is not taken for a whole one. Names may have
 * letters that no header can hold: these are percent-encoded.
 */
export function setToolDefaults (reply: FastifyReply): (functions: readonly string[]) => void {
  return functions => {
    const names = functions.slice(0, MAX_NAMES).map(encodeURIComponent)
    const more = functions.length - names.length
    reply.header('x-tool-defaults', [...names, ...(more > 0 ? [`+${more}`] : [])].join(', '))
  }
}
