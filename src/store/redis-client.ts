import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { type RedisTarget } from './redis-url.ts'

/** A client of one Redis (which sentinels may have named), or of a whole cluster. */
export type RedisClient = Redis | Cluster

type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>

/** The longest pause between two tries to connect, in ms: the store is fresh within 2 s of Redis's return. */
export const MAX_RECONNECT_MS = 500

/** How long Redis may take to say goodbye, in ms. */
export const QUIT_MS = 500

/** How often a cluster is asked which node serves what, in ms: nothing tells of a failover while no command is sent. */
const TOPOLOGY_MS = 1000

/** How often one command may be sent on to another node of a cluster. */
const MAX_REDIRECTIONS = 5

const retryStrategy = (attempt: number): number => Math.min(attempt * 50, MAX_RECONNECT_MS)

/**
 * Creates a client that connects in the background, for ever.
 * @param commandTimeout how long Redis may take to answer, in ms
 */
export function createRedisClient (target: RedisTarget, commandTimeout: number): RedisClient {
  const shared = connectionOptions(target, commandTimeout)
  if (target.kind === 'cluster') {
    return new Cluster([...target.nodes], {
      redisOptions: shared,
      clusterRetryStrategy: retryStrategy,
      enableOfflineQueue: false,
      slotsRefreshTimeout: commandTimeout,
      slotsRefreshInterval: TOPOLOGY_MS,
      maxRedirections: MAX_REDIRECTIONS
    })
  }
  return new Redis({
    ...shared,
    ...addressOptions(target),
    maxLoadingRetryTime: MAX_RECONNECT_MS,
    retryStrategy,
    // A question fails at once while there is no connection: the caller holds what it has, and asks again.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false
  })
}

/**
 * Creates a client of the very server that `node` is connected to, which does not connect again by itself: what it has
 * been told counts as long as its connection only. It begins to connect with `connect()`.
 */
export function createCompanion (node: Redis, target: RedisTarget, commandTimeout: number): Redis {
  // Sentinels may name another master meanwhile; everywhere else the configured name is what a TLS certificate is for.
  const { host, port } = target.kind === 'sentinel' ? { host: node.stream.remoteAddress, port: node.stream.remotePort } : node.options
  return new Redis({
    ...connectionOptions(target, commandTimeout),
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    autoResubscribe: false
  })
}

function addressOptions ({ kind, nodes, master, options }: RedisTarget): ConnectionOptions {
  if (kind !== 'sentinel') return { ...nodes[0] }
  return {
    sentinels: [...nodes],
    ...(master === undefined ? {} : { name: master }),
    ...(options.tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: options.tls }),
    sentinelRetryStrategy: retryStrategy,
    // Hears of a failover from the sentinels, also where the old master keeps its connections.
    failoverDetector: true
  }
}

function connectionOptions ({ options }: RedisTarget, commandTimeout: number): ConnectionOptions {
  return {
    ...options,
    // Nothing here needs RESP3, and ioredis 6 does not surface its pushes; CLIENT TRACKING works on a RESP2 pair.
    protocol: 2,
    connectionName: 'ai-prompt-shell',
    disableClientInfo: true,
    commandTimeout,
    connectTimeout: commandTimeout,
    // A frozen or vanished host keeps its connection open for minutes: give up the connection too, not only the command.
    socketTimeout: commandTimeout,
    disconnectTimeout: QUIT_MS
  }
}
