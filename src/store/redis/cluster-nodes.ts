import { SLOTS } from './key-slot.ts'
import { StoreError } from '../store.ts'

/** One node of a Redis Cluster, as another node or itself sees it. */
export interface ClusterNode {
  readonly id: string
  /** `''` where a node does not know its own address. */
  readonly host: string
  readonly port: number
  /** Whether this is the node that was asked: no other node knows better which slots it has. */
  readonly isMyself: boolean
  readonly isMaster: boolean
  /** The configuration epoch, which grows across the cluster with every failover and every slot that has moved. */
  readonly epoch: number
  /** The first and last slot of every range that the node serves. */
  readonly slots: ReadonlyArray<readonly [first: number, last: number]>
  /** Whether keys of one of the node's slots are moving to or from another node; only the node itself reports this. */
  readonly isMoving: boolean
}

/**
 * Reads a reply of CLUSTER NODES: https://redis.io/docs/latest/commands/cluster-nodes/#serialization-format
 * @param isEncrypted whether host names are preferred, since certificates are made for them
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

/** The error that the nodes do not agree on who serves which slot. It passes by itself, unless a node is lost. */
export class ClusterDisagreement extends StoreError {}

/** The most recent view of the cluster. A node that was cut off or frozen still reports an older state. */
export function freshest (views: readonly ClusterNode[][]): ClusterNode[] | undefined {
  const age = (view: readonly ClusterNode[]): number => Math.max(...view.map(({ epoch }) => epoch))
  return views.toSorted((a, b) => age(b) - age(a))[0]
}

/**
 * What the masters say of themselves, as one text that changes when a slot changes its node.
 * @throws ClusterDisagreement when a slot is claimed by no master, or by two: then a listing would lack keys or have old ones
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
