import { type ClusterMember, type RedisCluster } from './redis-cluster.ts'
import { readValues } from './redis-read.ts'
import { StoreError, type StoredValue } from './store.ts'

/** How often a key is followed from node to node before its slot counts as lost. */
const MAX_REDIRECTIONS = 5

/** Where a key is asked for. */
interface Route {
  readonly member: ClusterMember
  /** The node is about to take the key's slot over, and answers only if that is said. */
  readonly isAsking: boolean
}

/**
 * The values of these keys, in their order: one pipeline per node, and further ones for keys that have moved.
 * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding
 * @throws StoreError when one of the nodes cannot be asked
 */
export async function readCluster (cluster: RedisCluster, keys: readonly string[]): Promise<StoredValue[]> {
  const values = new Map<string, StoredValue>()
  let routes = new Map<string, Route>()
  for (const key of keys) routes.set(key, { member: await cluster.owner(key), isAsking: false })
  for (let redirections = 0; routes.size > 0; redirections++) {
    if (redirections > MAX_REDIRECTIONS) throw new StoreError('the nodes of the Redis Cluster do not agree on who serves a slot')
    routes = await readRoutes(cluster, routes, values)
  }
  return keys.map(key => values.get(key) ?? { kind: 'missing' })
}

/** Reads every key where its route leads; gives the routes of those that are elsewhere. */
async function readRoutes (cluster: RedisCluster, routes: ReadonlyMap<string, Route>, values: Map<string, StoredValue>): Promise<Map<string, Route>> {
  const next = new Map<string, Route>()
  await Promise.all(grouped(routes).map(async ([{ member, isAsking }, keys]) => {
    const { connection } = member
    const results = await connection.ask(() => readValues(connection.client, keys, isAsking))
    for (const [index, key] of keys.entries()) {
      const result = results[index]
      if (result === undefined) continue
      if (result.kind === 'redirected') next.set(key, follow(cluster, result.to, member))
      else values.set(key, result)
    }
  }))
  return next
}

/** @param to `MOVED 3999 127.0.0.1:6381`, or the same with ASK */
function follow (cluster: RedisCluster, to: string, from: ClusterMember): Route {
  const [word, , endpoint = ''] = to.split(' ')
  const colon = endpoint.lastIndexOf(':')
  return { member: cluster.redirected(endpoint.slice(0, colon), Number(endpoint.slice(colon + 1)), from), isAsking: word === 'ASK' }
}

function grouped (routes: ReadonlyMap<string, Route>): Array<[Route, string[]]> {
  const groups: Array<[Route, string[]]> = []
  for (const [key, route] of routes) {
    const group = groups.find(([{ member, isAsking }]) => member === route.member && isAsking === route.isAsking)
    if (group === undefined) groups.push([route, [key]])
    else group[1].push(key)
  }
  return groups
}
