import { type Redis } from 'ioredis'
import { changeInCluster } from './redis-cluster-write.ts'
import { RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'
import { type RedisPlace, type RedisTarget } from './redis-url.ts'
import { StoreError } from '../store.ts'

/** The nodes of a Redis place, for what belongs to one key, or to keys that lie together. */
export interface RedisNodes {
  /**
   * Asks the node that has a key, wherever it is on its way.
   * @param question sends a single command, and sends it at once
   * @throws StoreError when that node cannot be asked
   */
  ask<T> (key: string, question: (node: Redis) => Promise<T>): Promise<T>
  /** A connection that answers now, to any of the nodes. @throws StoreError when none does */
  any (): Promise<RedisConnection>
  /** The trouble at present, in plain language. */
  problem (): string | undefined
  close (): Promise<void>
}

/**
 * Opens the nodes of one Redis, of the master that Sentinels name, or of a cluster; they connect in the background.
 * @param connect opens a connection to one node
 */
export function openRedisNodes (place: RedisPlace, connect: (target: RedisTarget) => RedisConnection): RedisNodes {
  return place.kind === 'single' ? overOne(connect(place.target)) : overCluster(new RedisCluster(place, connect, () => {}))
}

function overOne (connection: RedisConnection): RedisNodes {
  return {
    ask: (_key, question) => connection.ask(() => question(connection.client)),
    async any () {
      await connection.ask(() => connection.client.ping())
      return connection
    },
    problem: connection.problem,
    close: connection.close
  }
}

function overCluster (cluster: RedisCluster): RedisNodes {
  return {
    async ask (key, question) {
      try {
        return await changeInCluster(cluster, key, question)
      } catch (error) {
        // Another node may have taken over; the next question finds it.
        await cluster.look().catch(() => {})
        throw error
      }
    },
    async any () {
      await cluster.look()
      let reason: unknown
      for (const member of cluster.members().sort((a, b) => Number(b.isConnected()) - Number(a.isConnected()))) {
        try {
          await member.ask(() => member.client.ping())
          return member
        } catch (error) {
          reason = error
        }
      }
      throw reason ?? new StoreError('no node of the Redis Cluster serves any slot')
    },
    problem: () => cluster.members().map(member => member.problem()).find(problem => problem !== undefined),
    close: () => cluster.close()
  }
}
