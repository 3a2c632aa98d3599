import { Redis } from 'ioredis'
import { createRedis } from './create-redis.ts'
import { freePort } from './free-port.ts'
import { type RedisProcess } from './redis-process.ts'
import { waitFor } from './wait-for.ts'

/** A real Redis of a test's own, empty, which keeps nothing on disk. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  /** A client to write with; it connects again after `restart`. */
  readonly client: Redis
  /** Ends it at once (SIGKILL); resolves when nothing listens any more. */
  kill (): Promise<void>
  /** Starts it again on the same port, empty; resolves when it answers. */
  restart (): Promise<void>
  /** Freezes it (SIGSTOP): it accepts connections and answers nothing. */
  pause (): Promise<void>
  /** Lets a frozen one go on (SIGCONT). */
  resume (): Promise<void>
  /** Ends it for good and leaves nothing behind. Safe to call twice. */
  stop (): Promise<void>
}

export interface RedisServerOptions {
  /** Asked of every client. */
  readonly password?: string
  /** Further settings as of the command line: `['--cluster-enabled', 'yes']`; made for each attempt, where they name a free port. */
  readonly settings?: readonly string[] | (() => Promise<readonly string[]>)
}

const ATTEMPTS = 5

/**
 * Starts a Redis and waits until it answers. Call `stop` in an `after` hook; should the test's process die first, Redis ends too.
 * @throws Error when this machine can start none, or none answers
 */
export async function startRedisServer ({ password, settings = [] }: RedisServerOptions = {}): Promise<RedisServer> {
  let allSettings: readonly string[] = []
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const further = typeof settings === 'function' ? await settings() : settings
    allSettings = ['--save', '', '--appendonly', 'no', ...(password === undefined ? [] : ['--requirepass', password]), ...further]
    const port = await freePort()
    const redis = await createRedis(port, allSettings)
    await redis.start()
    const client = new Redis({
      port,
      host: '127.0.0.1',
      ...(password === undefined ? {} : { password }),
      retryStrategy: () => 20,
      maxRetriesPerRequest: null,
      lazyConnect: true
    })
    client.on('error', () => {})
    client.connect().catch(() => {})
    // One that neither answers nor ends, as a container whose port is taken, counts as ended.
    await waitFor('Redis to answer or to end', () => client.status === 'ready' || redis.hasEnded()).catch(() => {})
    if (client.status === 'ready') return createServer(port, redis, client, password)
    client.disconnect()
    await redis.remove()
  }
  throw new Error(`redis-server did not start in ${ATTEMPTS} attempts; run it by hand to see why: redis-server --port 0 ${allSettings.join(' ')}`)
}

function createServer (port: number, redis: RedisProcess, client: Redis, password: string | undefined): RedisServer {
  let stopped: Promise<void> | undefined

  async function stop (): Promise<void> {
    client.disconnect()
    await redis.remove()
  }

  return {
    url: `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    port,
    client,
    async kill () {
      const lost = client.status === 'ready' ? new Promise(resolve => client.once('close', resolve)) : undefined
      await redis.kill()
      await lost
    },
    async restart () {
      await redis.start()
      await waitFor('Redis to answer again', async () => client.status === 'ready' && await client.ping())
    },
    pause: () => redis.pause(),
    resume: () => redis.resume(),
    stop: () => (stopped ??= stop())
  }
}
