import { isWithheld } from '../../../store/redis/redis-problem.ts'
import { type RedisConnection } from '../../../store/redis/redis-connection.ts'
import { type Log } from '../../../base/log.ts'
import { StoreError } from '../../../store/store.ts'

/** The values of `maxmemory-policy` under which Redis never drops a key that has no expiry, such as those of a session that has not ended. */
const SAFE = /^(noeviction|volatile-\w+)$/

/**
 * Wraps a Redis connection, so that it refuses a server whose eviction policy allows it to drop sessions when memory is full. Each connection
 * checks the policy with its first command, and after a refusal again with the next command.
 */
export function withSafeEviction (connection: RedisConnection, log: Log): RedisConnection {
  const { client, target: { address }, ask } = connection
  let isSafe = false
  const warned = new Set<string>()
  client.on('close', () => { isSafe = false })

  function warn (message: string): void {
    if (warned.has(message)) return
    warned.add(message)
    log.warn({ redis: address }, message)
  }

  async function assertSafe (): Promise<void> {
    const info = await permitted(client.info())
    const policy = /^maxmemory_policy:([\w-]+)/m.exec(info ?? '')?.[1] ?? (await permitted(client.config('GET', 'maxmemory-policy')) as string[] | undefined)?.[1]
    if (policy === undefined) warn('Redis does not tell its maxmemory-policy: sessions need noeviction or volatile-*')
    else if (!SAFE.test(policy)) {
      const wrong = `its maxmemory-policy is ${policy}, and has to be noeviction or volatile-*`
      throw new StoreError(`Redis at ${address} may drop sessions when its memory is full: ${wrong}`)
    }
    // While Redis loads its data, it reports its append-only file as off, even if that is on. So this check is left to a later command.
    if (/^loading:1/m.test(info ?? '')) return
    if (/^aof_enabled:0/m.test(info ?? '')) warn('Redis keeps no append-only file: after a crash of it, sessions are as its last snapshot has them')
    isSafe = true
  }

  return {
    ...connection,
    ask: question => ask(async () => {
      if (!isSafe) await assertSafe()
      return await question()
    })
  }
}

/** Waits for the answer to a command; `undefined` where Redis does not permit the command to this user. */
async function permitted<T> (answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isWithheld(error)) return undefined
    throw error
  }
}
