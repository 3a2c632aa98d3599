import { setTimeout as delay } from 'node:timers/promises'
import { Cluster, Command, type Redis, type RedisOptions } from 'ioredis'
import type { Log } from '../../runtime/telemetry.ts'
import { StoreError } from '../store.ts'
import { createRedisConnection, describeRedisError, isLostConnection, nodeOptions, pause, type RedisConnection } from './redis-connection.ts'
import type { RedisClusterPlace, RedisPlace, RedisTarget } from './redis-url.ts'

/** The nodes of one Redis: a single server (perhaps the one that Sentinels name), or the masters of a cluster. */
export interface RedisNodes {
  /** `question` must send a single command, at once; redirections of a cluster are followed. @throws StoreError when no node can be asked */
  ask<T> (key: string, question: (client: Redis | Cluster) => Promise<T>): Promise<T>
  /** As far as is known; redirections are not followed over this connection. @throws StoreError when no node serves the key */
  owner (key: string): Promise<RedisConnection>
  /** `undefined` while nobody knows. */
  ownerOf (key: string): RedisConnection | undefined
  /** `owner`, after it has answered. */
  holder (key: string): Promise<RedisConnection>
  /** They have all keys together. */
  masters (): RedisConnection[]
  /** @throws StoreError unless every key has exactly one master: a listing would lack some */
  census (): Promise<{
    readonly masters: readonly RedisConnection[]
    /** Changes when a slot moves. */
    readonly signature: string
    readonly isMoving: boolean
  }>
  problem (): string | undefined
  close (): Promise<void>
}

/** @param wrap adds checks to a connection */
export function openRedisNodes (
  place: RedisPlace,
  commandTimeout: number,
  log?: Log,
  wrap = (connection: RedisConnection): RedisConnection => connection,
  onMasters = (_masters: readonly RedisConnection[]): void => {}
): RedisNodes {
  const connect = (target: RedisTarget, node?: Redis) => wrap(createRedisConnection(target, commandTimeout, log, node))
  if (place.kind === 'cluster') return new RedisCluster(place, commandTimeout, connect, onMasters, log)
  const connection = connect(place.target)
  onMasters([connection])
  return overOne(connection)
}

function overOne (connection: RedisConnection): RedisNodes {
  const { client, ask, target: { address } } = connection
  let isKnownToBeWhole = false
  client.on('ready', () => { isKnownToBeWhole = false })

  /** A node of a cluster would list only its own keys, without an error. */
  async function assertWhole (): Promise<void> {
    if (isKnownToBeWhole) return
    if (await isClusterNode(client)) {
      throw new StoreError(`Redis at ${address} is a node of a Redis Cluster and holds only a part of the keys; name it as redis+cluster://`)
    }
    isKnownToBeWhole = true
  }

  return {
    ask: (_key, question) => ask(() => question(client)),
    owner: async () => connection,
    ownerOf: () => connection,
    async holder () {
      await ask(() => client.ping())
      return connection
    },
    masters: () => [connection],
    async census () {
      await ask(assertWhole)
      return { masters: [connection], signature: '', isMoving: false }
    },
    problem: connection.problem,
    close: connection.close
  }
}

async function isClusterNode (client: Redis): Promise<boolean> {
  try {
    return /^cluster_enabled:1/m.test(await client.info('cluster'))
  } catch (error) {
    // A user without the right to INFO can still use a Redis that is no cluster.
    if (error instanceof Error && error.message.startsWith('NOPERM')) return false
    throw error
  }
}

/** In ms; a cluster does not report a failover. */
const LOOK_MS = 5000

/** Attempts to get agreeing answers, and the pause between two, in ms. */
const CENSUS_ATTEMPTS = 20
const CENSUS_DELAY_MS = 100

const UNCONNECTED = 'the Redis Cluster is not connected yet'

/** The disagreement goes away by itself, unless a node is lost. */
class ClusterDisagreement extends StoreError {}

class RedisCluster implements RedisNodes {
  readonly #cluster: Cluster
  readonly #connections = new Map<Redis, RedisConnection>()
  readonly #opened: Promise<unknown>
  readonly #timer: NodeJS.Timeout
  /** No node tells of the others. */
  #isLost = true
  /** Why, and all reasons that were logged since. */
  #refusal: string | undefined
  readonly #logged = new Set<string>()
  #disagreement: string | undefined
  #closed = false

  constructor (
    place: RedisClusterPlace,
    commandTimeout: number,
    connect: (target: RedisTarget, node: Redis) => RedisConnection,
    onMasters: (masters: readonly RedisConnection[]) => void,
    log?: Log
  ) {
    this.#cluster = new Cluster(place.seeds.map(({ options: { host, port } }) => ({ host, port })), {
      redisOptions: { ...place.seeds[0]?.options, ...nodeOptions(commandTimeout) },
      // Certificates are made for names.
      dnsLookup: (address, callback) => callback(null, address),
      enableReadyCheck: false,
      clusterRetryStrategy: attempt => this.#closed ? null : pause(attempt),
      // A lost master stays known, so that readers are told; when all are lost, ioredis begins anew with the URL: perhaps they have other addresses by now.
      clusterNodeRetryStrategy: attempt => this.#isLost ? null : pause(attempt),
      // A command that is perhaps done is not sent again.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshTimeout: commandTimeout
    })
    const cluster = this.#cluster
    const attempted = new Promise<void>(resolve => { cluster.once('refresh', resolve).once('close', resolve) })
    this.#opened = Promise.race([attempted, delay(commandTimeout, undefined, { ref: false })])
    let serving: readonly RedisConnection[] | undefined

    const serve = (masters: readonly RedisConnection[]): void => {
      if (serving?.length === masters.length && masters.every(master => serving?.includes(master))) return
      serving = masters
      onMasters(masters)
    }
    const targetOf = ({ host = '', port = 0 }: RedisOptions) => place.node(host, port)
    cluster.on('error', () => {})
    cluster.on('node error', (error: Error, address: string) => {
      const colon = address.lastIndexOf(':')
      if (this.#isLost) this.#noteRefusal(error, targetOf({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }), log)
    })
    // The errors of this connection say why a node cannot be asked.
    cluster.on('+node', (node: Redis) => { if (this.#isLost) node.connect().catch(() => {}) })
    cluster.on('-node', (node: Redis) => this.#drop(node))
    cluster.on('close', () => serve([]))
    cluster.on('refresh', () => {
      this.#isLost = false
      const masters = cluster.nodes('master')
      // ioredis does not tell of a node that it drops while it is lost, nor of one that has become a replica.
      for (const node of this.#connections.keys()) if (!masters.includes(node)) this.#drop(node)
      this.#refusal = undefined
      this.#logged.clear()
      for (const node of masters) {
        if (this.#connections.has(node)) continue
        this.#connections.set(node, connect(targetOf(node.options), node))
        node.on('close', () => { void this.#look() })
      }
      serve(this.masters())
    })
    this.#timer = setInterval(() => { void this.#look() }, LOOK_MS).unref()
  }

  async ask<T> (key: string, question: (client: Cluster) => Promise<T>): Promise<T> {
    const owner = await this.owner(key)
    return await this.#lookAfter(owner.ask(() => question(this.#cluster)))
  }

  async owner (key: string): Promise<RedisConnection> {
    await this.#opened
    const owner = this.ownerOf(key)
    if (owner !== undefined) return owner
    throw new StoreError(this.problem() ?? `no node of the Redis Cluster serves slot ${slotOf(key)}`)
  }

  async holder (key: string): Promise<RedisConnection> {
    // Finds out, too, where the slot has moved.
    await this.ask(key, cluster => cluster.exists(key))
    return await this.owner(key)
  }

  ownerOf (key: string): RedisConnection | undefined {
    const [address] = this.#cluster.slots[slotOf(key)] ?? []
    return this.masters().find(({ client: { options: { host, port } } }) => `${host}:${port}` === address)
  }

  masters (): RedisConnection[] {
    return [...this.#connections.values()]
  }

  /** Masters can disagree shortly after a slot has moved, hence the attempts. */
  async census () {
    for (let attempt = 1; ; attempt++) {
      try {
        const census = await this.#count()
        this.#disagreement = undefined
        return census
      } catch (error) {
        if (!(error instanceof ClusterDisagreement)) throw error
        if (attempt === CENSUS_ATTEMPTS) {
          this.#disagreement = error.message
          throw error
        }
        await delay(CENSUS_DELAY_MS)
      }
    }
  }

  problem (): string | undefined {
    const problems = Array.from(this.#connections.values(), connection => connection.problem())
    const problem = this.#disagreement ?? problems.find(problem => problem !== undefined) ?? this.#refusal
    return problem ?? (this.#cluster.status === 'ready' ? undefined : UNCONNECTED)
  }

  async close (): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    await Promise.all(Array.from(this.#connections.values(), connection => connection.close()))
    this.#cluster.disconnect()
  }

  async #count () {
    await this.#opened
    await this.#look()
    const masters = this.masters()
    const views = await Promise.all(masters.map(async ({ client, ask }) => parseView(String(await ask(() => client.cluster('NODES'))))))
    const [first] = views
    if (first === undefined) throw new StoreError(this.problem() ?? UNCONNECTED)
    if (views.some(({ signature, self }) => signature !== first.signature || !first.masters.includes(self)) || first.masters.length !== masters.length) {
      throw new ClusterDisagreement('the nodes of the Redis Cluster do not agree on who serves which slot')
    }
    const unserved = first.unserved()
    if (unserved !== -1) throw new ClusterDisagreement(`no node of the Redis Cluster serves slot ${unserved}`)
    return { masters, signature: first.signature, isMoving: views.some(({ isMoving }) => isMoving) }
  }

  /** Never rejects. */
  async #look (): Promise<void> {
    if (this.#closed || this.#cluster.status !== 'ready') return
    await new Promise<void>(resolve => {
      this.#cluster.refreshSlotsCache(error => {
        if (error != null) this.#isLost = true
        resolve()
      })
    })
  }

  #noteRefusal (error: Error, target: RedisTarget, log?: Log): void {
    // ioredis asks over another connection, and tells only that it was closed.
    if (isLostConnection(error)) return
    const refusal = describeRedisError(error, target)
    this.#refusal = refusal
    if (this.#logged.has(refusal)) return
    this.#logged.add(refusal)
    log?.warn({ redis: target.address }, refusal)
  }

  /** After a failure: perhaps another node has taken over. */
  async #lookAfter<T> (answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      void this.#look()
      throw error
    }
  }

  #drop (node: Redis): void {
    const connection = this.#connections.get(node)
    if (connection === undefined) return
    this.#connections.delete(node)
    this.#refusal = connection.problem()
    if (this.#refusal !== undefined) this.#logged.add(this.#refusal)
    void connection.close()
  }
}

const SLOTS = 16384

function slotOf (key: string): number {
  return new Command('EXISTS', [key]).getSlot()
}

/** What a node knows of the cluster: https://redis.io/docs/latest/commands/cluster-nodes/#serialization-format */
function parseView (text: string) {
  const nodes = text.split('\n').filter(line => line !== '').map(line => line.split(' '))
  const serving = nodes.filter(([, , flags = '', , , , , , ...slots]) => flags.split(',').includes('master') && slots.some(slot => !slot.startsWith('[')))
  const rows = serving.map(([id = '', , , , , , , , ...slots]) => [id, ...slots.filter(slot => !slot.startsWith('['))]).sort()
  return {
    self: nodes.find(([, , flags = '']) => flags.split(',').includes('myself'))?.[0] ?? '',
    masters: rows.map(([id]) => id),
    signature: JSON.stringify(rows),
    isMoving: nodes.some(slots => slots.slice(8).some(slot => slot.startsWith('['))),
    unserved () {
      const served = new Uint8Array(SLOTS)
      for (const range of rows.flatMap(row => row.slice(1))) {
        const [from = 0, to = from] = range.split('-').map(Number)
        served.fill(1, from, to + 1)
      }
      return served.indexOf(0)
    }
  }
}
