import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from './rounds.ts'

/** What came of requests at a rate; times in ms, from when each was to be sent, or was, where only the sender's timer was late. */
export interface Outcome {
  readonly p50: number
  readonly p99: number
  readonly longest: number
  /** Requests without an answer of 200 a few seconds after the last was due. */
  readonly unanswered: number
  /** The p99 of what was due in each second. */
  readonly seconds: readonly number[]
}

export interface PlannedRate {
  readonly origin: string
  readonly path: string
  readonly body: string
  /** Requests a second. */
  readonly rate: number
  readonly connections: number
  readonly seconds: number
  /** Seconds before those, in which connections are opened: what was due in them is not in the outcome. */
  readonly before?: number
}

interface Client { readonly socket: Socket, due: number, missing: number, status: string, end: string }

/** Ends a reply that has no length. */
const LAST_CHUNK = '0\r\n\r\n'

/** How long answers are waited for after the last request was due, in ms. */
const PATIENCE = 5000

/** Sends requests at their times over connections that are opened with the first of them; one for which none is free waits, and its time runs. */
export async function sendAtRate ({ origin, path, body, rate, connections, seconds, before = 0 }: PlannedRate): Promise<Outcome> {
  const { hostname, port, host } = new URL(origin)
  const request = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const total = rate * (before + seconds)
  const times: Array<{ readonly due: number, readonly took: number }> = []
  const idle: Client[] = []
  const clients: Client[] = []
  const begin = performance.now()
  let next = 0
  let isBehind = false

  const dueAt = (index: number): number => index * 1000 / rate
  /** Sends what is due, as far as connections are free. */
  function sendDue (): void {
    const now = performance.now() - begin
    for (; next < total && dueAt(next) <= now; next++) {
      const client = idle.pop()
      if (client === undefined) {
        isBehind = true
        return
      }
      client.due = isBehind ? dueAt(next) : performance.now() - begin
      client.socket.write(request)
    }
    isBehind = false
  }
  function receive (client: Client, piece: Buffer): void {
    if (client.missing === 0) {
      const head = piece.toString('latin1', 0, 1000)
      client.status = head.slice(9, 12)
      client.missing = head.indexOf('\r\n\r\n') + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Infinity)
    }
    client.missing -= piece.length
    if (client.missing === Infinity) {
      client.end = `${client.end}${piece.toString('latin1', Math.max(0, piece.length - LAST_CHUNK.length))}`.slice(-LAST_CHUNK.length)
      if (client.end === LAST_CHUNK) client.missing = 0
    }
    if (client.missing > 0) return
    client.missing = 0
    client.end = ''
    if (client.status === '200') times.push({ due: client.due, took: performance.now() - begin - client.due })
    idle.push(client)
    sendDue()
  }
  for (let count = 0; count < connections; count++) {
    const socket = connect(Number(port), hostname).setNoDelay()
    const client: Client = { socket, due: 0, missing: 0, status: '', end: '' }
    clients.push(client)
    socket.on('error', () => {})
    socket.on('data', piece => { receive(client, piece) })
    socket.once('connect', () => { idle.push(client) })
  }
  await once((clients[0] as Client).socket, 'connect')
  for (const end = begin + (before + seconds) * 1000 + PATIENCE; times.length < total && performance.now() < end; await sleep(1)) sendDue()
  for (const { socket } of clients) socket.destroy()
  const counted = times.filter(({ due }) => due >= before * 1000)
  const took = counted.map(each => each.took)
  return {
    p50: percentile(took, 50),
    p99: percentile(took, 99),
    longest: Math.max(...took),
    unanswered: total - times.length,
    seconds: Array.from({ length: seconds }, (_, second) => percentile(counted.filter(({ due }) => Math.floor(due / 1000) === before + second).map(each => each.took), 99))
  }
}
