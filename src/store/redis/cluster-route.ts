import { type RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'

/** How often a key is followed from node to node before its slot counts as lost. */
export const MAX_REDIRECTIONS = 5

/** The node that a key is asked for. */
export interface ClusterRoute {
  readonly member: RedisConnection
  /** Whether the command must be preceded by ASKING: the node is about to take the key's slot over, and answers only then. */
  readonly isAsking: boolean
}

/** The text of an error that sends a key to another node, `MOVED 3999 127.0.0.1:6381` or the same with ASK. */
export function redirection (reply: unknown): string | undefined {
  return reply instanceof Error && /^(MOVED|ASK) /.test(reply.message) ? reply.message : undefined
}

/** The route that a redirection leads to. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding */
export function followRedirection (cluster: RedisCluster, to: string, from: RedisConnection): ClusterRoute {
  const [word, , endpoint = ''] = to.split(' ')
  const colon = endpoint.lastIndexOf(':')
  return { member: cluster.redirected(endpoint.slice(0, colon), Number(endpoint.slice(colon + 1)), from), isAsking: word === 'ASK' }
}
