import { isUtf8 } from 'node:buffer'
import { setTimeout as delay } from 'node:timers/promises'
import { type Redis, ReplyError } from 'ioredis'
import type { Log } from '../../runtime/telemetry.ts'
import { createGatherer, type Gatherer } from '../gather.ts'
import type { Store, StoreStatus } from '../store.ts'
import { describeRedisError, type RedisConnection } from './redis-connection.ts'

/** The time for which changes are collected before a listener is called, in ms. It is short: while a listener reads, further changes are collected too. */
const GATHER_MS = 5

/** The time between two checks of the connections that report changes, in ms. A broken connection is as silent as one without changes. */
const HEARTBEAT_MS = 1000

export interface RedisPushOptions {
  /** The prefixes of the keys whose changes are reported. Redis requires that no prefix begins with another one. */
  readonly prefixes: readonly string[]
  /** The longest time for which `watch` waits until each node has said whether it pushes its changes, in ms. */
  readonly patience: number
  readonly log?: Log | undefined
}

/** Reports changed keys to those who watch the store: each Redis node that has keys pushes its changes to this service. */
export interface RedisPush {
  /** Begins to report the changes of these nodes, which together have all keys, and stops this for any other nodes. */
  follow (nodes: readonly RedisConnection[]): void
  /** Tells the push that no node of the cluster can be asked now, so that `watch` does not wait for an answer. */
  giveUp (): void
  /** How changes arrive: `pushed` while every node reports its changes. */
  changes (): StoreStatus['changes']
  /** Watches the store for changed keys, as `Store.watch` describes. */
  readonly watch: Store['watch']
  close (): void
}

/** Creates a `RedisPush` that follows no node at first. It keeps following the nodes that it is given, also after the connection to one was lost. */
export function createRedisPush ({ prefixes, patience, log }: RedisPushOptions): RedisPush {
  const watches = new Set<Gatherer>()
  const trackings = new Map<RedisConnection, Tracking>()
  let changes: StoreStatus['changes'] = 'polled'
  let logged: string | undefined
  let settle = (): void => {}
  const settled = new Promise<void>(resolve => { settle = resolve })

  const notifyAll = () => { for (const watch of watches) watch.addAll() }

  function onKeys (keys: readonly string[] | undefined): void {
    if (keys === undefined) return notifyAll()
    for (const watch of watches) for (const key of keys) watch.add(key)
  }

  /** Sets `changes` to `pushed` if every node pushes its changes. If even one does not, its changes can be missed, so all changes count as `polled`. */
  function judge (): void {
    const states = Array.from(trackings.values(), tracking => tracking.state())
    if (states.includes('starting')) return setChanges('polled', undefined)
    setChanges(states.length > 0 && states.every(state => state === 'pushed') ? 'pushed' : 'polled', refusal())
    settle()
    notifyAll()
  }

  /** The reason of the first node that refuses to push, in words for operators; `undefined` when none does. A node that is away has refused nothing. */
  function refusal (): string | undefined {
    const reasons = Array.from(trackings, ([{ target }, tracking]) => {
      const error = tracking.refusal()
      return error === undefined ? undefined : describeRedisError(error, target)
    })
    return reasons.find(reason => reason !== undefined)
  }

  function setChanges (next: StoreStatus['changes'], reason: string | undefined): void {
    changes = next
    const message = next === 'pushed' ? 'changes are pushed' : reason === undefined ? undefined : `changes are polled: ${reason}`
    if (message !== undefined && message !== logged) {
      log?.info({ redis: [...trackings.keys()].map(({ target }) => target.address).join(','), changes: next }, message)
    }
    logged = message
  }

  function beat (): void {
    if (changes !== 'pushed') return
    for (const [{ ask }, tracking] of trackings) ask(tracking.ping).catch(() => {})
  }

  const heartbeat = setInterval(beat, HEARTBEAT_MS).unref()

  return {
    follow (nodes) {
      for (const [node, tracking] of trackings) {
        if (nodes.includes(node)) continue
        tracking.close()
        trackings.delete(node)
      }
      for (const node of nodes) {
        if (trackings.has(node)) continue
        trackings.set(node, trackNode(node, { prefixes, onKeys, onState: judge }))
      }
      judge()
    },
    giveUp: () => settle(),
    changes: () => changes,
    async watch (listener) {
      // The caller lists the store after this call, and again when changes begin to be pushed. The wait makes the second listing needless.
      await Promise.race([settled, delay(patience, undefined, { ref: false })])
      const gatherer = createGatherer(listener, GATHER_MS)
      watches.add(gatherer)
      return async () => {
        watches.delete(gatherer)
        gatherer.stop()
      }
    },
    close () {
      clearInterval(heartbeat)
      settle()
      for (const tracking of trackings.values()) tracking.close()
      for (const watch of watches) watch.stop()
      watches.clear()
      trackings.clear()
      changes = 'polled'
    }
  }
}

/** The channel on which Redis reports changed keys to a RESP2 connection: https://redis.io/docs/latest/develop/reference/client-side-caching/ */
const CHANNEL = '__redis__:invalidate'

/** The pauses before this service asks a node again to report changes, in ms: after trouble, and after the node has refused. */
const RETRY_MS = 500
const REFUSED_RETRY_MS = 60_000

/** Matches error replies that go away by themselves. Every other error reply counts as the node's refusal to report changes. */
const PASSING = /^(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|NOAUTH)\b|max number of clients/

/** The keys whose changes a node is asked to report, and the listeners. */
interface TrackingOptions {
  /** The prefixes of the keys. Redis requires that no prefix begins with another one. */
  readonly prefixes: readonly string[]
  /** Called with changed keys; with `undefined` after FLUSHALL, which deletes every key. */
  readonly onKeys: (keys: readonly string[] | undefined) => void
  /** Called whenever the state has changed. */
  readonly onState: () => void
}

/** How the changes of a node arrive. `starting`: not known yet; `polled`: the node refuses to push them, or cannot. */
type TrackingState = 'starting' | 'pushed' | 'polled'

/** Receives the changes of keys that one node of Redis reports. */
interface Tracking {
  state (): TrackingState
  /** The error by which the node has refused to push changes; `undefined` when it has refused nothing. */
  refusal (): Error | undefined
  /** Pings the node over its two connections. Resolves after all changes that the node reported before. @throws when one of the connections is broken */
  ping (): Promise<void>
  close (): void
}

/**
 * Asks a node to report changed keys. It uses the broadcast mode of CLIENT TRACKING, which costs the node no memory for each key. With RESP2 two
 * connections are needed: one has the tracking turned on, and the other one receives the messages. When one of them is lost, Redis stops reporting
 * changes and does not say so. Therefore the tracking is set up again whenever one of them ends.
 */
function trackNode ({ client: node, createCompanion }: RedisConnection, { prefixes, onKeys, onState }: TrackingOptions): Tracking {
  let state: TrackingState = 'starting'
  let refusal: Error | undefined
  let listener: Redis | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function enter (next: TrackingState): void {
    if (closed || state === next) return
    state = next
    onState()
  }

  async function begin (): Promise<void> {
    clearTimeout(timer)
    if (closed || listener !== undefined || node.status !== 'ready') return
    const own = createCompanion()
    listener = own
    own.on('error', () => {})
    own.on('close', () => lose(own))
    own.on('messageBuffer', (_channel: unknown, payload: unknown) => onKeys(readPayload(payload)))
    try {
      await arm(node, own, prefixes)
      if (listener !== own) return
      refusal = undefined
      enter('pushed')
    } catch (error) {
      refusal = isRefusal(error) ? error : undefined
      lose(own)
    }
  }

  /** Closes the connection that receives the changes, because it is broken, and opens another one later. Does nothing if it was replaced already. */
  function lose (own: Redis | undefined): void {
    if (closed || own === undefined || listener !== own) return
    listener = undefined
    own.disconnect()
    timer = setTimeout(() => { void begin() }, refusal === undefined ? RETRY_MS : REFUSED_RETRY_MS).unref()
    enter('polled')
  }

  const onReady = () => {
    // The state is reset so that `onState` is called with the outcome, even if the outcome is the same as before.
    state = 'starting'
    void begin()
  }
  const onClose = () => {
    refusal = undefined
    lose(listener)
    enter('polled')
  }
  node.on('ready', onReady)
  node.on('close', onClose)
  void begin()

  return {
    state: () => state,
    refusal: () => refusal,
    async ping () {
      const own = listener
      try {
        await Promise.all([node.ping(), own?.ping()])
      } catch (error) {
        lose(own)
        throw error
      }
    },
    close () {
      closed = true
      clearTimeout(timer)
      node.off('ready', onReady)
      node.off('close', onClose)
      listener?.disconnect()
    }
  }
}

function isRefusal (error: unknown): error is Error {
  return error instanceof ReplyError && error instanceof Error && !PASSING.test(error.message)
}

async function arm (node: Redis, listener: Redis, prefixes: readonly string[]): Promise<void> {
  await listener.connect()
  if (await serverOf(node) !== await serverOf(listener)) throw new Error('the two connections lead to different servers')
  const id = await listener.client('ID')
  await listener.subscribe(CHANNEL)
  // Redis cannot redirect a tracking to another listener, so the earlier tracking is ended first.
  await node.call('CLIENT', 'TRACKING', 'OFF')
  await node.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', String(id), 'BCAST', ...prefixes.flatMap(prefix => ['PREFIX', prefix]))
}

/**
 * The id of the Redis process at the other end of a connection; `undefined` when the Redis user is not allowed to ask for it. The ids are compared,
 * because a load balancer can lead two connections to two servers, and a client id of the one can belong to a stranger's connection on the other.
 */
async function serverOf (connection: Redis): Promise<string | undefined> {
  try {
    return /^run_id:(\w+)/m.exec(await connection.info('server'))?.[1]
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return undefined
    throw error
  }
}

/**
 * The changed keys in a message; `undefined` when every key has changed. It reads the raw message, because the client's `message` event would join
 * the keys with commas. Names that are not UTF-8 are left out, as in listings.
 */
function readPayload (payload: unknown): string[] | undefined {
  if (!Array.isArray(payload)) return undefined
  return payload.filter((key): key is Buffer => Buffer.isBuffer(key) && isUtf8(key)).map(key => key.toString())
}
