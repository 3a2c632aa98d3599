import { isUtf8 } from 'node:buffer'
import { setTimeout as delay } from 'node:timers/promises'
import { type Redis, ReplyError } from 'ioredis'
import type { Log } from '../../runtime/telemetry.ts'
import { createGatherer, type Gatherer } from '../gather.ts'
import type { ChangeListener, StoreStatus } from '../store.ts'
import { describeRedisError, type RedisConnection } from './redis-connection.ts'

/** In ms; short, since further changes are collected while a listener reads. */
const GATHER_MS = 5

/** In ms; a broken connection is as silent as one without changes. */
const HEARTBEAT_MS = 1000

/**
 * @param prefixes Redis requires that none begins with another one
 * @param patience the longest wait of `watch` for the nodes' answers, in ms
 */
export function createRedisPush (prefixes: readonly string[], patience: number, log?: Log) {
  const watches = new Set<Gatherer>()
  const trackings = new Map<RedisConnection, ReturnType<typeof trackNode>>()
  let changes: StoreStatus['changes'] = 'polled'
  let logged: string | undefined
  let settle = (): void => {}
  const settled = new Promise<void>(resolve => { settle = resolve })

  const notifyAll = () => { for (const watch of watches) watch.addAll() }

  function onKeys (keys: readonly string[] | undefined): void {
    if (keys === undefined) return notifyAll()
    for (const watch of watches) for (const key of keys) watch.add(key)
  }

  /** One node that does not push is enough for `polled`: its changes can be missed. */
  function judge (): void {
    const states = Array.from(trackings.values(), tracking => tracking.state())
    if (states.includes('starting')) return setChanges('polled', undefined)
    setChanges(states.length > 0 && states.every(state => state === 'pushed') ? 'pushed' : 'polled', refusal())
    settle()
    notifyAll()
  }

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
    /** These nodes together have all keys; any others are dropped. None: there is nothing to wait for now. */
    follow (nodes: readonly RedisConnection[]): void {
      for (const [node, tracking] of trackings) {
        if (nodes.includes(node)) continue
        tracking.close()
        trackings.delete(node)
      }
      for (const node of nodes) {
        if (trackings.has(node)) continue
        trackings.set(node, trackNode(node, prefixes, onKeys, judge))
      }
      judge()
    },
    changes: (): StoreStatus['changes'] => changes,
    async watch (listener: ChangeListener): Promise<() => Promise<void>> {
      // The caller lists after this call, and again when pushing begins; the wait makes the second listing needless.
      await Promise.race([settled, delay(patience, undefined, { ref: false })])
      const gatherer = createGatherer(listener, GATHER_MS)
      watches.add(gatherer)
      return async () => {
        watches.delete(gatherer)
        gatherer.stop()
      }
    },
    close (): void {
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

/** For RESP2: https://redis.io/docs/latest/develop/reference/client-side-caching/ */
const CHANNEL = '__redis__:invalidate'

/** Pauses in ms: after trouble, and after the node has refused. */
const RETRY_MS = 500
const REFUSED_RETRY_MS = 60_000

/** These go away by themselves; any other error counts as a refusal. */
const PASSING = /^(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|NOAUTH)\b|max number of clients/

/** `polled`: the node refuses to push, or cannot. */
type TrackingState = 'starting' | 'pushed' | 'polled'

/**
 * Broadcast mode costs the node no memory per key. RESP2 needs two connections; Redis is silent when one is lost, so both are made anew.
 * @param onKeys gets `undefined` after FLUSHALL
 */
function trackNode (
  { client: node, createCompanion }: RedisConnection,
  prefixes: readonly string[],
  onKeys: (keys: readonly string[] | undefined) => void,
  onState: () => void
) {
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

  /** Does nothing if it was replaced already. */
  function lose (own: Redis | undefined): void {
    if (closed || own === undefined || listener !== own) return
    listener = undefined
    own.disconnect()
    timer = setTimeout(() => { void begin() }, refusal === undefined ? RETRY_MS : REFUSED_RETRY_MS).unref()
    enter('polled')
  }

  const onReady = () => {
    // So `onState` is called with the outcome, even if it is the same as before.
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
    state: (): TrackingState => state,
    refusal: (): Error | undefined => refusal,
    /** Resolves after all changes that the node reported before. @throws when a connection is broken */
    async ping (): Promise<void> {
      const own = listener
      try {
        await Promise.all([node.ping(), own?.ping()])
      } catch (error) {
        lose(own)
        throw error
      }
    },
    close (): void {
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
  // Redis cannot redirect a tracking, so the earlier one is ended first.
  await node.call('CLIENT', 'TRACKING', 'OFF')
  await node.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', String(id), 'BCAST', ...prefixes.flatMap(prefix => ['PREFIX', prefix]))
}

/** A load balancer can lead two connections to two servers, where a client id can be a stranger's. `undefined` without the right. */
async function serverOf (connection: Redis): Promise<string | undefined> {
  try {
    return /^run_id:(\w+)/m.exec(await connection.info('server'))?.[1]
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return undefined
    throw error
  }
}

/** Raw, because ioredis joins the keys with commas. `undefined`: every key; names that are not UTF-8 are left out. */
function readPayload (payload: unknown): string[] | undefined {
  if (!Array.isArray(payload)) return undefined
  return payload.filter((key): key is Buffer => Buffer.isBuffer(key) && isUtf8(key)).map(key => key.toString())
}
