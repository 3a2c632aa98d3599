import { Redis, type RedisOptions } from 'ioredis'
import { type RedisTarget } from './redis-url.ts'

/** How often each Sentinel is asked for the master, in ms. */
const ASK_MS = 1000

/** How long after the first Sentinel the other ones may still name the earlier master, in ms. Some 2 s are usual. */
const AGREE_MS = 10_000

/** Follows the master that the Sentinels name. */
export interface SentinelWatch {
  /** Takes note of the address, `host:port`, that the client connects to, as a Sentinel named it. */
  lead (address: string): void
  close (): void
}

/**
 * Asks the Sentinels of a URL whether the master is another one. The client asks when it connects, and the master before may
 * keep its connection, and take what is written and will be lost, until the Sentinels make it a replica: for some 10 s. Only a
 * Sentinel that changes its mind counts, so that one which is behind for good, or calls the master by another name, ends nothing.
 * @param onMoved told to connect anew, again and again until the client is led to where that Sentinel says
 */
export function watchSentinels (
  { options: { name = '', sentinels = [], sentinelPassword, sentinelTLS } }: RedisTarget,
  bounds: Omit<RedisOptions, 'replyMapping'>,
  onMoved: () => void
): SentinelWatch {
  const clients = sentinels.map(
    ({ host = '', port = 0 }) =>
      new Redis({
        ...bounds,
        host,
        port,
        ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
        ...(sentinelTLS === undefined ? {} : { tls: sentinelTLS }),
        enableReadyCheck: false,
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        retryStrategy: () => ASK_MS
      })
  )
  const answers = new Map<Redis, string>()
  let led: string | undefined
  let named: string | undefined
  let until = -Infinity

  async function ask (client: Redis): Promise<void> {
    const answer: unknown = await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
    if (!Array.isArray(answer)) return
    const address = answer.join(':')
    const before = answers.get(client)
    answers.set(client, address)
    if (before !== undefined && before !== address) {
      named = address
      until = performance.now() + AGREE_MS
    }
    if (led !== named && performance.now() < until) onMoved()
  }

  for (const client of clients) {
    // Why a Sentinel does not answer is told where one is needed: when the client connects.
    client.on('error', () => {})
    // At once: one that is asked for the first time when it has changed its mind has not changed it.
    client.on('ready', () => {
      ask(client).catch(() => {})
    })
  }
  const heartbeat = setInterval(() => {
    for (const client of clients) ask(client).catch(() => {})
  }, ASK_MS).unref()

  return {
    lead (address) {
      led = address
    },
    close () {
      clearInterval(heartbeat)
      for (const client of clients) client.disconnect()
    }
  }
}
