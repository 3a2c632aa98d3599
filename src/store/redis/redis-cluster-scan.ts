import { type RedisCluster } from './redis-cluster.ts'
import { type RedisConnection } from './redis-connection.ts'
import { scanNode } from './redis-scan.ts'

/**
 * Lists the keys of all masters of a cluster that begin with `prefix`, batch by batch. Some keys come twice, and some may have been deleted
 * meanwhile. A key whose slot moves can be missed: it leaves one node before that node is scanned, and comes to the other one after that was scanned.
 * So when a slot moves meanwhile, all nodes are scanned a second time: a key that moves once stands still during one of the two scans.
 * @throws StoreError when a node cannot be asked, or the nodes do not serve every slot exactly once
 */
export async function * scanCluster (cluster: RedisCluster, prefix: string): AsyncGenerator<readonly string[]> {
  const before = await cluster.census()
  yield * scanAll(before.masters, prefix)
  const after = await cluster.census()
  if (before.signature === after.signature && !before.isMoving && !after.isMoving) return
  yield * scanAll(after.masters, prefix)
  await cluster.census()
}

async function * scanAll (masters: readonly RedisConnection[], prefix: string): AsyncGenerator<readonly string[]> {
  for (const master of masters) yield * scanNode(master, prefix)
}
