import { setTimeout as delay } from 'node:timers/promises'
import { agreeOnSlots, ClusterDisagreement, freshest, parseClusterNodes, type ClusterNode } from './cluster-nodes.ts'
import { keySlot } from './key-slot.ts'
import { type RedisConnection } from './redis-connection.ts'
import { type RedisClusterPlace, type RedisTarget } from './redis-url.ts'
import { StoreError } from '../store.ts'

/** The most nodes that are asked at the same time which node serves which slots. */
const WITNESSES = 3

/** The most attempts to get agreeing answers from the masters about which of them serves which slots, and the pause between two attempts, in ms. */
const CENSUS_ATTEMPTS = 20
const CENSUS_DELAY_MS = 100

/** The state of a Redis Cluster at one time, as all its masters report it. */
export interface ClusterCensus {
  readonly masters: readonly RedisConnection[]
  /** A text that changes whenever a slot moves to another node. */
  readonly signature: string
  /** Whether keys of a slot are moving between two masters. */
  readonly isMoving: boolean
}

/**
 * The nodes of a Redis Cluster, with the slots that each serves and a connection to each. The cluster mode of the package ioredis is not used: it
 * drops a master that it has lost from its list, and a listing over all masters would then lack that master's keys without an error.
 */
export class RedisCluster {
  readonly #place: RedisClusterPlace
  readonly #connect: (target: RedisTarget) => RedisConnection
  readonly #onServing: (masters: readonly RedisConnection[]) => void
  readonly #isEncrypted: boolean
  readonly #members = new Map<string, RedisConnection>()
  readonly #seeds: ReadonlySet<string>
  #serving: readonly ClusterNode[] = []
  #turn = 0

  /**
   * @param connect opens a connection to one node, which connects in the background and never gives up
   * @param onServing called with the nodes that serve slots, whenever a slot or an address has changed
   */
  constructor (place: RedisClusterPlace, connect: (target: RedisTarget) => RedisConnection, onServing: (masters: readonly RedisConnection[]) => void) {
    this.#place = place
    this.#connect = connect
    this.#onServing = onServing
    this.#isEncrypted = place.seeds.some(({ options }) => options.tls !== undefined)
    for (const target of place.seeds) this.#open(target)
    this.#seeds = new Set(this.#members.keys())
  }

  /** Asks a few nodes which node serves which slots, and opens and closes connections accordingly. @throws StoreError when no node answers */
  async look (): Promise<void> {
    const answers = await Promise.allSettled(this.#witnesses().map(member => this.#view(member)))
    const nodes = freshest(answers.flatMap(answer => answer.status === 'fulfilled' ? [answer.value] : []))
    if (nodes === undefined) throw (answers[0] as PromiseRejectedResult).reason
    const masters = nodes.filter(({ isMaster }) => isMaster)
    const serving = masters.filter(({ slots }) => slots.length > 0).sort((a, b) => a.id < b.id ? -1 : 1)
    const hasChanged = describe(serving) !== describe(this.#serving)
    this.#serving = serving
    const connections = serving.map(node => this.#member(node))
    // The connections to masters without slots stay open too, because slots are perhaps moving to such a master.
    this.#closeAllBut(new Set(masters.map(({ host, port }) => this.#place.node(host, port).address)))
    if (hasChanged) this.#onServing(connections)
  }

  /**
   * Asks every master that has slots which slots these are. After a slot has moved, for a short time two masters say that they serve it, or none does.
   * So the masters are asked up to `CENSUS_ATTEMPTS` times before such a disagreement counts as an error.
   * @throws StoreError unless all these masters answer and every slot is served by exactly one of them
   */
  async census (): Promise<ClusterCensus> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#count()
      } catch (error) {
        if (!(error instanceof ClusterDisagreement) || attempt === CENSUS_ATTEMPTS) throw error
        await delay(CENSUS_DELAY_MS)
      }
    }
  }

  async #count (): Promise<ClusterCensus> {
    await this.look()
    const masters = this.#serving.map(node => this.#member(node))
    const own = await Promise.all(this.#serving.map(({ id }, index) => this.#ownView(masters[index] as RedisConnection, id)))
    return { masters, signature: agreeOnSlots(own), isMoving: own.some(({ isMoving }) => isMoving) }
  }

  /**
   * The node that serves a key, by the latest answer of the cluster; the cluster is asked first when there was no answer yet.
   * @throws StoreError when no node serves the key
   */
  async owner (key: string): Promise<RedisConnection> {
    if (this.#serving.length === 0) await this.look()
    const node = this.#serverOf(key)
    if (node === undefined) throw new StoreError(`no node of the Redis Cluster serves slot ${keySlot(key)}`)
    return this.#member(node)
  }

  /** The addresses of the nodes that serve slots, by the latest answer of the cluster. */
  addresses (): string[] {
    return this.#serving.map(node => this.#member(node).target.address)
  }

  /** The address of the node that serves a key, by the latest answer of the cluster; `undefined` when none is known. */
  addressOf (key: string): string | undefined {
    const node = this.#serverOf(key)
    return node && this.#member(node).target.address
  }

  /** The node that another node names in a `MOVED` or `ASK`. @param host `''` for the host of `from` @param from the node that has sent the `MOVED` or `ASK` */
  redirected (host: string, port: number, from: RedisConnection): RedisConnection {
    return this.#open(this.#place.node(host === '' ? from.target.options.host ?? '' : host, port))
  }

  /** The nodes that serve slots, by the latest answer of the cluster; before the first answer, those of the URL. */
  members (): RedisConnection[] {
    return this.#serving.length === 0 ? [...this.#members.values()] : this.#serving.map(node => this.#member(node))
  }

  async close (): Promise<void> {
    await Promise.all([...this.#members.values()].map(member => member.close()))
  }

  #serverOf (key: string): ClusterNode | undefined {
    const slot = keySlot(key)
    return this.#serving.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))
  }

  #member ({ host, port }: ClusterNode): RedisConnection {
    return this.#open(this.#place.node(host, port))
  }

  #open (target: RedisTarget): RedisConnection {
    const known = this.#members.get(target.address)
    if (known !== undefined) return known
    const member = this.#connect(target)
    this.#members.set(target.address, member)
    return member
  }

  #closeAllBut (addresses: ReadonlySet<string>): void {
    for (const [address, member] of this.#members) {
      if (addresses.has(address) || this.#seeds.has(address)) continue
      this.#members.delete(address)
      void member.close()
    }
  }

  /** The nodes to ask next. They are other ones each time, so that the outdated answer of a node that was cut off does not count for long. */
  #witnesses (): RedisConnection[] {
    const all = [...this.#members.values()]
    const connected = all.filter(member => member.isConnected())
    const candidates = connected.length === 0 ? all : connected
    const start = this.#turn++ % candidates.length
    return [...candidates.slice(start), ...candidates.slice(0, start)].slice(0, WITNESSES)
  }

  async #view ({ target, client, ask }: RedisConnection): Promise<ClusterNode[]> {
    const text = await ask(() => client.cluster('NODES'))
    return parseClusterNodes(String(text), this.#isEncrypted)
      .map(node => node.isMyself && node.host === '' ? { ...node, host: target.options.host ?? '' } : node)
  }

  async #ownView (member: RedisConnection, id: string): Promise<ClusterNode> {
    const myself = (await this.#view(member)).find(({ isMyself }) => isMyself)
    if (myself?.id === id && myself.isMaster) return myself
    throw new ClusterDisagreement(`Redis at ${member.target.address} is not the master that other nodes of the Redis Cluster take it for`)
  }
}

function describe (nodes: readonly ClusterNode[]): string {
  return JSON.stringify(nodes.map(({ id, host, port, slots }) => [id, host, port, slots]))
}
