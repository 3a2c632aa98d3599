import { askCluster } from './redis-cluster-read.ts'
import { changeInCluster } from './redis-cluster-write.ts'
import { RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'
import { type RedisPush } from './redis-push.ts'
import { keysExist, readValues } from './redis-read.ts'
import { type RedisClusterPlace, type RedisTarget } from './redis-url.ts'
import { removeValue, writeValue } from './redis-write.ts'
import { StoreError, type Store } from '../store.ts'
import { scanNode } from './redis-scan.ts'

/** The time between two checks which node serves which slots, in ms. The service has to check, because a cluster does not report a failover. */
const LOOK_MS = 1000

/**
 * Creates a store over a Redis Cluster. The store owns `push` and the connections, and closes them. It connects in the background, so the function also
 * succeeds while the cluster is away.
 * @param connect opens a connection to one node
 */
export function createRedisClusterStore (place: RedisClusterPlace, connect: (target: RedisTarget) => RedisConnection, push: RedisPush): Store {
  const cluster = new RedisCluster(place, connect, push.follow)
  let problem: string | undefined
  let isLooking = false
  const timer = setInterval(() => { void look() }, LOOK_MS).unref()
  void look()

  async function look (): Promise<void> {
    if (isLooking) return
    isLooking = true
    try {
      await cluster.look()
    } catch (error) {
      note(error)
      push.giveUp()
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
    async * scan (prefix) {
      try {
        yield * scanCluster(cluster, prefix)
        problem = undefined
      } catch (error) {
        note(error)
        throw error
      }
    },
    read: keys => askCluster(cluster, keys, readValues),
    has: keys => askCluster(cluster, keys, keysExist),
    write: (key, text, expected) => changeInCluster(cluster, key, node => writeValue(node, key, text, expected)),
    remove: (key, expected) => changeInCluster(cluster, key, node => removeValue(node, key, expected)),
    watch: push.watch,
    nodes: { names: () => cluster.addresses(), of: key => cluster.addressOf(key) },
    status () {
      const members = cluster.members()
      const reason = problem ?? members.map(member => member.problem()).find(found => found !== undefined)
      const connected = reason === undefined && members.every(member => member.isConnected())
      return { connected, changes: push.changes(), ...(reason === undefined ? {} : { problem: reason }) }
    },
    async close () {
      clearInterval(timer)
      push.close()
      await cluster.close()
    }
  }
}

/**
 * Lists the keys of all masters of a cluster that begin with `prefix`, batch by batch. Some keys come twice, and some have perhaps been deleted
 * meanwhile. A key whose slot moves can be missed: it leaves one node before that node is scanned, and comes to the other one after that was scanned.
 * So when a slot moves meanwhile, all nodes are scanned a second time: a key that moves once stands still during one of the two scans.
 * @throws StoreError when a node cannot be asked, or the nodes do not serve every slot exactly once
 */
async function * scanCluster (cluster: RedisCluster, prefix: string): AsyncGenerator<readonly string[]> {
  const before = await cluster.census()
  yield * scanAll(before.masters, prefix)
  const after = await cluster.census()
  if (before.signature === after.signature && !before.isMoving && !after.isMoving) return
  yield * scanAll(after.masters, prefix)
  await cluster.census()
}

async function * scanAll (masters: readonly RedisConnection[], prefix: string): AsyncGenerator<readonly string[]> {
  for (const master of masters) yield * scanNode(master, prefix)
}
