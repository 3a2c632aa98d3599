import { isUtf8 } from 'node:buffer'
import { type RedisConnection } from './redis-connection.ts'

/** How many keys one step of a SCAN looks at; a step of this size takes Redis well below a millisecond. */
const SCAN_COUNT = 1000

/**
 * The keys of one node that begin with `prefix`, batch by batch; SCAN may repeat some
 * (https://redis.io/docs/latest/commands/scan/). Names that are not UTF-8 cannot be asked for again as text;
 * they are left out, and the log is told how many they are.
 * @throws StoreError when a step fails; a listing that does not come to its end counts for nothing
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
 * What answers a SCAN with anything else answers another command: nothing on that connection can be believed any more.
 * @throws Error
 */
function checkPage (client: RedisConnection['client'], reply: [cursor: Buffer, keys: Buffer[]]): [cursor: Buffer, keys: Buffer[]] {
  if (Array.isArray(reply) && reply.length === 2 && Array.isArray(reply[1])) return reply
  client.disconnect(true)
  throw new Error('Command queue state error: SCAN is answered with something else')
}

/** A text as a glob pattern that matches only itself. */
function escapeGlob (text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
