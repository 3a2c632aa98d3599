import { isUtf8 } from 'node:buffer'
import { type RedisConnection } from './redis-connection.ts'

/** The number of keys that one step of a SCAN looks at. A step of this size takes Redis well below a millisecond. */
const SCAN_COUNT = 1000

/**
 * Lists the keys of one node that begin with `prefix`, batch by batch; SCAN can repeat some (https://redis.io/docs/latest/commands/scan/). Keys whose
 * names are not UTF-8 are left out, because they cannot be asked for as text, and their number is logged.
 * @throws StoreError when a step fails: the listing is then incomplete, and of no use
 */
export async function * scanNode ({ client, ask, remark }: RedisConnection, prefix: string): AsyncGenerator<readonly string[]> {
  const pattern = `${escapeGlob(prefix)}*`
  let cursor = '0'
  let leftOut = 0
  do {
    const from = cursor
    const [next, names] = await ask(async () => checkPage(client, await client.scanBuffer(from, 'MATCH', pattern, 'COUNT', SCAN_COUNT)))
    const keys = names.filter(name => isUtf8(name)).map(name => name.toString())
    leftOut += names.length - keys.length
    if (keys.length > 0) yield keys
    cursor = next.toString()
  } while (cursor !== '0')
  remark(leftOut === 0 ? undefined : `keys with names that are not UTF-8 are left out: ${leftOut}`)
}

/**
 * Checks that a reply has the form of a reply to SCAN. If not, the replies on the connection no longer match the commands, and no later one can be
 * believed. So the connection is closed, and opened anew.
 * @throws Error
 */
function checkPage (client: RedisConnection['client'], reply: [cursor: Buffer, keys: Buffer[]]): [cursor: Buffer, keys: Buffer[]] {
  if (Array.isArray(reply) && reply.length === 2 && Array.isArray(reply[1])) return reply
  client.disconnect(true)
  throw new Error('Command queue state error: SCAN is answered with something else')
}

/** A glob pattern that matches only the given text. */
function escapeGlob (text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
