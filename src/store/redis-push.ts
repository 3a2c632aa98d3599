import { Redis } from 'ioredis'
import { createGatherer, type Gatherer } from './gather.ts'
import { type RedisClient } from './redis-client.ts'
import { mastersOf } from './redis-nodes.ts'
import { trackNode, type Tracking } from './redis-tracking.ts'
import { type StoreLog } from './store-log.ts'
import { type ChangeListener, type StoreStatus } from './store.ts'

/** How long changes are gathered, in ms: what comes while those are read is gathered anyway. */
const GATHER_MS = 5

/** How often the connections that tell of changes are made sure of, in ms: nothing comes from a broken one, as from a quiet one. */
const HEARTBEAT_MS = 1000

export interface RedisPushOptions {
  readonly client: RedisClient
  /** For messages. */
  readonly address: string
  readonly prefixes: readonly string[]
  readonly createListener: (node: Redis) => Redis
  /** Runs a question so that its failure is known as a trouble of the store. */
  readonly ask: <T>(question: () => Promise<T>) => Promise<T>
  /** The plain reason of a refusal. */
  readonly describe: (error: Error) => string
  readonly log?: StoreLog | undefined
}

/** Follows the changes of all keys, on whatever nodes they are. */
export interface RedisPush {
  /** Settles when it is known how changes arrive, or that there is no connection. */
  readonly settled: Promise<void>
  /** `pushed` while every master tells of its changes. */
  changes (): StoreStatus['changes']
  /** @see Store.watch */
  watch (listener: ChangeListener): () => void
  close (): void
}

/** Begins to follow; goes on through reconnects, failovers and new masters. */
export function createRedisPush ({ client, address, prefixes, createListener, ask, describe, log }: RedisPushOptions): RedisPush {
  const watches = new Set<Gatherer>()
  const trackings = new Map<Redis, Tracking>()
  let changes: StoreStatus['changes'] = 'polled'
  let told: string | undefined
  let settle = (): void => {}
  const settled = new Promise<void>(resolve => { settle = resolve })

  const tellAll = () => { for (const watch of watches) watch.addAll() }

  function onKeys (keys: readonly string[] | undefined): void {
    if (keys === undefined) return tellAll()
    for (const watch of watches) for (const key of keys) watch.add(key)
  }

  /** The masters that there are now, each with its tracking. */
  function follow (): void {
    const masters = currentMasters(client)
    if (masters.length === trackings.size && masters.every(node => trackings.has(node))) return
    for (const [node, tracking] of trackings) {
      if (masters.includes(node)) continue
      tracking.close()
      trackings.delete(node)
    }
    for (const node of masters) {
      if (trackings.has(node)) continue
      trackings.set(node, trackNode(node, { prefixes, onKeys, onState: judge, createListener: () => createListener(node) }))
    }
    judge()
  }

  /** While a node is not known to push, what it would have pushed may have been missed. */
  function judge (): void {
    const states = Array.from(trackings.values(), tracking => tracking.state())
    if (states.includes('starting')) return setChanges('polled', undefined)
    const all = states.length > 0 && states.every(state => state === 'pushed')
    const refusal = Array.from(trackings.values(), tracking => tracking.refusal()).find(error => error !== undefined)
    setChanges(all ? 'pushed' : 'polled', refusal === undefined ? undefined : describe(refusal))
    settle()
    tellAll()
  }

  function setChanges (next: StoreStatus['changes'], reason: string | undefined): void {
    changes = next
    const message = next === 'pushed' ? 'changes are pushed' : reason === undefined ? undefined : `changes are polled: ${reason}`
    if (message === undefined || message === told) return
    told = message
    log?.info({ redis: address, changes: next }, message)
  }

  function beat (): void {
    if (changes !== 'pushed') return
    ask(() => Promise.all(Array.from(trackings.values(), tracking => tracking.ping()))).catch(() => {})
  }

  const events = client instanceof Redis ? ['ready'] : ['ready', '+node', '-node', 'refresh']
  for (const event of events) client.on(event, follow)
  client.on('close', settle)
  const heartbeat = setInterval(beat, HEARTBEAT_MS).unref()

  return {
    settled,
    changes: () => changes,
    watch (listener) {
      const gatherer = createGatherer(listener, GATHER_MS)
      watches.add(gatherer)
      return () => {
        watches.delete(gatherer)
        gatherer.stop()
      }
    },
    close () {
      clearInterval(heartbeat)
      settle()
      for (const event of events) client.off(event, follow)
      client.off('close', settle)
      for (const tracking of trackings.values()) tracking.close()
      for (const watch of watches) watch.stop()
      watches.clear()
      trackings.clear()
      changes = 'polled'
    }
  }
}

/** While a part of a cluster has no master, the others are followed. */
function currentMasters (client: RedisClient): readonly Redis[] {
  if (client instanceof Redis) return mastersOf(client)
  return client.nodes('master')
}
