import { type Redis } from 'ioredis'
import { type ClusterRoute, followRedirection, MAX_REDIRECTIONS, redirection } from './cluster-route.ts'
import { type RedisCluster } from './redis-cluster.ts'
import { StoreError } from '../store.ts'

/**
 * Changes one key on the node that has it. When the key's slot moves to another node, the command is sent to that node.
 * @param change sends a single command, and sends it at once
 * @throws StoreError when the node cannot be asked
 */
export async function changeInCluster<T> (cluster: RedisCluster, key: string, change: (node: Redis) => Promise<T>): Promise<T> {
  let route: ClusterRoute = { member: await cluster.owner(key), isAsking: false }
  for (let redirections = 0; redirections <= MAX_REDIRECTIONS; redirections++) {
    const { member: { client, ask }, isAsking } = route
    const answer = await ask(async () => {
      // ASKING applies only to the next command on the same connection, and no other command can come between.
      if (isAsking) client.asking().catch(() => {})
      return await change(client).then(outcome => ({ outcome }), orRedirection)
    })
    if ('outcome' in answer) return answer.outcome
    route = followRedirection(cluster, answer.to, route.member)
  }
  throw new StoreError('the nodes of the Redis Cluster do not agree on who serves a slot')
}

function orRedirection (error: unknown): { readonly to: string } {
  const to = redirection(error)
  if (to === undefined) throw error
  return { to }
}
