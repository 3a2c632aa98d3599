import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What can happen to what Redis says on its way. */
export type Fault =
  /** Connections end as soon as they begin, and those that are open end at once. */
  | 'cut'
  /** Connections stay open, and nothing comes through in either direction. */
  | 'freeze'
  /** Replies come one byte every 20 ms. */
  | 'drip'
  /** Replies are replaced by bytes that are no Redis protocol. */
  | 'garbage'
  /** Half of the next reply comes, and the connection ends. */
  | 'half'
  /** Every command but those of the handshake is answered with this error. */
  | { readonly reply: string }

/** A TCP proxy in front of a Redis, on a port of its own. */
export interface FaultProxy {
  readonly port: number
  /** Puts a fault in force; `undefined` ends it, and open connections that were hurt end too. */
  set (fault: Fault | undefined): void
  /** How many connections it has taken. */
  connections (): number
  stop (): Promise<void>
}

const DRIP_MS = 20

/** Of the handshake, of subscriptions and of what a server answers in any state. */
const ALWAYS_ANSWERED = /^\*\d+\r\n\$\d+\r\n(client|info|auth|select|hello|subscribe|unsubscribe|ping|quit)\r\n/i

interface Pair { readonly client: Socket, readonly server: Socket }

/** Starts a proxy on 127.0.0.1 in front of the Redis at `target`, a port of 127.0.0.1. */
export async function startFaultProxy (target: number): Promise<FaultProxy> {
  const pairs = new Set<Pair>()
  let fault: Fault | undefined
  let taken = 0

  const proxy = createServer(client => {
    taken++
    const pair = { client, server: connect(target, '127.0.0.1') }
    pairs.add(pair)
    for (const [socket, other] of [[pair.client, pair.server], [pair.server, pair.client]] as const) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        other.destroy()
        pairs.delete(pair)
      })
    }
    if (fault === 'cut') return end(pair)
    pair.client.on('data', data => { forwardCommands(pair, data) })
    pair.server.on('data', data => { forwardReplies(pair, data) })
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')

  function forwardCommands ({ client, server }: Pair, data: Buffer): void {
    if (fault === 'freeze') return
    if (typeof fault !== 'object') {
      server.write(data)
      return
    }
    for (const command of data.toString('latin1').split(/(?=^\*\d+\r\n\$)/m)) {
      if (ALWAYS_ANSWERED.test(command)) server.write(command, 'latin1')
      else client.write(`-${fault.reply}\r\n`)
    }
  }

  function forwardReplies (pair: Pair, data: Buffer): void {
    switch (fault) {
      case 'freeze': return
      case 'drip': return drip(pair, data)
      case 'garbage':
        pair.client.write(Buffer.alloc(data.length, '\0\x01{'))
        break
      case 'half':
        pair.client.end(data.subarray(0, data.length >> 1))
        pair.server.destroy()
        break
      default:
        pair.client.write(data)
    }
  }

  function drip ({ client, server }: Pair, data: Buffer): void {
    server.pause()
    let sent = 0
    const timer = setInterval(() => {
      client.write(data.subarray(sent, ++sent))
      if (sent < data.length && !client.destroyed) return
      clearInterval(timer)
      server.resume()
    }, DRIP_MS)
  }

  function end ({ client, server }: Pair): void {
    client.destroy()
    server.destroy()
  }

  return {
    port: (proxy.address() as AddressInfo).port,
    connections: () => taken,
    set (next) {
      const before = fault
      fault = next
      // What was swallowed is lost, so that the rest of such a connection makes no sense.
      if (next === 'cut' || before !== undefined) for (const pair of pairs) end(pair)
    },
    async stop () {
      const closed = once(proxy, 'close')
      proxy.close()
      for (const pair of pairs) end(pair)
      await closed
    }
  }
}
