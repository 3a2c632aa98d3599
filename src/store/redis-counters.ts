import { createRedisConnection } from './redis-connection.ts'
import { parseRedisUrl } from './redis-url.ts'
import { type StoreLog } from './store-log.ts'

/** Counters that all replicas of the service share. */
export interface SharedCounters {
  /**
   * Adds to counters, and gives what they are at then.
   * @param amounts by key
   * @param lifetime after the last addition, in ms
   * @throws StoreError
   */
  add (amounts: ReadonlyMap<string, number>, lifetime: number): Promise<ReadonlyMap<string, number>>
  close (): Promise<void>
}

export interface RedisCountersOptions {
  readonly url: string
  readonly log: StoreLog
  /** How long Redis may take to answer, in ms. @default 1000 */
  readonly commandTimeout?: number
}

/** Counters in Redis, over a connection of their own: a large read of the registry does not hold them up. */
export function createRedisCounters ({ url, log, commandTimeout = 1000 }: RedisCountersOptions): SharedCounters {
  const connection = createRedisConnection(parseRedisUrl(url), commandTimeout, log)
  const addOne = async (key: string, amount: number, lifetime: number): Promise<[string, number]> => {
    const results = await connection.client.multi().incrby(key, amount).pexpire(key, lifetime).exec()
    const [error, total] = results?.[0] ?? [new Error('Redis gave no result')]
    if (error !== null) throw error
    return [key, Number(total)]
  }
  return {
    add: (amounts, lifetime) => connection.ask(async () => new Map(await Promise.all(Array.from(amounts, ([key, amount]) => addOne(key, amount, lifetime))))),
    close: () => connection.close()
  }
}
