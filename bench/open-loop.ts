import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from './rounds.ts'

/** What requests of an open loop have come to. */
export interface Flood {
  /** Answers with 200 in time, for each second. */
  readonly goodPerSecond: number
  readonly refusedPerSecond: number
  /** Sent, for each second: fewer than were wanted once every connection waits for an answer. */
  readonly sentPerSecond: number
  /** Of good answers, in ms. */
  readonly p50: number
  readonly p99: number
}

export interface FloodOptions {
  readonly origin: string
  readonly path: string
  readonly body: string
  /** Requests that come each second, whatever becomes of them. */
  readonly rate: number
  /** How many may be waiting for their answers at a time. */
  readonly connections: number
  /** In ms. */
  readonly duration: number
  /** The token that is sent. @default none */
  readonly token?: string
}

/** What comes later is of no use to anybody, in ms. */
const IN_TIME = 1000

interface Client { readonly socket: Socket, sentAt: number, missing: number, status: string }

/**
 * Sends requests at a rate, as callers do who know nothing of each other. Speaks HTTP by hand: the load generator must
 * be cheaper by far than the service.
 */
export async function flood ({ origin, path, body, rate, connections, duration, token }: FloodOptions): Promise<Flood> {
  const { hostname, port, host } = new URL(origin)
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`
  const request = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${authorization}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const good: number[] = []
  let refused = 0
  let sent = 0
  const clients = await Promise.all(Array.from({ length: connections }, () => open(Number(port), hostname)))
  const idle = [...clients]
  for (const client of clients) client.socket.on('data', piece => { receive(client, piece) })

  function receive (client: Client, piece: Buffer): void {
    if (client.missing === 0) {
      const head = piece.toString('latin1', 0, 1000)
      client.status = head.slice(9, 12)
      client.missing = head.indexOf('\r\n\r\n') + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1])
    }
    client.missing -= piece.length
    if (client.missing > 0) return
    const milliseconds = performance.now() - client.sentAt
    if (client.status !== '200') refused++
    else if (milliseconds <= IN_TIME) good.push(milliseconds)
    idle.push(client)
  }

  const begin = performance.now()
  for (let due = 0, elapsed = 0; elapsed < duration; elapsed = performance.now() - begin) {
    for (const wanted = elapsed * rate / 1000; due < wanted; due++) {
      const client = idle.pop()
      if (client === undefined) {
        due = wanted
        break
      }
      client.sentAt = performance.now()
      client.socket.write(request)
      sent++
    }
    await sleep(1)
  }
  const seconds = (performance.now() - begin) / 1000
  for (const { socket } of clients) socket.destroy()
  return { goodPerSecond: good.length / seconds, refusedPerSecond: refused / seconds, sentPerSecond: sent / seconds, p50: percentile(good, 50), p99: percentile(good, 99) }
}

async function open (port: number, host: string): Promise<Client> {
  const socket = connect(port, host).setNoDelay()
  socket.on('error', () => {})
  await once(socket, 'connect')
  return { socket, sentAt: 0, missing: 0, status: '' }
}
