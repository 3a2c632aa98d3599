import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * Sends requests over one connection, each after the answer to the one before, and from the first again, until the signal ends it.
 * @param requests whole HTTP requests, as text; their replies must have a `content-length`
 * @param signal ends the sending, and the connection
 * @returns how many requests were answered with 200
 * @throws Error when the connection fails, or when an answer has another status
 */
export async function sendInTurn (port: number, requests: readonly string[], signal: AbortSignal): Promise<number> {
  if (signal.aborted) return 0
  const socket = connect(port, '127.0.0.1').setNoDelay()
  const leave = (): void => { socket.destroy() }
  signal.addEventListener('abort', leave, { once: true })
  let answered = 0
  let reply: Buffer = Buffer.alloc(0)
  const send = (): void => { socket.write(requests[answered % requests.length] as string) }
  try {
    socket.on('connect', send)
    socket.on('data', (piece: Buffer) => {
      reply = reply.length === 0 ? piece : Buffer.concat([reply, piece])
      if (!isWhole(reply)) return
      const status = reply.toString('latin1', 9, 12)
      if (status !== '200') {
        socket.destroy(new Error(`a request of the warm-up was answered with ${status}`))
        return
      }
      reply = Buffer.alloc(0)
      answered++
      send()
    })
    await once(socket, 'close')
    return answered
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

function isWhole (reply: Buffer): boolean {
  const end = reply.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(reply.toString('latin1', 0, end))?.[1]
  return reply.length - end - 4 >= Number(length)
}
