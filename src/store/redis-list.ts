import { isUtf8 } from 'node:buffer'
import { type Redis } from 'ioredis'

/** How many keys one step of a SCAN looks at; a step of this size takes Redis well below a millisecond. */
const SCAN_COUNT = 1000

/**
 * The keys of one node that begin with `prefix`, without repeats (SCAN may repeat: https://redis.io/docs/latest/commands/scan/).
 * Names that are not UTF-8 cannot be asked for again as text and are left out.
 * @throws what the client throws, after which nothing is known: a half listing is never given
 */
export async function listKeys (node: Redis, prefix: string): Promise<Set<string>> {
  const keys = new Set<string>()
  const pattern = `${escapeGlob(prefix)}*`
  let cursor = '0'
  do {
    const [next, names] = await node.scanBuffer(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    for (const name of names) {
      if (isUtf8(name)) keys.add(name.toString())
    }
    cursor = next.toString()
  } while (cursor !== '0')
  return keys
}

/** A text as a glob pattern that matches only itself. */
function escapeGlob (text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
