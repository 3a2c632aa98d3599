import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type App } from '../base/app-types.ts'

/**
 * Closes replies that wait behind others on a pipelined connection when their client leaves. Node tells only the reply that
 * has the socket (`socketOnClose` in Node's lib/_http_server.js); those that wait for their turn have none. Without this
 * function the work for the waiting replies would go on for nobody, and their requests would never be over.
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

/** Closes a reply as Node does when the reply's socket is closed. */
function close (reply: ServerResponse): void {
  reply.destroy()
  reply.emit('close')
}
