import { Command } from 'ioredis'
import { freePort } from './free-port.ts'
import { whyContainersCannotMeet } from './redis-container.ts'
import { isRedisInstalled } from './redis-process.ts'
import { startRedisServer, type RedisServer } from './redis-server.ts'
import { waitFor } from './wait-for.ts'

/** A real Redis Cluster of a test's own. */
export interface RedisClusterServers {
  /** `redis+cluster://` with all masters. */
  readonly url: string
  /** In the order of their slots. */
  readonly masters: readonly RedisServer[]
  /** One of each master, if asked for, in their order. */
  readonly replicas: readonly RedisServer[]
  /** The master that served this key's slot in the beginning. */
  masterOf (key: string): RedisServer
  /**
   * Moves a slot with all its keys, key by key, as `redis-cli --cluster reshard` does.
   * @param midway called when half of the keys have moved
   */
  moveSlot (slot: number, from: RedisServer, to: RedisServer, midway?: () => Promise<void>): Promise<void>
  /** Writes values, each to the master that served its slot in the beginning. */
  setAll (values: Readonly<Record<string, string>>): Promise<void>
  /** Writes one value of a slot that is moving, wherever its key is now. */
  setMoving (key: string, value: string, from: RedisServer, to: RedisServer): Promise<void>
  /** Waits until every replica has all that its master has. */
  synchronised (): Promise<void>
  stop (): Promise<void>
}

export interface RedisClusterOptions {
  /** Whether each master has a replica that takes over. @default false */
  readonly hasReplicas?: boolean
  /** Whether what is left is served when a master is lost. @default false */
  readonly servesParts?: boolean
}

const MASTERS = 3
const SLOTS = 16384

export function keySlot (key: string): number {
  return new Command('EXISTS', [key]).getSlot()
}

/**
 * Starts three masters and waits until they serve all slots.
 * @throws Error when they cannot; none is left then
 */
export async function startRedisCluster ({ hasReplicas = false, servesParts = false }: RedisClusterOptions = {}): Promise<RedisClusterServers> {
  const reason = isRedisInstalled() ? undefined : whyContainersCannotMeet()
  if (reason !== undefined) throw new Error(reason)
  const servers = await startAll(Array.from({ length: hasReplicas ? 2 * MASTERS : MASTERS }, () => startNode(servesParts)))
  try {
    return await formCluster(servers)
  } catch (error) {
    await Promise.all(servers.map(({ server }) => server.stop()))
    throw error
  }
}

type Node = Awaited<ReturnType<typeof startNode>>

/** Lets nodes meet, the first ones as masters of all slots, and waits until all of them say so. */
async function formCluster (servers: readonly Node[]): Promise<RedisClusterServers> {
  const masters = servers.slice(0, MASTERS)
  const replicas = servers.slice(MASTERS)
  const first = (index: number): number => Math.floor(index * SLOTS / MASTERS)

  await Promise.all(masters.map(async ({ server }, index) => {
    await server.client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    await server.client.call('CLUSTER', 'ADDSLOTSRANGE', first(index), first(index + 1) - 1)
  }))
  for (const { server } of servers.slice(1)) await server.client.call('CLUSTER', 'MEET', '127.0.0.1', servers[0]?.server.port ?? 0, servers[0]?.busPort ?? 0)
  for (const [index, { server }] of replicas.entries()) {
    const id = masters[index]?.id ?? ''
    await waitFor('the replica to know its master', async () => String(await server.client.cluster('NODES')).includes(id))
    await waitFor('the replica to be one', async () => await server.client.call('CLUSTER', 'REPLICATE', id) === 'OK')
  }
  await waitFor('the cluster to be whole', async () => {
    const states = await Promise.all(servers.map(async ({ server }) => {
      const [info, nodes, replication] = [String(await server.client.cluster('INFO')), String(await server.client.cluster('NODES')), await server.client.info('replication')]
      const isSynchronised = !replication.includes('role:slave') || replication.includes('master_link_status:up')
      return info.includes('cluster_state:ok') && servers.every(({ id }) => nodes.includes(id)) && isSynchronised
    }))
    return states.every(Boolean)
  }, 30_000)

  const masterOf = (key: string): RedisServer => masters.find((_, index) => keySlot(key) < first(index + 1))?.server as RedisServer

  return {
    masterOf,
    async setAll (values) {
      await Promise.all(Object.entries(values).map(([key, value]) => masterOf(key).client.set(key, value)))
    },
    async setMoving (key, value, from, to) {
      try {
        await from.client.set(key, value)
      } catch (error) {
        if (!(error as Error).message.startsWith('ASK')) throw error
        await to.client.pipeline().asking().set(key, value).exec()
      }
    },
    async synchronised () {
      await Promise.all(replicas.map(({ server }, index) => waitFor('the replica to have it', async () => await server.client.dbsize() === await masters[index]?.server.client.dbsize())))
    },
    url: `redis+cluster://${masters.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}`,
    masters: masters.map(({ server }) => server),
    replicas: replicas.map(({ server }) => server),
    async moveSlot (slot, from, to, midway) {
      const [fromId, toId] = [String(await from.client.cluster('MYID')), String(await to.client.cluster('MYID'))]
      await to.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
      await from.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
      const keys = await from.client.call('CLUSTER', 'GETKEYSINSLOT', slot, 1_000_000) as string[]
      for (const [index, key] of keys.entries()) {
        if (index === keys.length >> 1) await midway?.()
        await from.client.call('MIGRATE', '127.0.0.1', to.port, key, 0, 5000)
      }
      for (const { server } of [...masters].sort(({ id }) => id === toId ? -1 : 1)) await server.client.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
      // A node that has not heard of the newest epoch claims a slot with an old one, and may lose it again to late word.
      await waitFor('all masters to agree on epochs and slots', async () => {
        const views = await Promise.all(masters.map(({ server }) => viewOf(server)))
        return views.every(view => view === views[0])
      })
    },
    async stop () { await Promise.all(servers.map(({ server }) => server.stop())) }
  }
}

/** Every node's epoch and slots, as one of them sees it. */
async function viewOf ({ client }: RedisServer): Promise<string> {
  const nodes = String(await client.cluster('NODES')).trimEnd().split('\n').map(line => line.split(' '))
  return JSON.stringify(nodes.map(([id, , , , , , epoch, , ...slots]) => [id, epoch, slots.filter(slot => !slot.startsWith('['))]).sort())
}

/** Starts one node of a cluster to be. */
async function startNode (servesParts: boolean) {
  let busPort = 0
  const server = await startRedisServer({
    async settings () {
      busPort = await freePort()
      return [
        '--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '1000', '--cluster-require-full-coverage', servesParts ? 'no' : 'yes',
        // Without these a replica waits for seconds before it is believed to be fresh.
        '--repl-diskless-sync-delay', '0', '--cluster-replica-validity-factor', '0'
      ]
    }
  })
  return { server, busPort, id: String(await server.client.cluster('MYID')) }
}

/** All that are started, or none: what is left running would keep the test's process alive. */
async function startAll (nodes: ReadonlyArray<ReturnType<typeof startNode>>) {
  const outcomes = await Promise.allSettled(nodes)
  const started = outcomes.flatMap(outcome => outcome.status === 'fulfilled' ? [outcome.value] : [])
  const failed = outcomes.find(outcome => outcome.status === 'rejected')
  if (failed === undefined) return started
  await Promise.all(started.map(({ server }) => server.stop()))
  throw failed.reason
}
