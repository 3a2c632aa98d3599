import { type ChangeListener } from './gather.ts'
import { listCluster } from './redis-cluster-list.ts'
import { readCluster } from './redis-cluster-read.ts'
import { changeInCluster } from './redis-cluster-write.ts'
import { RedisCluster } from './redis-cluster.ts'
import { createRedisConnection } from './redis-connection.ts'
import { type RedisClusterPlace } from './redis-url.ts'
import { type StoreLog } from './store-log.ts'
import { removeValue, writeValue } from './redis-write.ts'
import { StoreError, type Store } from './store.ts'

/** How often a few nodes are asked who serves what, in ms: nobody tells of a failover. */
const LOOK_MS = 1000

/**
 * Creates a store over a Redis Cluster. It connects in the background, so it succeeds while the cluster is away.
 * @param commandTimeout how long a node may take to answer, in ms
 */
export function createRedisClusterStore (place: RedisClusterPlace, commandTimeout: number, log?: StoreLog): Store {
  const listeners = new Set<ChangeListener>()
  const cluster = new RedisCluster(place, target => {
    const connection = createRedisConnection(target, commandTimeout, log)
    connection.client.on('ready', tellAll)
    return connection
  })
  let problem: string | undefined
  let isLooking = false
  const timer = setInterval(() => { void look() }, LOOK_MS)
  timer.unref()

  function tellAll (): void {
    for (const listener of listeners) listener(undefined)
  }

  async function look (): Promise<void> {
    if (isLooking) return
    isLooking = true
    try {
      if (await cluster.look()) tellAll()
    } catch (error) {
      note(error)
    } finally {
      isLooking = false
    }
  }

  function note (error: unknown): void {
    if (!(error instanceof StoreError)) throw error
    problem = error.message
  }

  return {
    variant: 'redis',
    async list (prefix) {
      try {
        const keys = await listCluster(cluster, prefix)
        problem = undefined
        return [...keys]
      } catch (error) {
        note(error)
        throw error
      }
    },
    read: keys => readCluster(cluster, keys),
    write: (key, text, expected) => changeInCluster(cluster, key, node => writeValue(node, key, text, expected)),
    remove: (key, expected) => changeInCluster(cluster, key, node => removeValue(node, key, expected)),
    async watch (listener) {
      listeners.add(listener)
      return async () => { listeners.delete(listener) }
    },
    status () {
      const members = cluster.members()
      const reason = problem ?? members.map(({ connection }) => connection.problem()).find(found => found !== undefined)
      const connected = reason === undefined && members.every(({ connection }) => connection.isConnected())
      return { connected, changes: 'polled', ...(reason === undefined ? {} : { problem: reason }) }
    },
    async close () {
      clearInterval(timer)
      listeners.clear()
      await cluster.close()
    }
  }
}
