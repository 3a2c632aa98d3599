import { type Redis } from 'ioredis'
import { changeInCluster } from './redis-cluster-write.ts'
import { RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'
import { type RedisPlace, type RedisTarget } from './redis-url.ts'

/** The nodes of one Redis, of Sentinels' master or of a cluster, for questions that concern one key or keys of one slot. */
export interface RedisNodes {
  /**
   * Asks the node that has a key. The question follows the key when its slot moves to another node.
   * @param question sends a single command, and sends it at once
   * @throws StoreError when that node cannot be asked
   */
  ask<T> (key: string, question: (node: Redis) => Promise<T>): Promise<T>
  /** The connection to the node that has a key, once the node has answered a ping. @throws StoreError when it does not answer */
  holder (key: string): Promise<RedisConnection>
  /** The trouble at present, in words for operators. */
  problem (): string | undefined
  close (): Promise<void>
}

/**
 * Opens the connections to one Redis, to the master that Sentinels name, or to a cluster. They connect in the background.
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
  /** Runs a question. When it fails, the cluster is asked for its nodes anew: another node may have taken over, and the next question will find it. */
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
