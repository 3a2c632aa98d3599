import { isUtf8 } from 'node:buffer'
import { type RedisConnection } from './redis-connection.ts'

/** How many keys one step of a SCAN looks at; a step of this size takes Redis well below a millisecond. */
const SCAN_COUNT = 1000

/**
 * The keys of one node that begin with `prefix`, batch by batch; SCAN may repeat some
 * (https://redis.io/docs/latest/commands/scan/). Names that are not UTF-8 cannot be asked for again as text and are left out.
 * @throws StoreError when a step fails; a listing that does not come to its end counts for nothing
 */
export async function * scanNode ({ client, ask }: RedisConnection, prefix: string): AsyncGenerator<readonly string[]> {
  const pattern = `${escapeGlob(prefix)}*`
  let cursor = '0'
  do {
    const from = cursor
    const [next, names] = await ask(() => client.scanBuffer(from, 'MATCH', pattern, 'COUNT', SCAN_COUNT))
    const keys = names.filter(name => isUtf8(name)).map(name => name.toString())
    if (keys.length > 0) yield keys
    cursor = next.toString()
  } while (cursor !== '0')
}

/** A text as a glob pattern that matches only itself. */
function escapeGlob (text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
