import { type ChainableCommander } from 'ioredis'
import { decodeValue, tooLarge } from './decode-value.ts'
import { type RedisClient } from './redis-client.ts'
import { groupByNode } from './redis-nodes.ts'
import { MAX_VALUE_BYTES, StoreError, type StoredValue } from './store.ts'

/** How many keys are asked for in one round trip; making and taking apart more would hold up the event loop for over 10 ms. */
const BATCH_KEYS = 250

/**
 * How much of every value the first look takes, in bytes. It bounds what one batch can weigh (250 * 64 KiB), so that a few
 * hundred large values cannot push every read over the command timeout; nearly all values are below it and need no second look.
 */
const FIRST_LOOK_BYTES = 64 * 1024

/** How many values between `FIRST_LOOK_BYTES` and `MAX_VALUE_BYTES` are asked for in one round trip. */
const BATCH_LONG_KEYS = 8

/** What a look found: a value, or that it is longer than the look, no string at all, or on its way to another node. */
type Look = StoredValue | { readonly kind: 'long' } | { readonly kind: 'wrongType' } | { readonly kind: 'moved' }

/**
 * The values of these keys, in their order, in one round trip per node and 250 keys. Large values and wrong types take one
 * or two more, as do keys that a cluster is moving. A value over the limit is never fetched.
 * @throws what the client throws when a node could not be asked
 */
export function readValues (client: RedisClient, keys: readonly string[]): Promise<StoredValue[]> {
  return inBatches(client, keys, batch => readBatch(client, batch))
}

/** Whether these keys exist, in their order. @throws what the client throws when a node could not be asked */
export function keysExist (client: RedisClient, keys: readonly string[]): Promise<boolean[]> {
  return inBatches(client, keys, async batch => {
    const found = await askEach(client, batch)
    const moved = batch.filter((_, index) => found[index] instanceof Error)
    const again = new Map(await Promise.all(moved.map(async key => [key, (await askEach(client, [key]))[0]] as const)))
    return batch.map((key, index) => {
      const answer = again.has(key) ? again.get(key) : found[index]
      if (answer instanceof Error) throw answer
      return answer === 1
    })
  })
}

function askEach (client: RedisClient, keys: readonly string[]): Promise<unknown[]> {
  const pipeline = client.pipeline()
  for (const key of keys) pipeline.exists(key)
  return execute(client, pipeline)
}

/** Asks every node for its share at the same time, in batches, and puts the answers in the order of the keys. */
async function inBatches<T> (client: RedisClient, keys: readonly string[], ask: (keys: readonly string[]) => Promise<readonly T[]>): Promise<T[]> {
  const groups = groupByNode(client, keys)
  const answers = await Promise.all(groups.map(async group => {
    const all: T[] = []
    for (const batch of batches(group, BATCH_KEYS)) all.push(...await ask(batch))
    return all
  }))
  if (groups.length === 1) return answers[0] as T[]
  const byKey = new Map(groups.flatMap((group, index) => group.map((key, position) => [key, (answers[index] as T[])[position] as T] as const)))
  return keys.map(key => byKey.get(key) as T)
}

async function readBatch (node: RedisClient, keys: readonly string[]): Promise<StoredValue[]> {
  const looks = await look(node, keys, FIRST_LOOK_BYTES)
  const moved = keys.filter((_, index) => looks[index]?.kind === 'moved')
  // One by one the client follows where the cluster sends it.
  const found = new Map(await Promise.all(moved.map(async key => [key, (await look(node, [key], FIRST_LOOK_BYTES))[0] as Look] as const)))
  return await settleAll(node, keys, looks.map((each, index) => found.get(keys[index] as string) ?? each))
}

async function settleAll (node: RedisClient, keys: readonly string[], looks: readonly Look[]): Promise<StoredValue[]> {
  const keysThatAre = (kind: Look['kind']): string[] => keys.filter((_, index) => looks[index]?.kind === kind)
  const settled = new Map([
    ...await readLong(node, keysThatAre('long')),
    ...await nameTypes(node, keysThatAre('wrongType'))
  ])
  return looks.map((found, index) => settled.get(keys[index] as string) ?? settle(found))
}

/**
 * Takes at most `bytes` bytes of every key. GETRANGE, because GET would fetch a value of 50 MB, and MGET hides a wrong type as a
 * missing key. GETRANGE gives `''` for a missing key; PTTL tells it (-2) from an empty one (-1).
 */
async function look (node: RedisClient, keys: readonly string[], bytes: number): Promise<Look[]> {
  const askedAt = Date.now()
  const pipeline = node.pipeline()
  for (const key of keys) pipeline.getrangeBuffer(key, 0, bytes).pttl(key)
  const replies = await execute(node, pipeline)
  return keys.map((_, index): Look => {
    const range = replies[2 * index]
    const life = replies[2 * index + 1]
    if (isRedirection(range) || isRedirection(life)) return { kind: 'moved' }
    if (range instanceof Error) return range.message.startsWith('WRONGTYPE') ? { kind: 'wrongType' } : forbidden
    if (life === -2) return { kind: 'missing' }
    const value = range as Buffer
    if (value.length > bytes) return { kind: 'long' }
    // Counted from before the question, so that no value is held longer than Redis holds it.
    return decodeValue(value, typeof life === 'number' && life >= 0 ? askedAt + life : undefined)
  })
}

const forbidden: StoredValue = { kind: 'bad', reason: 'may not be read by this Redis user' }

async function readLong (node: RedisClient, keys: readonly string[]): Promise<Map<string, StoredValue>> {
  const values = new Map<string, StoredValue>()
  if (keys.length === 0) return values
  const pipeline = node.pipeline()
  for (const key of keys) pipeline.strlen(key)
  const lengths = await execute(node, pipeline)
  keys.forEach((key, index) => {
    const length = lengths[index]
    if (typeof length === 'number' && length > MAX_VALUE_BYTES) values.set(key, tooLarge(length))
  })

  for (const batch of batches(keys.filter(key => !values.has(key)), BATCH_LONG_KEYS)) {
    const looks = await look(node, batch, MAX_VALUE_BYTES)
    looks.forEach((found, index) => values.set(batch[index] as string, settle(found)))
  }
  return values
}

async function nameTypes (node: RedisClient, keys: readonly string[]): Promise<Map<string, StoredValue>> {
  if (keys.length === 0) return new Map()
  const pipeline = node.pipeline()
  for (const key of keys) pipeline.type(key)
  const types = await execute(node, pipeline)
  return new Map(keys.map((key, index) => [key, { kind: 'bad', reason: `is a Redis ${String(types[index])}; a string is needed` }]))
}

/** A look that no second one follows: the key has changed between two of them, and its next change is told anyway. */
function settle (found: Look): StoredValue {
  if (found.kind === 'moved') throw new StoreError('the Redis Cluster is moving keys from node to node')
  if (found.kind === 'long') return { kind: 'bad', reason: `has grown beyond ${MAX_VALUE_BYTES} bytes` }
  if (found.kind === 'wrongType') return { kind: 'bad', reason: 'has changed its Redis type' }
  return found
}

/**
 * Sends a pipeline. An error that concerns one key only is a result.
 * @throws any other error: then nothing of the pipeline counts
 */
async function execute (client: RedisClient, pipeline: ChainableCommander): Promise<unknown[]> {
  const replies = await pipeline.exec() ?? []
  return replies.map(([error, value]) => {
    if (error === null) return value
    const concernsOneKey = /^WRONGTYPE|^NOPERM .*\bkeys?\b/.test(error.message) || (client.isCluster && isRedirection(error))
    if (!concernsOneKey) throw error
    return error
  })
}

/** While a slot is on its way, some of its keys are at the old node still and the others at the new one. */
function isRedirection (reply: unknown): boolean {
  return reply instanceof Error && /^(MOVED|ASK|TRYAGAIN) /.test(reply.message)
}

function * batches<T> (items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
