import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type App } from '../base/app-types.ts'

/**
 * Closes the replies that wait for earlier replies on a pipelined connection when their client leaves. Node tells only the reply that is
 * being written to the socket (`socketOnClose` in Node's lib/_http_server.js), because the waiting replies have no socket yet. Without this
 * function the service would go on working for the waiting replies, and their requests would never end.
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
