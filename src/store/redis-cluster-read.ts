import { type ClusterRoute, followRedirection, MAX_REDIRECTIONS } from './cluster-route.ts'
import { type RedisCluster } from './redis-cluster.ts'
import { readValues } from './redis-read.ts'
import { StoreError, type StoredValue } from './store.ts'

/**
 * The values of these keys, in their order: one pipeline per node, and further ones for keys that have moved.
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding
 * @throws StoreError when one of the nodes cannot be asked
 */
export async function readCluster (cluster: RedisCluster, keys: readonly string[]): Promise<StoredValue[]> {
  const values = new Map<string, StoredValue>()
  let routes = new Map<string, ClusterRoute>()
  for (const key of keys) routes.set(key, { member: await cluster.owner(key), isAsking: false })
  for (let redirections = 0; routes.size > 0; redirections++) {
    if (redirections > MAX_REDIRECTIONS) throw new StoreError('the nodes of the Redis Cluster do not agree on who serves a slot')
    routes = await readRoutes(cluster, routes, values)
  }
  return keys.map(key => values.get(key) ?? { kind: 'missing' })
}

/** Reads every key where its route leads; gives the routes of those that are elsewhere. */
async function readRoutes (cluster: RedisCluster, routes: ReadonlyMap<string, ClusterRoute>, values: Map<string, StoredValue>): Promise<Map<string, ClusterRoute>> {
  const next = new Map<string, ClusterRoute>()
  await Promise.all(grouped(routes).map(async ([{ member, isAsking }, keys]) => {
    const { connection } = member
    const results = await connection.ask(() => readValues(connection.client, keys, isAsking))
    for (const [index, key] of keys.entries()) {
      const result = results[index]
      if (result === undefined) continue
      if (result.kind === 'redirected') next.set(key, followRedirection(cluster, result.to, member))
      else values.set(key, result)
    }
  }))
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
