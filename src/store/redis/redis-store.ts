import { isUtf8 } from 'node:buffer'
import { type Cluster, type Redis, ReplyError } from 'ioredis'
import type { Log } from '../../runtime/telemetry.ts'
import { decodeBytes, tooLarge } from '../decode-value.ts'
import {
  type Expected, kindPrefix, MAX_VALUE_BYTES, type RemoveOutcome, type Store, type StoredValue, type StoreKeys, type WriteOutcome, type WriteRefusal
} from '../store.ts'
import { isWithheld, type RedisConnection } from './redis-connection.ts'
import { openRedisNodes, type RedisNodes } from './redis-nodes.ts'
import { createRedisPush } from './redis-push.ts'
import { parseRedisUrl } from './redis-url.ts'

/** Per round trip: more would block the event loop for over 10 ms. */
const BATCH_KEYS = 250

/** In bytes: bounds a batch to 250 * 64 KiB, so that large values cannot exceed the command timeout. */
const FIRST_LOOK_BYTES = 64 * 1024

/** Per round trip, of values longer than `FIRST_LOOK_BYTES`. */
const BATCH_LONG_KEYS = 8

/** The key is on another node. */
const REDIRECTED = { kind: 'redirected' } as const

type NodeValue = StoredValue | typeof REDIRECTED

type Look = NodeValue | { readonly kind: 'long' } | { readonly kind: 'wrongType' }

type RedisCommand = readonly [name: string, ...words: Array<string | number>]

/** An error of one key, such as a redirection, is a result. @throws any other error: then no result is of use */
type Execute = (commands: readonly RedisCommand[]) => Promise<unknown[]>

/** @throws the client's error when the node could not be asked */
async function readValues (execute: Execute, keys: readonly string[]): Promise<NodeValue[]> {
  const values: NodeValue[] = []
  for (const batch of batches(keys, BATCH_KEYS)) values.push(...await readBatch(execute, batch))
  return values
}

/** @throws the client's error when the node could not be asked */
async function keysExist (execute: Execute, keys: readonly string[]): Promise<Array<boolean | typeof REDIRECTED>> {
  const answers: Array<boolean | typeof REDIRECTED> = []
  for (const batch of batches(keys, BATCH_KEYS)) {
    const replies = await execute(batch.map(key => ['exists', key]))
    // Without the right to read it, the key counts as existing; reading it reports what is wrong.
    for (const reply of replies) answers.push(isRedirection(reply) ? REDIRECTED : reply !== 0)
  }
  return answers
}

function isRedirection (reply: unknown): boolean {
  return reply instanceof Error && /^(MOVED|ASK) /.test(reply.message)
}

async function readBatch (execute: Execute, keys: readonly string[]): Promise<NodeValue[]> {
  const looks = await look(execute, keys, FIRST_LOOK_BYTES)
  const keysThatAre = (kind: Look['kind']): string[] => keys.filter((_, index) => looks[index]?.kind === kind)
  const settled = new Map([
    ...await readLong(execute, keysThatAre('long')),
    ...await nameTypes(execute, keysThatAre('wrongType'))
  ])
  return looks.map((found, index) => settled.get(keys[index] as string) ?? finalValue(found))
}

/** GETRANGE, because GET would fetch 50 MB and MGET hides a wrong type; PTTL tells a missing key (-2) from an empty value. */
async function look (execute: Execute, keys: readonly string[], bytes: number): Promise<Look[]> {
  const askedAt = Date.now()
  const replies = await execute(keys.flatMap((key): RedisCommand[] => [['getrange', key, 0, bytes], ['pttl', key]]))
  return keys.map((_, index): Look => {
    const range = replies[2 * index]
    const life = replies[2 * index + 1]
    // The key can move to another node between the two commands.
    if (isRedirection(range) || isRedirection(life)) return REDIRECTED
    if (range instanceof Error) return range.message.startsWith('WRONGTYPE') ? { kind: 'wrongType' } : forbidden
    if (life === -2) return { kind: 'missing' }
    const value = range as Buffer
    if (value.length > bytes) return { kind: 'long' }
    // From before the commands, so that this service keeps the value no longer than Redis.
    return decodeBytes(value, typeof life === 'number' && life >= 0 ? askedAt + life : undefined)
  })
}

const forbidden: StoredValue = { kind: 'bad', reason: 'may not be read by this Redis user', isWithheld: true }

async function readLong (execute: Execute, keys: readonly string[]): Promise<Map<string, NodeValue>> {
  const values = new Map<string, NodeValue>()
  if (keys.length === 0) return values
  const lengths = await execute(keys.map(key => ['strlen', key]))
  keys.forEach((key, index) => {
    const length = lengths[index]
    if (typeof length === 'number' && length > MAX_VALUE_BYTES) values.set(key, tooLarge(length))
  })

  for (const batch of batches(keys.filter(key => !values.has(key)), BATCH_LONG_KEYS)) {
    const looks = await look(execute, batch, MAX_VALUE_BYTES)
    looks.forEach((found, index) => values.set(batch[index] as string, finalValue(found)))
  }
  return values
}

async function nameTypes (execute: Execute, keys: readonly string[]): Promise<Map<string, NodeValue>> {
  if (keys.length === 0) return new Map()
  const types = await execute(keys.map(key => ['type', key])).catch((error: unknown) => {
    // Without the right to use TYPE, only the type's name is missing.
    if (isWithheld(error)) return keys.map(() => 'key of another type')
    throw error
  })
  return new Map(keys.map((key, index): [string, NodeValue] => [
    key,
    isRedirection(types[index]) ? REDIRECTED : { kind: 'bad', reason: `is a Redis ${String(types[index])}; a string is needed` }
  ]))
}

/** A key that changed since its first read is bad for now: its change is reported, and it is read again. */
function finalValue (found: Look): NodeValue {
  if (found.kind === 'long') return { kind: 'bad', reason: `has grown beyond ${MAX_VALUE_BYTES} bytes` }
  if (found.kind === 'wrongType') return { kind: 'bad', reason: 'has changed its Redis type' }
  return found
}

/** In one round trip to one node. */
async function pipelined (node: Redis, commands: readonly RedisCommand[]): Promise<unknown[]> {
  const pipeline = node.pipeline()
  for (const [name, ...words] of commands) {
    if (name === 'getrange') pipeline.callBuffer(name, ...words)
    else pipeline.call(name, ...words)
  }
  const replies = await pipeline.exec() ?? []
  return replies.map(([error, value]) => error === null ? value : errorOfKey(error, /^WRONGTYPE|^MOVED|^ASK|^NOPERM .*\bkeys?\b/))
}

/** ioredis follows the redirection of a single command; those of a pipeline it would follow for keys that have not moved, too, and not find them. */
async function oneByOne (client: Redis | Cluster, commands: readonly RedisCommand[]): Promise<unknown[]> {
  return await Promise.all(commands.map(([name, ...words]) => {
    const reply = name === 'getrange' ? client.callBuffer(name, ...words) : client.call(name, ...words)
    return reply.catch((error: Error) => errorOfKey(error, /^WRONGTYPE|^NOPERM .*\bkeys?\b/))
  }))
}

function errorOfKey (error: Error, known: RegExp): Error {
  if (!known.test(error.message)) throw error
  return error
}

function * batches<T> (items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}

/** WATCH would need a connection of its own. One key only, for clusters. `ARGV`: `anything`, `missing` or `text`; the expected text; the new. */
const CHANGE = `
local exists = redis.call('EXISTS', KEYS[1]) == 1
if ARGV[1] == 'missing' and exists then return 'conflict' end
if ARGV[1] == 'text' and redis.pcall('GET', KEYS[1]) ~= ARGV[2] then return 'conflict' end
if ARGV[3] then
  redis.call('SET', KEYS[1], ARGV[3])
  return exists and 'replaced' or 'created'
end
redis.call('DEL', KEYS[1])
return exists and 'removed' or 'missing'`

/** No trouble of the connection. In a script the code comes after other words; old Redis has none for a missing permission. */
const REFUSALS: ReadonlyArray<readonly [RegExp, WriteRefusal]> = [
  [/\b(?:NOPERM|READONLY)\b|user executing the script can't|unknown (?:redis )?command/i, 'read-only'],
  [/\bOOM\b/, refused('Redis has reached its maxmemory')],
  [/\bMISCONF\b/, refused('Redis cannot save its data to disk, and takes no changes until it can')],
  [/\bNOREPLICAS\b/, refused('Redis has too few replicas that are in step with it')]
]

/** @throws the client's error when the node could not be asked */
function writeValue (client: Redis | Cluster, key: string, text: string, expected: Expected | undefined): Promise<WriteOutcome> {
  return change(client, key, expected, [text]) as Promise<WriteOutcome>
}

/** @throws the client's error when the node could not be asked */
function removeValue (client: Redis | Cluster, key: string, expected: Expected | undefined): Promise<RemoveOutcome> {
  return change(client, key, expected, []) as Promise<RemoveOutcome>
}

async function change (client: Redis | Cluster, key: string, expected: Expected | undefined, text: readonly string[]): Promise<unknown> {
  try {
    return await client.eval(CHANGE, 1, key, expected?.kind ?? 'anything', expected?.kind === 'text' ? expected.text : '', ...text)
  } catch (error) {
    const refusal = error instanceof ReplyError ? REFUSALS.find(([pattern]) => pattern.test((error as Error).message)) : undefined
    if (refusal === undefined) throw error
    return refusal[1]
  }
}

function refused (reason: string): WriteRefusal {
  return { kind: 'refused', reason }
}

/** Opens also while Redis is away. @throws StoreError when `parseRedisUrl` refuses the URL */
export function createRedisStore ({ url, sentinelPassword, keys: { kinds, prefix }, commandTimeout = 2000, log }: {
  readonly url: string
  readonly sentinelPassword?: string
  readonly keys: StoreKeys
  /** In ms; without it, a frozen Redis would never let a read end. @default 2000 */
  readonly commandTimeout?: number
  readonly log?: Log
}): Store {
  const place = parseRedisUrl(url, sentinelPassword)
  const push = createRedisPush(kinds.map(({ key }) => kindPrefix(prefix, key)), commandTimeout, log)
  const nodes = openRedisNodes(place, commandTimeout, log, undefined, push.follow)
  return {
    variant: 'redis',
    scan: prefix => scanNodes(nodes, prefix),
    read: keys => askNodes(nodes, keys, readValues),
    has: keys => askNodes(nodes, keys, keysExist),
    write: (key, text, expected) => nodes.ask(key, client => writeValue(client, key, text, expected)),
    remove: (key, expected) => nodes.ask(key, client => removeValue(client, key, expected)),
    watch: push.watch,
    nodes: place.kind === 'cluster'
      ? { names: () => nodes.masters().map(({ target }) => target.address), of: key => nodes.ownerOf(key)?.target.address }
      : undefined,
    status () {
      const problem = nodes.problem()
      const connected = problem === undefined && nodes.masters().every(master => master.isConnected())
      return { connected, changes: push.changes(), ...(problem === undefined ? {} : { problem }) }
    },
    async close () {
      push.close()
      await nodes.close()
    }
  }
}

/**
 * Lists the keys of all masters that begin with `prefix`, batch by batch. Some keys come twice, and some have perhaps been deleted
 * meanwhile. A key whose slot moves can be missed: it leaves one node before that node is scanned, and comes to the other one after that was scanned.
 * So when a slot moves meanwhile, all nodes are scanned a second time: a key that moves once stands still during one of the two scans.
 * @throws StoreError when a node cannot be asked, or the nodes do not serve every slot exactly once
 */
async function * scanNodes (nodes: RedisNodes, prefix: string): AsyncGenerator<readonly string[]> {
  const before = await nodes.census()
  for (const master of before.masters) yield * scanNode(master, prefix)
  const after = await nodes.census()
  if (before.signature === after.signature && !before.isMoving && !after.isMoving) return
  for (const master of after.masters) yield * scanNode(master, prefix)
  await nodes.census()
}

/** Each node in as few round trips as it can; keys that are on another node are asked for one by one. @throws StoreError */
async function askNodes<T> (
  nodes: RedisNodes,
  keys: readonly string[],
  question: (execute: Execute, keys: readonly string[]) => Promise<ReadonlyArray<T | typeof REDIRECTED>>
): Promise<T[]> {
  const groups = new Map<RedisConnection, string[]>()
  for (const key of keys) {
    const owner = await nodes.owner(key)
    const group = groups.get(owner)
    if (group === undefined) groups.set(owner, [key])
    else group.push(key)
  }
  const answers = new Map<string, T | typeof REDIRECTED>()
  await Promise.all(Array.from(groups, async ([{ ask, client }, own]) => {
    const found = await ask(() => question(commands => pipelined(client, commands), own))
    own.forEach((key, index) => answers.set(key, found[index] as T))
  }))
  const moved = keys.filter(key => answers.get(key) === REDIRECTED)
  if (moved.length > 0) {
    const found = await nodes.ask(moved[0] as string, client => question(commands => oneByOne(client, commands), moved))
    moved.forEach((key, index) => answers.set(key, found[index] as T))
  }
  return keys.map(key => answers.get(key) as T)
}

/** Keys that one step looks at, well below a millisecond for Redis. */
const SCAN_COUNT = 1000

/** Repeats some keys (https://redis.io/docs/latest/commands/scan/); leaves out names that are not UTF-8. @throws StoreError */
async function * scanNode ({ client, ask, remark }: RedisConnection, prefix: string): AsyncGenerator<readonly string[]> {
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

/** A wrong form means that replies no longer match commands: the connection is closed and opened anew. @throws Error */
function checkPage (client: RedisConnection['client'], reply: [cursor: Buffer, keys: Buffer[]]): [cursor: Buffer, keys: Buffer[]] {
  if (Array.isArray(reply) && reply.length === 2 && Array.isArray(reply[1])) return reply
  client.disconnect(true)
  throw new Error('Command queue state error: SCAN is answered with something else')
}

function escapeGlob (text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&')
}
