import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type App } from '../base/app-types.ts'

/**
 * Tells replies that their client has left while they wait for those before them on a pipelined connection. Until it is
 * their turn they have no socket, and Node tells only the one that has it (`socketOnClose` in Node's lib/_http_server.js): without
 * this, what is done for the others would go on for nobody, and never count as over.
 */
export function closePipelinedReplies (app: App): void {
  const repliesOf = new WeakMap<Socket, Set<ServerResponse>>()

  function open (socket: Socket): Set<ServerResponse> {
    const replies = new Set<ServerResponse>()
    repliesOf.set(socket, replies)
    socket.once('close', () => {
      for (const reply of replies) if (reply.socket === null) close(reply)
    })
    return replies
  }

  app.server.prependListener('request', ({ socket }: IncomingMessage, reply: ServerResponse) => {
    if (reply.socket !== null) return
    const replies = repliesOf.get(socket) ?? open(socket)
    replies.add(reply)
    reply.once('close', () => replies.delete(reply))
  })
}

/** What Node does with a reply whose socket is closed. */
function close (reply: ServerResponse): void {
  reply.destroy()
  reply.emit('close')
}
