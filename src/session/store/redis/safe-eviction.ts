import { isWithheld } from '../../../store/redis/redis-problem.ts'
import { type RedisConnection } from '../../../store/redis/redis-connection.ts'
import { type Log } from '../../../base/log.ts'
import { StoreError } from '../../../store/store.ts'

/** Policies by which Redis takes no key away that has no time to live. */
const SAFE = /^(noeviction|volatile-\w+)$/

/**
 * A connection that asks nothing of a Redis which may drop sessions when its memory is full. It looks once a connection; one
 * that was refused is looked at again with the next question.
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
    // While it loads, it says of everything that it is off.
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

/** What a command answers; nothing where this user may not use it. */
async function permitted<T> (answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isWithheld(error)) return undefined
    throw error
  }
}
