import { type FastifyReply } from 'fastify'

/** The most names of tools in the reply header `x-tool-defaults`. Further tools are only counted, since one prompt can call a hundred tools. */
const MAX_NAMES = 20

/**
 * Makes the function that lists failed tools in the header `x-tool-defaults` of a reply, so that clients see that the rendered prompt contains
 * default values in place of the results of these tools. Letters that a header cannot hold are percent-encoded.
 */
export function setToolDefaults (reply: FastifyReply): (functions: readonly string[]) => void {
  return functions => {
    const names = functions.slice(0, MAX_NAMES).map(encodeURIComponent)
    const more = functions.length - names.length
    reply.header('x-tool-defaults', [...names, ...(more > 0 ? [`+${more}`] : [])].join(', '))
  }
}
