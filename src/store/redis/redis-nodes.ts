import { type Redis } from 'ioredis'
import { changeInCluster } from './redis-cluster-write.ts'
import { RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'
import { type RedisPlace, type RedisTarget } from './redis-url.ts'

/** The nodes of a Redis place, for what belongs to one key, or to keys that lie together. */
export interface RedisNodes {
  /**
   * Asks the node that has a key, wherever it is on its way.
   * @param question sends a single command, and sends it at once
   * @throws StoreError when that node cannot be asked
   */
  ask<T> (key: string, question: (node: Redis) => Promise<T>): Promise<T>
  /** The connection to the node that has a key, as far as is known, when it answers. @throws StoreError when it does not */
  holder (key: string): Promise<RedisConnection>
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
    async holder () {
      await connection.ask(() => connection.client.ping())
      return connection
    },
    problem: connection.problem,
    close: connection.close
  }
}

function overCluster (cluster: RedisCluster): RedisNodes {
  /** Runs a question, and looks for the nodes anew when it fails: another node may have taken over, and the next question finds it. */
  async function lookAfter<T> (question: () => Promise<T>): Promise<T> {
    try {
      return await question()
    } catch (error) {
      await cluster.look().catch(() => {})
      throw error
    }
  }

  return {
    ask: (key, question) => lookAfter(() => changeInCluster(cluster, key, question)),
    holder: key => lookAfter(async () => {
      const member = await cluster.owner(key)
      await member.ask(() => member.client.ping())
      return member
    }),
    problem: () => cluster.members().map(member => member.problem()).find(problem => problem !== undefined),
    close: () => cluster.close()
  }
}
