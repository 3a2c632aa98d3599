import { Redis, type RedisOptions } from 'ioredis'
import { type RedisTarget } from './redis-url.ts'

/** The time from one question for the master to the next, for each Sentinel, in ms. */
const ASK_MS = 1000

/** The time, in ms, after a Sentinel has named a new master, in which the client leaves every other server. The other Sentinels usually agree in 2 s. */
const AGREE_MS = 10_000

/** Follows the Redis master that Sentinels (servers that watch over Redis and choose its master) name. */
export interface SentinelWatch {
  /** Notes the address, `host:port`, to which the client connects because a Sentinel named it. */
  lead (address: string): void
  close (): void
}

/**
 * Asks the Sentinels of a URL every second whether another server has become the master. The client itself asks only when it connects. It can stay
 * connected to the earlier master for some 10 s, until the Sentinels make that a replica, and everything that it writes there meanwhile is lost. Only
 * a Sentinel that changes its answer counts: a Sentinel that is never up to date, or that spells the master's address in another way, must not end
 * connections.
 * @param onMoved called to connect anew, again and again until the client connects to the address that the Sentinel names
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
    // Why a Sentinel does not answer is reported only when its answer is needed, that is when the client connects.
    client.on('error', () => {})
    // The first question is asked at once, because only later answers can differ from it.
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
