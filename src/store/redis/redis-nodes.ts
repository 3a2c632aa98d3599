import { type Redis } from 'ioredis'
import { changeInCluster } from './redis-cluster-write.ts'
import { RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'
import { type RedisPlace, type RedisTarget } from './redis-url.ts'

/** The nodes of one Redis, of Sentinels' master or of a cluster, for questions that concern one key or keys of one slot. */
export interface RedisNodes {
  /**
   * Asks the node that has a key. When the key's slot moves to another node, that node is asked.
   * @param question sends a single command, and sends it at once
   * @throws StoreError when the node cannot be asked
   */
  ask<T> (key: string, question: (node: Redis) => Promise<T>): Promise<T>
  /** The connection to the node that has a key, once the node has answered a ping. @throws StoreError when it does not answer */
  holder (key: string): Promise<RedisConnection>
  /** The present trouble with one of the nodes, in words for operators; `undefined` when there is none. */
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
  /**
   * Calls a function that asks a node. When it fails, the cluster is asked for its nodes anew: perhaps another node has taken over, and the next call
   * finds it.
   */
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
