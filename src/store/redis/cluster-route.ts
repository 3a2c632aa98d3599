import { type RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'

/** The most times that one command is sent again because a node answers that another node has the key. After that, the command fails. */
export const MAX_REDIRECTIONS = 5

/** The node that is asked for a key. */
export interface ClusterRoute {
  readonly member: RedisConnection
  /** Whether ASKING must be sent before the command. The node is taking over the key's slot, and without ASKING it does not answer for the slot yet. */
  readonly isAsking: boolean
}

/**
 * Gives the message of an error by which a node answers that another node has the key: `MOVED 3999 127.0.0.1:6381`, or `ASK …`. The result is
 * `undefined` for any other reply.
 */
export function redirection (reply: unknown): string | undefined {
  return reply instanceof Error && /^(MOVED|ASK) /.test(reply.message) ? reply.message : undefined
}

/** Finds the node that a `MOVED` or `ASK` names. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding */
export function followRedirection (cluster: RedisCluster, to: string, from: RedisConnection): ClusterRoute {
  const [word, , endpoint = ''] = to.split(' ')
  const colon = endpoint.lastIndexOf(':')
  return { member: cluster.redirected(endpoint.slice(0, colon), Number(endpoint.slice(colon + 1)), from), isAsking: word === 'ASK' }
}
