import { type Redis } from 'ioredis'
import { type ClusterRoute, followRedirection, MAX_REDIRECTIONS } from './cluster-route.ts'
import { type RedisCluster } from './redis-cluster.ts'
import { isRedirected, type Redirected } from './redis-read.ts'
import { StoreError } from '../store.ts'

/** A function that asks one node of a cluster about keys, such as `readValues` and `keysExist`. */
type AskNode<T> = (node: Redis, keys: readonly string[], isAsking: boolean) => Promise<ReadonlyArray<T | Redirected>>

/**
 * Asks the nodes of a cluster about keys, and gives the answers in the order of the keys. Each node gets one pipeline of commands, and further pipelines
 * for keys that have moved to it. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding
 * @throws StoreError when one of the nodes cannot be asked
 */
export async function askCluster<T> (cluster: RedisCluster, keys: readonly string[], askNode: AskNode<T>): Promise<T[]> {
  const answers = new Map<string, T>()
  let routes = new Map<string, ClusterRoute>()
  for (const key of keys) routes.set(key, { member: await cluster.owner(key), isAsking: false })
  for (let redirections = 0; routes.size > 0; redirections++) {
    if (redirections > MAX_REDIRECTIONS) throw new StoreError('the nodes of the Redis Cluster do not agree on who serves a slot')
    routes = await askRoutes(cluster, routes, askNode, answers)
  }
  return keys.map(key => answers.get(key) as T)
}

/** Asks each node in `routes` about its keys, and adds the answers to `answers`. @returns the keys that another node has, each with that node */
async function askRoutes<T> (
  cluster: RedisCluster,
  routes: ReadonlyMap<string, ClusterRoute>,
  askNode: AskNode<T>,
  answers: Map<string, T>
): Promise<Map<string, ClusterRoute>> {
  const next = new Map<string, ClusterRoute>()
  await Promise.all(
    grouped(routes).map(async ([{ member, isAsking }, keys]) => {
      const results = await member.ask(() => askNode(member.client, keys, isAsking))
      for (const [index, key] of keys.entries()) {
        const result = results[index] as T | Redirected
        if (isRedirected(result)) next.set(key, followRedirection(cluster, result.to, member))
        else answers.set(key, result)
      }
    })
  )
  return next
}

function grouped (routes: ReadonlyMap<string, ClusterRoute>): Array<[ClusterRoute, string[]]> {
  const groups: Array<[ClusterRoute, string[]]> = []
  for (const [key, route] of routes) {
    const group = groups.find(([{ member, isAsking }]) => member === route.member && isAsking === route.isAsking)
    if (group === undefined) groups.push([route, [key]])
    else group[1].push(key)
  }
  return groups
}
