import { ReplyError, type Redis } from 'ioredis'
import { type Expected, type RemoveOutcome, type WriteOutcome, type WriteRefusal } from '../store.ts'

/**
 * The Lua script that checks a key and changes it in one step. WATCH could do the same, but would need a connection of its own. The script touches
 * one key only, so that it runs on any node of a cluster. A key of another type, for which GET fails, does not equal any text. `ARGV`: what is
 * expected (`anything`, `missing` or `text`), the expected text, and the new text if there is one.
 */
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

/**
 * The errors by which Redis refuses a change while it goes on answering: they are no trouble of the connection. Inside a script the error's code
 * comes after other words. The error about a renamed command has no code, and in Redis 6 and earlier neither has the error about a missing permission.
 * https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors
 */
const REFUSALS: ReadonlyArray<readonly [RegExp, WriteRefusal]> = [
  [/\b(?:NOPERM|READONLY)\b|user executing the script can't|unknown (?:redis )?command/i, 'read-only'],
  [/\bOOM\b/, refused('Redis has reached its maxmemory')],
  [/\bMISCONF\b/, refused('Redis cannot save its data to disk, and takes no changes until it can')],
  [/\bNOREPLICAS\b/, refused('Redis has too few replicas that are in step with it')]
]

/** Stores a text under a key. @throws what the client throws when the node could not be asked */
export function writeValue (client: Redis, key: string, text: string, expected: Expected | undefined): Promise<WriteOutcome> {
  return change(client, key, expected, [text]) as Promise<WriteOutcome>
}

/** Removes a key. @throws what the client throws when the node could not be asked */
export function removeValue (client: Redis, key: string, expected: Expected | undefined): Promise<RemoveOutcome> {
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
