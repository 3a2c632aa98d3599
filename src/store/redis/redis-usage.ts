import { openRedisNodes } from './redis-nodes.ts'
import { parseRedisUrl } from './redis-url.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { type Counts, MAX_ROWS, OTHERS, type UsageStore } from '../usage-store.ts'

/** In ms: 91 days. */
const KEPT = 91 * 86_400_000

/** How long a report that may be sent again is known by its number, in ms. */
const KNOWN = 600_000

/**
 * A day is a hash: a row's text, and its counts with commas between them, without those at the end that are 0. A field for each count would take five
 * times as much. `ARGV`: how long the report is known and the day is kept, in ms; the most rows, the row of all others; then rows and counts to add.
 */
const ADD = `
if not redis.call('SET', KEYS[2], '', 'NX', 'PX', ARGV[1]) then return end
local size = redis.call('HLEN', KEYS[1])
for i = 5, #ARGV, 2 do
  local row = ARGV[i]
  local known = redis.call('HGET', KEYS[1], row)
  if not known and size >= tonumber(ARGV[3]) then
    row = ARGV[4]
    known = redis.call('HGET', KEYS[1], row)
  end
  if not known then
    size = size + 1
    known = ''
  end
  local sums = {}
  for number in string.gmatch(known, '[^,]+') do sums[#sums + 1] = number end
  local index = 0
  for number in string.gmatch(ARGV[i + 1], '[^,]+') do
    index = index + 1
    sums[index] = string.format('%.0f', (sums[index] or 0) + number)
  end
  redis.call('HSET', KEYS[1], row, table.concat(sums, ','))
end
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

/** Counts and budgets in Redis, over a connection of their own. @param prefix of all keys */
export function createRedisUsage ({ url, sentinelPassword, log, prefix }: {
  readonly url: string
  readonly sentinelPassword?: string
  readonly log: Log
  readonly prefix: string
}): UsageStore {
  const nodes = openRedisNodes(parseRedisUrl(url, sentinelPassword), 1000, log)
  // The braces keep both keys of a report on one node of a cluster.
  const keyOf = (day: string) => `${prefix}usage:days:{${day}}`
  const budgetKey = (budget: string) => `${prefix}budgets:${budget}`
  return {
    since: async () => undefined,
    async add (day, rows, report) {
      const changes = Array.from(rows, ([row, counts]) => [row, counts.slice(0, counts.findLastIndex(each => each !== 0) + 1).join()]).flat()
      const key = keyOf(day)
      await nodes.ask(key, async client => await client.eval(ADD, 2, key, `${key}:${report}`, KNOWN, KEPT, MAX_ROWS, OTHERS, ...changes))
    },
    async read (day) {
      const key = keyOf(day)
      const fields = await nodes.ask(key, async client => await client.hgetall(key))
      return new Map(Object.entries(fields).map(([row, counts]): [string, Counts] => [row, counts.split(',').map(Number)]))
    },
    async reserve (budget, call, amount, most, lifetime) {
      const key = budgetKey(budget)
      const [isFree, used] = await nodes.ask(key, async client => await client.eval(RESERVE, 1, key, call, amount, most, lifetime)) as [number, string]
      return { isFree: isFree === 1, used: Number(used) }
    },
    async settle (budget, call, amount) {
      const key = budgetKey(budget)
      await nodes.ask(key, async client => await client.eval(SETTLE, 1, key, call, amount))
    },
    async used (budget) {
      const key = budgetKey(budget)
      return (await nodes.ask(key, async client => await client.hvals(key))).reduce((sum, each) => sum + Number(each), 0)
    },
    close: () => nodes.close()
  }
}
