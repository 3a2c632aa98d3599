import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { StoreError } from '../store.ts'
import type { RedisConnection } from './redis-connection.ts'
import type { RedisClusterPlace, RedisPlace, RedisTarget } from './redis-url.ts'

/** The number of slots over which a Redis Cluster spreads its keys. */
export const SLOTS = 16384

/**
 * The slot of a key in a Redis Cluster: the CRC16 (XMODEM) of the key, or of the text in its first braces
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
 */
export function keySlot (key: string): number {
  let sum = 0
  for (const byte of Buffer.from(hashed(key))) {
    sum ^= byte << 8
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x8000) === 0 ? sum << 1 : (sum << 1) ^ 0x1021
    sum &= 0xffff
  }
  return sum % SLOTS
}

function hashed (key: string): string {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close)
}

/** One node of a Redis Cluster, as a node of the cluster describes it in its reply to CLUSTER NODES. */
interface ClusterNode {
  readonly id: string
  /** The node's host; `''` when a node does not know its own address. */
  readonly host: string
  readonly port: number
  /** Whether this node has sent the reply. A node knows best which slots it serves itself. */
  readonly isMyself: boolean
  readonly isMaster: boolean
  /** The configuration epoch. It grows across the cluster with every failover and with every slot that moves, so a higher one is newer. */
  readonly epoch: number
  /** The ranges of slots that the node serves, each with its first and last slot. Every key belongs to one slot. */
  readonly slots: ReadonlyArray<readonly [first: number, last: number]>
  /** Whether keys of one of the node's slots are moving to or from another node; only the node itself reports this. */
  readonly isMoving: boolean
}

/**
 * Parses a reply of CLUSTER NODES: https://redis.io/docs/latest/commands/cluster-nodes/#serialization-format
 * @param isEncrypted whether host names are preferred to addresses, because TLS certificates are made for names
 */
export function parseClusterNodes (text: string, isEncrypted: boolean): ClusterNode[] {
  return text.split('\n').filter(line => line !== '').map(line => {
    const [id = '', endpoint = '', flags = '', , , , epoch = '0', , ...slots] = line.split(' ')
    const [, ip = '', port = '0', hostname = ''] = /^(.*):(\d+)(?:@\d+)?(?:,([^,]*))?/.exec(endpoint) ?? []
    return {
      id,
      host: isEncrypted && hostname !== '' ? hostname : ip,
      port: Number(port),
      isMyself: flags.split(',').includes('myself'),
      isMaster: flags.split(',').includes('master'),
      epoch: Number(epoch),
      slots: slots.filter(slot => !slot.startsWith('[')).map(parseRange),
      isMoving: slots.some(slot => slot.startsWith('['))
    }
  })
}

/** The error that the nodes do not agree on who serves which slot. It goes away by itself, unless a node is lost. */
class ClusterDisagreement extends StoreError {}

/** The newest of several nodes' descriptions of the cluster; `undefined` for none. A node that was cut off or frozen still describes an older state. */
export function freshest (views: readonly ClusterNode[][]): ClusterNode[] | undefined {
  const age = (view: readonly ClusterNode[]): number => Math.max(...view.map(({ epoch }) => epoch))
  return views.toSorted((a, b) => age(b) - age(a))[0]
}

/**
 * Checks that the masters of a cluster serve every slot exactly once.
 * @returns a text that changes when a slot moves to another node
 * @throws ClusterDisagreement when no master claims a slot, or two do: a listing would then lack keys or have outdated ones
 */
export function agreeOnSlots (masters: readonly ClusterNode[]): string {
  const claims = new Uint8Array(SLOTS)
  for (const [first, last] of masters.flatMap(({ slots }) => slots)) {
    for (let slot = first; slot <= last; slot++) claims[slot] = (claims[slot] ?? 0) + 1
  }
  const disputed = claims.findIndex(count => count > 1)
  if (disputed !== -1) throw new ClusterDisagreement(`two nodes of the Redis Cluster claim slot ${disputed}`)
  const unserved = claims.indexOf(0)
  if (unserved !== -1) throw new ClusterDisagreement(`no node of the Redis Cluster serves slot ${unserved}`)
  return JSON.stringify(masters.map(({ id, slots, epoch }) => [id, slots, epoch]).sort())
}

function parseRange (text: string): readonly [number, number] {
  const [first = 0, last = first] = text.split('-').map(Number)
  return [first, last]
}

/** The most nodes that are asked at the same time which node serves which slots. */
const WITNESSES = 3

/** The most attempts to get agreeing answers from the masters about which of them serves which slots, and the pause between two attempts, in ms. */
const CENSUS_ATTEMPTS = 20
const CENSUS_DELAY_MS = 100

/** The state of a Redis Cluster at one time, as all its masters report it. */
interface ClusterCensus {
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

/** The nodes of one Redis, of Sentinels' master or of a cluster, for questions that concern one key or keys of one slot. */
export interface RedisNodes {
  /**
   * Asks the node that has a key. When the key's slot moves to another node, that node is asked.
   * @param question sends a single command, and sends it at once
   * @throws StoreError when the node cannot be asked
   */
  ask<T> (key: string, question: (node: Redis) => Promise<T>): Promise<T>
  /** The connection to the node that has a key, once the node has answered a ping. @throws StoreError when it does not answer */
  holder (key: string): Promise<RedisConnection>
  /** The present trouble with one of the nodes, in words for operators; `undefined` when there is none. */
  problem (): string | undefined
  close (): Promise<void>
}

/**
 * Opens the connections to one Redis, to the master that Sentinels name, or to a cluster. They connect in the background.
 * @param connect opens a connection to one node
 */
export function openRedisNodes (place: RedisPlace, connect: (target: RedisTarget) => RedisConnection): RedisNodes {
  return place.kind === 'single' ? overOne(connect(place.target)) : overCluster(new RedisCluster(place, connect, () => {}))
}

function overOne (connection: RedisConnection): RedisNodes {
  return {
    ask: (_key, question) => connection.ask(() => question(connection.client)),
    async holder () {
      await connection.ask(() => connection.client.ping())
      return connection
    },
    problem: connection.problem,
    close: connection.close
  }
}

function overCluster (cluster: RedisCluster): RedisNodes {
  /**
   * Calls a function that asks a node. When it fails, the cluster is asked for its nodes anew: perhaps another node has taken over, and the next call
   * finds it.
   */
  async function lookAfter<T> (question: () => Promise<T>): Promise<T> {
    try {
      return await question()
    } catch (error) {
      await cluster.look().catch(() => {})
      throw error
    }
  }

  return {
    ask: (key, question) => lookAfter(() => changeInCluster(cluster, key, question)),
    holder: key => lookAfter(async () => {
      const member = await cluster.owner(key)
      await member.ask(() => member.client.ping())
      return member
    }),
    problem: () => cluster.members().map(member => member.problem()).find(problem => problem !== undefined),
    close: () => cluster.close()
  }
}
