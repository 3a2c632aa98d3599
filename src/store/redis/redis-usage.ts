import { openRedisNodes } from './redis-nodes.ts'
import { parseRedisUrl } from './redis-url.ts'
import type { Log } from '../../runtime/telemetry.ts'

/** Where replicas add their counts up. All reject while the store is away. */
export interface SharedUsage {
  /** Adds the numbers of each row (by its text) of a day; the same report counts once, however often it is sent. */
  add (day: string, rows: ReadonlyMap<string, readonly number[]>, report: string): Promise<void>
  /** Numbers that are 0 may be missing. */
  read (day: string): Promise<ReadonlyMap<string, readonly number[]>>
  /** Holds a call's estimate for it, unless what is used and held has reached the bound already. @param lifetime of the budget, in ms */
  reserve (budget: string, call: string, amount: number, most: number, lifetime: number): Promise<{ readonly isFree: boolean, readonly used: number }>
  /** What the call has used, in place of what it held; a second time does nothing. */
  settle (budget: string, call: string, amount: number): Promise<void>
  close (): Promise<void>
}

/** In ms: 91 days. */
const KEPT = 91 * 86_400_000

/** How long a report that may be sent again is known by its number, in ms. */
const KNOWN = 600_000

/** `ARGV`: how long the report is known and the day is kept, in ms; then fields and what is added to each. */
const ADD = `
if not redis.call('SET', KEYS[2], '', 'NX', 'PX', ARGV[1]) then return end
for i = 3, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])`

/** A call holds its estimate until it is settled; the estimate of a replica that died stays. `ARGV`: the call, its estimate, the bound, lifetime. */
const RESERVE = `
local used = 0
for _, amount in ipairs(redis.call('HVALS', KEYS[1])) do used = used + amount end
if used >= tonumber(ARGV[3]) then return {0, string.format('%.0f', used)} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, string.format('%.0f', used)}`

const SETTLE = `
if redis.call('HDEL', KEYS[1], ARGV[1]) == 1 then redis.call('HINCRBY', KEYS[1], 'used', ARGV[2]) end`

/** Numbers of a row stand in fields of its text, a line end and their place. */
const FIELD = /^(.*)\n(\d+)$/s

/** Counts and budgets in Redis, over a connection of their own. @param prefix of all keys */
export function createRedisUsage ({ url, sentinelPassword, log, prefix }: {
  readonly url: string
  readonly sentinelPassword?: string
  readonly log: Log
  readonly prefix: string
}): SharedUsage {
  const nodes = openRedisNodes(parseRedisUrl(url, sentinelPassword), 1000, log)
  // The braces keep both keys of a report on one node of a cluster.
  const keyOf = (day: string) => `${prefix}usage:{${day}}`
  return {
    async add (day, rows, report) {
      const changes = Array.from(rows, ([row, numbers]) => numbers.flatMap((number, index) => number === 0 ? [] : [`${row}\n${index}`, number])).flat()
      const key = keyOf(day)
      await nodes.ask(key, async client => await client.eval(ADD, 2, key, `${key}:${report}`, KNOWN, KEPT, ...changes))
    },
    async read (day) {
      const key = keyOf(day)
      const fields = await nodes.ask(key, async client => await client.hgetall(key))
      const rows = new Map<string, number[]>()
      for (const [field, number] of Object.entries(fields)) {
        const [, row = '', index = ''] = FIELD.exec(field) ?? []
        const numbers = rows.get(row) ?? []
        numbers[Number(index)] = Number(number)
        rows.set(row, numbers)
      }
      return rows
    },
    async reserve (budget, call, amount, most, lifetime) {
      const key = `${prefix}budgets:${budget}`
      const [isFree, used] = await nodes.ask(key, async client => await client.eval(RESERVE, 1, key, call, amount, most, lifetime)) as [number, string]
      return { isFree: isFree === 1, used: Number(used) }
    },
    async settle (budget, call, amount) {
      const key = `${prefix}budgets:${budget}`
      await nodes.ask(key, async client => await client.eval(SETTLE, 1, key, call, amount))
    },
    close: () => nodes.close()
  }
}
