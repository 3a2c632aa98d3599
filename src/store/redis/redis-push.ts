import { setTimeout as delay } from 'node:timers/promises'
import { createGatherer, type Gatherer } from '../gather.ts'
import { type RedisConnection } from './redis-connection.ts'
import { describeRedisError } from './redis-problem.ts'
import { trackNode, type Tracking } from './redis-tracking.ts'
import { type Log } from '../../base/log.ts'
import { type Store, type StoreStatus } from '../store.ts'

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
