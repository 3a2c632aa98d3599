import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { StoreError } from '../store.ts'
import type { RedisConnection } from './redis-connection.ts'
import type { RedisClusterPlace, RedisPlace, RedisTarget } from './redis-url.ts'

export const SLOTS = 16384

/** CRC16 (XMODEM): https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags */
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

interface ClusterNode {
  readonly id: string
  /** The host is `''` when a node does not know its own address. */
  readonly host: string
  readonly port: number
  readonly isMyself: boolean
  readonly isMaster: boolean
  /** Grows with every failover and every slot that moves, so a higher one is newer. */
  readonly epoch: number
  readonly slots: ReadonlyArray<readonly [first: number, last: number]>
  readonly isMoving: boolean
}

/** `isEncrypted` prefers host names: certificates are made for them. https://redis.io/docs/latest/commands/cluster-nodes/#serialization-format */
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

/** The disagreement goes away by itself, unless a node is lost. */
class ClusterDisagreement extends StoreError {}

/** A node that was cut off or frozen still describes an older state. */
export function freshest (views: readonly ClusterNode[][]): ClusterNode[] | undefined {
  const age = (view: readonly ClusterNode[]): number => Math.max(...view.map(({ epoch }) => epoch))
  return views.toSorted((a, b) => age(b) - age(a))[0]
}

/** Returns a text that changes when a slot moves. @throws ClusterDisagreement when a slot has no master or two: a listing would lack keys */
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

const WITNESSES = 3

/** Attempts to get agreeing answers, and the pause between two, in ms. */
const CENSUS_ATTEMPTS = 20
const CENSUS_DELAY_MS = 100

interface ClusterCensus {
  readonly masters: readonly RedisConnection[]
  readonly signature: string
  readonly isMoving: boolean
}

/** ioredis's cluster mode is not used: it drops a lost master, and a listing would then lack its keys without an error. */
export class RedisCluster {
  readonly #place: RedisClusterPlace
  readonly #connect: (target: RedisTarget) => RedisConnection
  readonly #onServing: (masters: readonly RedisConnection[]) => void
  readonly #isEncrypted: boolean
  readonly #members = new Map<string, RedisConnection>()
  readonly #seeds: ReadonlySet<string>
  #serving: readonly ClusterNode[] = []
  #turn = 0

  constructor (place: RedisClusterPlace, connect: (target: RedisTarget) => RedisConnection, onServing: (masters: readonly RedisConnection[]) => void) {
    this.#place = place
    this.#connect = connect
    this.#onServing = onServing
    this.#isEncrypted = place.seeds.some(({ options }) => options.tls !== undefined)
    for (const target of place.seeds) this.#open(target)
    this.#seeds = new Set(this.#members.keys())
  }

  /** @throws StoreError when no node answers */
  async look (): Promise<void> {
    const answers = await Promise.allSettled(this.#witnesses().map(member => this.#view(member)))
    const nodes = freshest(answers.flatMap(answer => answer.status === 'fulfilled' ? [answer.value] : []))
    if (nodes === undefined) throw (answers[0] as PromiseRejectedResult).reason
    const masters = nodes.filter(({ isMaster }) => isMaster)
    const serving = masters.filter(({ slots }) => slots.length > 0).sort((a, b) => a.id < b.id ? -1 : 1)
    const hasChanged = describe(serving) !== describe(this.#serving)
    this.#serving = serving
    const connections = serving.map(node => this.#member(node))
    // Masters without slots count too: slots are perhaps moving to them.
    this.#closeAllBut(new Set(masters.map(({ host, port }) => this.#place.node(host, port).address)))
    if (hasChanged) this.#onServing(connections)
  }

  /** Masters can disagree shortly after a slot has moved, hence the attempts. @throws StoreError unless every slot is served exactly once */
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

  /** @throws StoreError when no node serves the key */
  async owner (key: string): Promise<RedisConnection> {
    if (this.#serving.length === 0) await this.look()
    const node = this.#serverOf(key)
    if (node === undefined) throw new StoreError(`no node of the Redis Cluster serves slot ${keySlot(key)}`)
    return this.#member(node)
  }

  addresses (): string[] {
    return this.#serving.map(node => this.#member(node).target.address)
  }

  addressOf (key: string): string | undefined {
    const node = this.#serverOf(key)
    return node && this.#member(node).target.address
  }

  /** `host` is `''` for the host of `from`. */
  redirected (host: string, port: number, from: RedisConnection): RedisConnection {
    return this.#open(this.#place.node(host === '' ? from.target.options.host ?? '' : host, port))
  }

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

  /** Other ones each time, so that the outdated answer of a node that was cut off does not count for long. */
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

export const MAX_REDIRECTIONS = 5

export interface ClusterRoute {
  readonly member: RedisConnection
  /** The node is taking over the slot, and does not answer for it without ASKING. */
  readonly isAsking: boolean
}

export function redirection (reply: unknown): string | undefined {
  return reply instanceof Error && /^(MOVED|ASK) /.test(reply.message) ? reply.message : undefined
}

/** https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding */
export function followRedirection (cluster: RedisCluster, to: string, from: RedisConnection): ClusterRoute {
  const [word, , endpoint = ''] = to.split(' ')
  const colon = endpoint.lastIndexOf(':')
  return { member: cluster.redirected(endpoint.slice(0, colon), Number(endpoint.slice(colon + 1)), from), isAsking: word === 'ASK' }
}

/** `change` must send a single command, at once. @throws StoreError when the node cannot be asked */
export async function changeInCluster<T> (cluster: RedisCluster, key: string, change: (node: Redis) => Promise<T>): Promise<T> {
  let route: ClusterRoute = { member: await cluster.owner(key), isAsking: false }
  for (let redirections = 0; redirections <= MAX_REDIRECTIONS; redirections++) {
    const { member: { client, ask }, isAsking } = route
    const answer = await ask(async () => {
      // ASKING applies only to the next command on the connection; no other can come between.
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

export interface RedisNodes {
  /** `question` must send a single command, at once. @throws StoreError when the node cannot be asked */
  ask<T> (key: string, question: (node: Redis) => Promise<T>): Promise<T>
  /** @throws StoreError when the node does not answer a ping */
  holder (key: string): Promise<RedisConnection>
  problem (): string | undefined
  close (): Promise<void>
}

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
  /** After a failure, the cluster is asked anew: perhaps another node has taken over. */
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
