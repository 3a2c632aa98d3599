import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

/** Something to be measured: where to send what. */
export interface Target {
  readonly name: string
  readonly origin: string
  /** Or what gives the path of the next request. */
  readonly path: string | (() => string)
  /** The body for one of the mock's models. */
  readonly body: (model: string) => string
}

/** What one round of load has shown. */
export interface Round {
  readonly perSecond: number
  /** In ms. */
  readonly totals: readonly number[]
  /** Until the first byte of the body, in ms. */
  readonly firstBytes: readonly number[]
  /** Server-sent events that have arrived, over all replies. */
  readonly events: number
  readonly replies: number
}

/**
 * Keeps so many connections busy for so long, and waits for what is under way then.
 * @param duration in ms
 * @param spread the time over which they begin, in ms: with a mock whose answers all take equally long, connections that
 * begin together stay together, and each of them waits for the others as no client of its own would
 */
export async function load (target: Target, model: string, connections: number, duration: number, spread = 0): Promise<Round> {
  const pool = new Pool(target.origin, { connections })
  const body = target.body(model)
  const totals: number[] = []
  const firstBytes: number[] = []
  let events = 0
  const begin = performance.now()
  const work = async (index: number) => {
    await sleep(index * spread / connections)
    while (performance.now() - begin < duration) {
      const reply = await send(pool, typeof target.path === 'string' ? target.path : target.path(), body)
      totals.push(reply.total)
      firstBytes.push(reply.firstByte)
      events += reply.events
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, index) => work(index)))
  const seconds = (performance.now() - begin) / 1000
  await pool.close()
  return { perSecond: totals.length / seconds, totals, firstBytes, events, replies: totals.length }
}

interface Reply { readonly total: number, readonly firstByte: number, readonly events: number }

function send (pool: Pool, path: string, body: string): Promise<Reply> {
  const begin = performance.now()
  let firstByte = 0
  const pieces: Buffer[] = []
  return new Promise((resolve, reject) => {
    pool.dispatch({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body }, {
      onRequestStart () {},
      onResponseStart (_controller, status) {
        if (status !== 200) reject(new Error(`status ${status}`))
      },
      onResponseData (_controller, piece) {
        if (firstByte === 0) firstByte = performance.now() - begin
        pieces.push(piece)
      },
      onResponseEnd: () => resolve({ total: performance.now() - begin, firstByte, events: countEvents(Buffer.concat(pieces)) }),
      onResponseError: (_controller, error) => reject(error)
    })
  })
}

/** Every event of the mock begins with `data: `. */
function countEvents (body: Buffer): number {
  let count = 0
  for (let at = body.indexOf('data: '); at !== -1; at = body.indexOf('data: ', at + 6)) count++
  return count
}
