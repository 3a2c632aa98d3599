import { Redis } from 'ioredis'
import { keySlot, SLOTS } from './key-slot.ts'
import { type RedisClient } from './redis-client.ts'
import { StoreError } from './store.ts'

/**
 * The nodes that hold all keys together: the one Redis, or every master of a cluster.
 * @throws StoreError when a part of the cluster is served by none of them
 */
export function mastersOf (client: RedisClient): readonly Redis[] {
  if (client instanceof Redis) return [client]
  const masters = client.nodes('master')
  const names = new Set(masters.map(nameOf))
  for (let slot = 0; slot < SLOTS; slot++) {
    const owner = client.slots[slot]?.[0]
    if (owner === undefined || !names.has(owner)) throw new StoreError(`no node of the Redis Cluster serves slot ${slot} now`)
  }
  return masters
}

/** The keys by the node that serves them, as a pipeline needs them. */
export function groupByNode (client: RedisClient, keys: readonly string[]): ReadonlyArray<readonly string[]> {
  if (client instanceof Redis) return [keys]
  const groups = new Map<string, string[]>()
  for (const key of keys) {
    const name = (client.slots[keySlot(key)] ?? []).join(';')
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [key])
    else group.push(key)
  }
  return [...groups.values()]
}

/** `host:port`, as the client names a node in its table of slots. */
export function nameOf ({ options }: Redis): string {
  return `${options.host}:${options.port}`
}
