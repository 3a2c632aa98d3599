import { type Redis } from 'ioredis'
import { redirection } from './cluster-route.ts'
import { decodeBytes, tooLarge } from '../decode-bytes.ts'
import { isWithheld } from './redis-problem.ts'
import { MAX_VALUE_BYTES, type StoredValue } from '../store.ts'

/** The most keys that are read in one round trip. Building and parsing more would block the event loop for over 10 ms. */
const BATCH_KEYS = 250

/**
 * The most bytes of each value that the first read of a batch fetches. A batch is then at most 250 * 64 KiB large, so that a few hundred large values
 * cannot make every read exceed the command timeout. Nearly all values are shorter and need no second read.
 */
const FIRST_LOOK_BYTES = 64 * 1024

/** The most values that are read in one round trip, of those that are longer than `FIRST_LOOK_BYTES`. */
const BATCH_LONG_KEYS = 8

/** The answer that another node of a Redis Cluster has the key. `to` is the error's message: `MOVED 3999 127.0.0.1:6381`, or `ASK …`. */
export interface Redirected { readonly kind: 'redirected', readonly to: string }

/** Whether an answer only says that another node of the cluster has the key. */
export function isRedirected (answer: unknown): answer is Redirected {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'redirected'
}

type NodeValue = StoredValue | Redirected

/** The result of one read of a key: a value, a value that is longer than what was read, or a key that holds no string. */
type Look = NodeValue | { readonly kind: 'long' } | { readonly kind: 'wrongType' }

type Command = readonly [name: string, ...words: Array<string | number>]

/**
 * Reads the values of keys, in their order, in one round trip for each 250 keys. Large values and wrong types take further round trips. Of a value over
 * the size limit, only the beginning is fetched.
 * @param isAsking whether every command must be preceded by ASKING, because an ASK has led to this node
 * @throws what the client throws when the node could not be asked
 */
export async function readValues (node: Redis, keys: readonly string[], isAsking = false): Promise<NodeValue[]> {
  const values: NodeValue[] = []
  for (const batch of batches(keys, BATCH_KEYS)) values.push(...await readBatch(commands => execute(node, commands, isAsking), batch))
  return values
}

/**
 * Tells of each key whether it exists, in the order of the keys, in one round trip for each 250 keys.
 * @param isAsking as in `readValues`
 * @throws what the client throws when the node could not be asked
 */
export async function keysExist (node: Redis, keys: readonly string[], isAsking = false): Promise<Array<boolean | Redirected>> {
  const answers: Array<boolean | Redirected> = []
  for (const batch of batches(keys, BATCH_KEYS)) {
    const replies = await execute(node, batch.map(key => ['exists', key]), isAsking)
    for (const reply of replies) {
      const to = redirection(reply)
      // If the Redis user has no right to read the key, the reply is an error, and the key counts as existing. Reading the key reports what is wrong.
      answers.push(to === undefined ? reply !== 0 : { kind: 'redirected', to })
    }
  }
  return answers
}

/** Sends commands in one round trip. An error that concerns one key only is a result. */
type Execute = (commands: readonly Command[]) => Promise<unknown[]>

async function readBatch (execute: Execute, keys: readonly string[]): Promise<NodeValue[]> {
  const looks = await look(execute, keys, FIRST_LOOK_BYTES)
  const keysThatAre = (kind: Look['kind']): string[] => keys.filter((_, index) => looks[index]?.kind === kind)
  const settled = new Map([
    ...await readLong(execute, keysThatAre('long')),
    ...await nameTypes(execute, keysThatAre('wrongType'))
  ])
  return looks.map((found, index) => settled.get(keys[index] as string) ?? settle(found))
}

/**
 * Reads values of at most `bytes` bytes; of a longer one only the beginning is fetched. GETRANGE is used, because GET would fetch a value of 50 MB, and
 * MGET hides a wrong type as a missing key. GETRANGE gives `''` for a missing key and for an empty value; PTTL tells them apart (-2 for a missing key).
 */
async function look (execute: Execute, keys: readonly string[], bytes: number): Promise<Look[]> {
  const askedAt = Date.now()
  const replies = await execute(keys.flatMap((key): Command[] => [['getrange', key, 0, bytes], ['pttl', key]]))
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
    // The value's remaining lifetime counts from before the commands were sent, so that this service does not keep the value longer than Redis.
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
    looks.forEach((found, index) => values.set(batch[index] as string, settle(found)))
  }
  return values
}

async function nameTypes (execute: Execute, keys: readonly string[]): Promise<Map<string, NodeValue>> {
  if (keys.length === 0) return new Map()
  const types = await execute(keys.map(key => ['type', key])).catch((error: unknown) => {
    // When the Redis user is not allowed to use TYPE, only the name of the type is missing. The other keys are read nevertheless.
    if (isWithheld(error)) return keys.map(() => 'key of another type')
    throw error
  })
  return new Map(keys.map((key, index): [string, NodeValue] => {
    const to = redirection(types[index])
    return [key, to === undefined ? { kind: 'bad', reason: `is a Redis ${String(types[index])}; a string is needed` } : { kind: 'redirected', to }]
  }))
}

/** The result for a key after its last read. A key that changed since its first read counts as bad for now: its change is reported, so it is read again. */
function settle (found: Look): NodeValue {
  if (found.kind === 'long') return { kind: 'bad', reason: `has grown beyond ${MAX_VALUE_BYTES} bytes` }
  if (found.kind === 'wrongType') return { kind: 'bad', reason: 'has changed its Redis type' }
  return found
}

/** Sends commands as one pipeline. An error that concerns one key only is a result. @throws any other error: then no result of the pipeline is of use */
async function execute (node: Redis, commands: readonly Command[], isAsking: boolean): Promise<unknown[]> {
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
