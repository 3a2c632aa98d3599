import { SLOTS } from './key-slot.ts'
import { StoreError } from '../store.ts'

/** One node of a Redis Cluster, as another node or itself sees it. */
export interface ClusterNode {
  readonly id: string
  /** `''` where a node does not know its own address. */
  readonly host: string
  readonly port: number
  /** It is the node that was asked: nobody knows better which slots it has. */
  readonly isMyself: boolean
  readonly isMaster: boolean
  /** Grows with every failover and every slot that has moved, across the cluster. */
  readonly epoch: number
  /** First and last slot of every range. */
  readonly slots: ReadonlyArray<readonly [first: number, last: number]>
  /** Keys of one of its slots are moving to or from another node; said by the node itself only. */
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

/** The nodes do not agree on who serves what: that passes, unless a node is lost. */
export class ClusterDisagreement extends StoreError {}

/** The view that knows of the latest change. A node that was cut off or frozen still tells of how things were. */
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
