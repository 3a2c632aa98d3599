import { type RedisCluster } from './redis-cluster.ts'
import { listKeys } from './redis-list.ts'

/**
 * The keys of all masters that begin with `prefix`, without repeats; may hold some that were deleted meanwhile.
 *
 * A key whose slot moves can be missed: it leaves one node before that is scanned and comes to the other after. So whatever
 * moves meanwhile, all nodes are scanned a second time: a key that moves once stands still during one of the two.
 * @throws StoreError when a node cannot be asked, or the nodes do not serve every slot exactly once
 */
export async function listCluster (cluster: RedisCluster, prefix: string): Promise<Set<string>> {
  const keys = new Set<string>()
  const before = await cluster.census()
  await scan(before.masters)
  const after = await cluster.census()
  if (before.signature === after.signature && !before.isMoving && !after.isMoving) return keys
  await scan(after.masters)
  await cluster.census()
  return keys

  async function scan (masters: typeof before.masters): Promise<void> {
    const listings = await Promise.all(masters.map(({ connection }) => connection.ask(() => listKeys(connection.client, prefix))))
    for (const listing of listings) for (const key of listing) keys.add(key)
  }
}
