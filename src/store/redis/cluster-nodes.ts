import { SLOTS } from './key-slot.ts'
import { StoreError } from '../store.ts'

/** One node of a Redis Cluster, as a node of the cluster describes it in its reply to CLUSTER NODES. */
export interface ClusterNode {
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
export class ClusterDisagreement extends StoreError {}

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
