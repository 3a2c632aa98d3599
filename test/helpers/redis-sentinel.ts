import { Redis } from 'ioredis'
import { createRedis } from './create-redis.ts'
import { freePort } from './free-port.ts'
import { whyContainersCannotMeet } from './redis-container.ts'
import { isRedisInstalled, type RedisProcess } from './redis-process.ts'
import { startRedisServer, type RedisServer } from './redis-server.ts'
import { waitFor } from './wait-for.ts'

/** A real master with a replica, and a real Sentinel that watches them. */
export interface RedisSentinel {
  /** `redis+sentinel://`, with a Sentinel that is dead before the one that lives. */
  readonly url: string
  readonly master: RedisServer
  readonly replica: RedisServer
  /** Lets the Sentinel make the replica the master, though the old one lives. */
  failOver (): Promise<void>
  /** Waits until the Sentinel names the replica as the master, and that one says so too. */
  failedOver (): Promise<void>
  /** The Sentinel itself, to be hurt. */
  readonly process: RedisProcess
  stop (): Promise<void>
}

export interface RedisSentinelOptions {
  /** Asked of every client of the Sentinel. */
  readonly sentinelPassword?: string
  /** Further settings of the master, as of the command line. */
  readonly masterSettings?: readonly string[]
}

const NAME = 'mymaster'

/** A port that was free may be taken by then: the Sentinel ends. */
const ATTEMPTS = 5

/**
 * Starts the three and waits until the Sentinel knows the replica.
 * @throws Error when it does not; none is left then
 */
export async function startRedisSentinel ({ sentinelPassword, masterSettings = [] }: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const reason = isRedisInstalled() ? undefined : whyContainersCannotMeet()
  if (reason !== undefined) throw new Error(reason)
  const started: Array<() => Promise<void>> = []
  async function stop (): Promise<void> { await Promise.all(started.map(end => end())) }
  try {
    const master = await startRedisServer({ settings: ['--repl-diskless-sync-delay', '0', ...masterSettings] })
    started.push(master.stop)
    const replica = await startRedisServer({ settings: ['--replicaof', '127.0.0.1', String(master.port), '--repl-diskless-sync-delay', '0'] })
    started.push(replica.stop)
    const { sentinel, port, client } = await startSentinel(master, sentinelPassword, started)
    await waitFor('the replica to be synchronised', async () => (await replica.client.info('replication')).includes('master_link_status:up'))
    return createSentinel(master, replica, sentinel, { port, client, stop, deadPort: await freePort() })
  } catch (error) {
    await stop()
    throw error
  }
}

/** @param started gets what ends it again */
async function startSentinel (master: RedisServer, password: string | undefined, started: Array<() => Promise<void>>): Promise<{ readonly sentinel: RedisProcess, readonly port: number, readonly client: Redis }> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const port = await freePort()
    const sentinel = await createRedis(port, ['--sentinel'], [
      `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 1`,
      `sentinel down-after-milliseconds ${NAME} 1500`,
      `sentinel failover-timeout ${NAME} 2000`,
      ...(password === undefined ? [] : [`requirepass ${password}`])
    ].join('\n'))
    started.push(sentinel.remove)
    await sentinel.start()
    const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 20, maxRetriesPerRequest: null, enableReadyCheck: false, ...(password === undefined ? {} : { password }) })
    client.on('error', () => {})
    started.push(async () => client.disconnect())
    const knowsReplica = async (): Promise<boolean> => client.status === 'ready' && (await client.call('SENTINEL', 'REPLICAS', NAME) as unknown[]).length === 1
    await waitFor('the Sentinel to know the replica, or to end', async () => sentinel.hasEnded() || await knowsReplica())
    if (!sentinel.hasEnded()) return { sentinel, port, client }
    client.disconnect()
  }
  throw new Error(`no Sentinel ran in ${ATTEMPTS} attempts`)
}

interface Running { readonly port: number, readonly deadPort: number, readonly client: Redis, stop (): Promise<void> }

function createSentinel (master: RedisServer, replica: RedisServer, process: RedisProcess, { port, deadPort, client, stop }: Running): RedisSentinel {
  return {
    url: `redis+sentinel://127.0.0.1:${deadPort},127.0.0.1:${port}/${NAME}`,
    master,
    replica,
    process,
    async failOver () {
      await waitFor('the Sentinel to begin', async () => await client.call('SENTINEL', 'FAILOVER', NAME) === 'OK')
    },
    async failedOver () {
      await waitFor('the Sentinel to name the replica', async () => (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME) as string[])[1] === String(replica.port))
      await waitFor('the replica to be the master', async () => (await replica.client.info('replication')).includes('role:master'))
    },
    stop
  }
}
