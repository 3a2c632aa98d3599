import { isUtf8 } from 'node:buffer'
import { type Redis } from 'ioredis'

/** How many keys one step of a SCAN looks at; a step of this size takes Redis well below a millisecond. */
const SCAN_COUNT = 1000

/**
 * The keys of one node that begin with `prefix`, batch by batch; SCAN may repeat some
 * (https://redis.io/docs/latest/commands/scan/). Names that are not UTF-8 cannot be asked for again as text and are left out.
 * @throws what the client throws; a listing that does not come to its end counts for nothing
 */
export async function * scanNode (node: Redis, prefix: string): AsyncGenerator<readonly string[]> {
  const pattern = `${escapeGlob(prefix)}*`
  let cursor = '0'
  do {
    const [next, names] = await node.scanBuffer(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    const keys = names.filter(name => isUtf8(name)).map(name => name.toString())
    if (keys.length > 0) yield keys
    cursor = next.toString()
  } while (cursor !== '0')
}

/** A text as a glob pattern that matches only itself. */
function escapeGlob (text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
