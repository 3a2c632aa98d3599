import { isUtf8 } from 'node:buffer'
import { type Redis, ReplyError } from 'ioredis'
import type { Log } from '../../runtime/telemetry.ts'
import { decodeBytes, tooLarge } from '../decode-value.ts'
import {
  type Expected, kindPrefix, MAX_VALUE_BYTES, type RemoveOutcome, type Store, type StoredValue, StoreError, type StoreKeys, type WriteOutcome,
  type WriteRefusal
} from '../store.ts'
import { changeInCluster, type ClusterRoute, followRedirection, MAX_REDIRECTIONS, redirection, RedisCluster } from './cluster-nodes.ts'
import { createRedisConnection, isWithheld, type RedisConnection } from './redis-connection.ts'
import { createRedisPush, type RedisPush } from './redis-push.ts'
import { parseRedisUrl, type RedisClusterPlace, type RedisTarget } from './redis-url.ts'

/** Per round trip: more would block the event loop for over 10 ms. */
const BATCH_KEYS = 250

/** In bytes: bounds a batch to 250 * 64 KiB, so that large values cannot exceed the command timeout. */
const FIRST_LOOK_BYTES = 64 * 1024

/** Per round trip, of values longer than `FIRST_LOOK_BYTES`. */
const BATCH_LONG_KEYS = 8

interface Redirected { readonly kind: 'redirected', readonly to: string }

function isRedirected (answer: unknown): answer is Redirected {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'redirected'
}

type NodeValue = StoredValue | Redirected

type Look = NodeValue | { readonly kind: 'long' } | { readonly kind: 'wrongType' }

type RedisCommand = readonly [name: string, ...words: Array<string | number>]

/** `isAsking`: an ASK has led to this node. @throws the client's error when the node could not be asked */
async function readValues (node: Redis, keys: readonly string[], isAsking = false): Promise<NodeValue[]> {
  const values: NodeValue[] = []
  for (const batch of batches(keys, BATCH_KEYS)) values.push(...await readBatch(commands => execute(node, commands, isAsking), batch))
  return values
}

/** @throws the client's error when the node could not be asked */
async function keysExist (node: Redis, keys: readonly string[], isAsking = false): Promise<Array<boolean | Redirected>> {
  const answers: Array<boolean | Redirected> = []
  for (const batch of batches(keys, BATCH_KEYS)) {
    const replies = await execute(node, batch.map(key => ['exists', key]), isAsking)
    for (const reply of replies) {
      const to = redirection(reply)
      // Without the right to read it, the key counts as existing; reading it reports what is wrong.
      answers.push(to === undefined ? reply !== 0 : { kind: 'redirected', to })
    }
  }
  return answers
}

type Execute = (commands: readonly RedisCommand[]) => Promise<unknown[]>

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
    const to = redirection(range) ?? redirection(life)
    if (to !== undefined) return { kind: 'redirected', to }
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
  return new Map(keys.map((key, index): [string, NodeValue] => {
    const to = redirection(types[index])
    return [key, to === undefined ? { kind: 'bad', reason: `is a Redis ${String(types[index])}; a string is needed` } : { kind: 'redirected', to }]
  }))
}

/** A key that changed since its first read is bad for now: its change is reported, and it is read again. */
function finalValue (found: Look): NodeValue {
  if (found.kind === 'long') return { kind: 'bad', reason: `has grown beyond ${MAX_VALUE_BYTES} bytes` }
  if (found.kind === 'wrongType') return { kind: 'bad', reason: 'has changed its Redis type' }
  return found
}

/** An error of one key is a result. @throws any other error: then no result is of use */
async function execute (node: Redis, commands: readonly RedisCommand[], isAsking: boolean): Promise<unknown[]> {
  const pipeline = node.pipeline()
  for (const [name, ...words] of commands) {
    if (isAsking) pipeline.asking()
    if (name === 'getrange') pipeline.callBuffer(name, ...words)
    else pipeline.call(name, ...words)
  }
  const replies = await pipeline.exec() ?? []
  return replies.filter((_, index) => !isAsking || index % 2 === 1).map(([error, value]) => {
    if (error === null) return value
    if (!/^WRONGTYPE|^MOVED|^ASK|^NOPERM .*\bkeys?\b/.test(error.message)) throw error
    return error
  })
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
function writeValue (client: Redis, key: string, text: string, expected: Expected | undefined): Promise<WriteOutcome> {
  return change(client, key, expected, [text]) as Promise<WriteOutcome>
}

/** @throws the client's error when the node could not be asked */
function removeValue (client: Redis, key: string, expected: Expected | undefined): Promise<RemoveOutcome> {
  return change(client, key, expected, []) as Promise<RemoveOutcome>
}

async function change (client: Redis, key: string, expected: Expected | undefined, text: readonly string[]): Promise<unknown> {
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

interface RedisStoreOptions {
  readonly url: string
  readonly sentinelPassword?: string
  readonly keys: StoreKeys
  /** In ms; without it, a frozen Redis would never let a read end. @default 2000 */
  readonly commandTimeout?: number
  readonly log?: Log
}

/** Opens also while Redis is away. @throws StoreError when `parseRedisUrl` refuses the URL */
export function createRedisStore ({ url, sentinelPassword, keys, commandTimeout = 2000, log }: RedisStoreOptions): Store {
  const place = parseRedisUrl(url, sentinelPassword)
  const push = createRedisPush({ prefixes: keys.kinds.map(({ key }) => kindPrefix(keys.prefix, key)), patience: commandTimeout, log })
  if (place.kind === 'single') return createRedisSingleStore(createRedisConnection(place.target, commandTimeout, log), push)
  return createRedisClusterStore(place, target => createRedisConnection(target, commandTimeout, log), push)
}

/** Owns `connection` and `push`, and closes them. */
function createRedisSingleStore (connection: RedisConnection, push: RedisPush): Store {
  const { client, ask, target: { address } } = connection
  let isKnownToBeWhole = false
  client.on('ready', () => { isKnownToBeWhole = false })
  push.follow([connection])

  /** A node of a cluster would list only its own keys, without an error. */
  async function assertWhole (): Promise<void> {
    if (isKnownToBeWhole) return
    if (await isClusterNode(client)) {
      throw new StoreError(`Redis at ${address} is a node of a Redis Cluster and holds only a part of the keys; name it as redis+cluster://`)
    }
    isKnownToBeWhole = true
  }

  function notElsewhere<T> (answer: T | Redirected): T {
    if (isRedirected(answer)) throw new StoreError(`Redis at ${address} is a node of a Redis Cluster, and was asked as a single Redis`)
    return answer
  }

  return {
    variant: 'redis',
    async * scan (prefix) {
      await ask(assertWhole)
      yield * scanNode(connection, prefix)
    },
    read: async keys => keys.length === 0 ? [] : await ask(async () => (await readValues(client, keys)).map(notElsewhere)),
    has: async keys => keys.length === 0 ? [] : await ask(async () => (await keysExist(client, keys)).map(notElsewhere)),
    write: (key, text, expected) => ask(() => writeValue(client, key, text, expected)),
    remove: (key, expected) => ask(() => removeValue(client, key, expected)),
    watch: push.watch,
    status () {
      const problem = connection.problem()
      return { connected: connection.isConnected(), changes: push.changes(), ...(problem === undefined ? {} : { problem }) }
    },
    close () {
      push.close()
      return connection.close()
    }
  }
}

async function isClusterNode (client: Redis): Promise<boolean> {
  try {
    return /^cluster_enabled:1/m.test(await client.info('cluster'))
  } catch (error) {
    // A user without the right to INFO can still use a Redis that is no cluster.
    if (error instanceof Error && error.message.startsWith('NOPERM')) return false
    throw error
  }
}

/** In ms; a cluster does not report a failover. */
const LOOK_MS = 1000

/** Owns `push` and the connections, and closes them. Opens also while the cluster is away. */
function createRedisClusterStore (place: RedisClusterPlace, connect: (target: RedisTarget) => RedisConnection, push: RedisPush): Store {
  const cluster = new RedisCluster(place, connect, push.follow)
  let problem: string | undefined
  let isLooking = false
  const timer = setInterval(() => { void look() }, LOOK_MS).unref()
  void look()

  async function look (): Promise<void> {
    if (isLooking) return
    isLooking = true
    try {
      await cluster.look()
    } catch (error) {
      note(error)
      push.giveUp()
    } finally {
      isLooking = false
    }
  }

  function note (error: unknown): void {
    if (!(error instanceof StoreError)) throw error
    problem = error.message
  }

  return {
    variant: 'redis',
    async * scan (prefix) {
      try {
        yield * scanCluster(cluster, prefix)
        problem = undefined
      } catch (error) {
        note(error)
        throw error
      }
    },
    read: keys => askCluster(cluster, keys, readValues),
    has: keys => askCluster(cluster, keys, keysExist),
    write: (key, text, expected) => changeInCluster(cluster, key, node => writeValue(node, key, text, expected)),
    remove: (key, expected) => changeInCluster(cluster, key, node => removeValue(node, key, expected)),
    watch: push.watch,
    nodes: { names: () => cluster.addresses(), of: key => cluster.addressOf(key) },
    status () {
      const members = cluster.members()
      const reason = problem ?? members.map(member => member.problem()).find(found => found !== undefined)
      const connected = reason === undefined && members.every(member => member.isConnected())
      return { connected, changes: push.changes(), ...(reason === undefined ? {} : { problem: reason }) }
    },
    async close () {
      clearInterval(timer)
      push.close()
      await cluster.close()
    }
  }
}

/**
 * Lists the keys of all masters of a cluster that begin with `prefix`, batch by batch. Some keys come twice, and some have perhaps been deleted
 * meanwhile. A key whose slot moves can be missed: it leaves one node before that node is scanned, and comes to the other one after that was scanned.
 * So when a slot moves meanwhile, all nodes are scanned a second time: a key that moves once stands still during one of the two scans.
 * @throws StoreError when a node cannot be asked, or the nodes do not serve every slot exactly once
 */
async function * scanCluster (cluster: RedisCluster, prefix: string): AsyncGenerator<readonly string[]> {
  const before = await cluster.census()
  yield * scanAll(before.masters, prefix)
  const after = await cluster.census()
  if (before.signature === after.signature && !before.isMoving && !after.isMoving) return
  yield * scanAll(after.masters, prefix)
  await cluster.census()
}

async function * scanAll (masters: readonly RedisConnection[], prefix: string): AsyncGenerator<readonly string[]> {
  for (const master of masters) yield * scanNode(master, prefix)
}

type AskNode<T> = (node: Redis, keys: readonly string[], isAsking: boolean) => Promise<ReadonlyArray<T | Redirected>>

/** https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding @throws StoreError */
async function askCluster<T> (cluster: RedisCluster, keys: readonly string[], askNode: AskNode<T>): Promise<T[]> {
  const answers = new Map<string, T>()
  let routes = new Map<string, ClusterRoute>()
  for (const key of keys) routes.set(key, { member: await cluster.owner(key), isAsking: false })
  for (let redirections = 0; routes.size > 0; redirections++) {
    if (redirections > MAX_REDIRECTIONS) throw new StoreError('the nodes of the Redis Cluster do not agree on who serves a slot')
    routes = await askRoutes(cluster, routes, askNode, answers)
  }
  return keys.map(key => answers.get(key) as T)
}

async function askRoutes<T> (
  cluster: RedisCluster,
  routes: ReadonlyMap<string, ClusterRoute>,
  askNode: AskNode<T>,
  answers: Map<string, T>
): Promise<Map<string, ClusterRoute>> {
  const next = new Map<string, ClusterRoute>()
  await Promise.all(
    grouped(routes).map(async ([{ member, isAsking }, keys]) => {
      const results = await member.ask(() => askNode(member.client, keys, isAsking))
      for (const [index, key] of keys.entries()) {
        const result = results[index] as T | Redirected
        if (isRedirected(result)) next.set(key, followRedirection(cluster, result.to, member))
        else answers.set(key, result)
      }
    })
  )
  return next
}

function grouped (routes: ReadonlyMap<string, ClusterRoute>): Array<[ClusterRoute, string[]]> {
  const groups: Array<[ClusterRoute, string[]]> = []
  for (const [key, route] of routes) {
    const group = groups.find(([{ member, isAsking }]) => member === route.member && isAsking === route.isAsking)
    if (group === undefined) groups.push([route, [key]])
    else group[1].push(key)
  }
  return groups
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
