import { ReplyError } from 'ioredis'
import { type RedisTarget } from './redis-url.ts'

const CLUSTER_NODE = 'is a node of a Redis Cluster, and was asked as a single Redis'

/** The meaning of the first word of an error reply: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['WRONGPASS', 'refuses the user name or password'],
  ['NOAUTH', 'asks for a password, and the Redis URL has none'],
  ['LOADING', 'is still loading its data'],
  ['BUSY', 'is busy running a script'],
  ['TRYAGAIN', 'is moving the keys to another node'],
  ['MASTERDOWN', 'is a replica that has lost its master'],
  ['NOREPLICAS', 'has too few replicas'],
  ['READONLY', 'is a read-only replica'],
  ['CLUSTERDOWN', 'belongs to a Redis Cluster that is down'],
  ['MOVED', CLUSTER_NODE],
  ['ASK', CLUSTER_NODE],
  ['CROSSSLOT', CLUSTER_NODE],
  ['DENIED', 'is in protected mode and refuses connections from other machines']
])

/** The meaning of the code of a network error. */
const NETWORK: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'refuses the connection'],
  ['ECONNRESET', 'has cut the connection'],
  ['EPIPE', 'has cut the connection'],
  ['ENOTFOUND', 'has a host name that cannot be resolved'],
  ['EAI_AGAIN', 'has a host name that cannot be resolved now'],
  ['ETIMEDOUT', 'does not answer'],
  ['EHOSTUNREACH', 'cannot be reached'],
  ['ENETUNREACH', 'cannot be reached']
])

/** The meaning of other errors, by the words that Redis or ioredis use; `<database>` is the number in the Redis URL. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/No such master/, 'is not known to the Sentinels'],
  [/^All sentinels are unreachable.*(?:NOAUTH|WRONGPASS|NOPERM)/, 'cannot be found: the Sentinels refuse the login'],
  [/^All sentinels are unreachable/, 'cannot be found: no Sentinel answers'],
  [/without any password configured|no password is set/i, 'has no password, and the Redis URL gives one'],
  [/invalid password/i, 'refuses the user name or password'],
  [/max number of clients/i, 'has too many clients'],
  [/DB index is out of range|invalid DB index/i, 'has no database <database>'],
  [/^NOPERM .*'select\b/i, 'does not let this user select database <database>'],
  [/SELECT is not allowed in cluster mode/i, CLUSTER_NODE],
  [/timed out|timeout/i, 'does not answer in time'],
  [/Unknown RESP type|Command queue state error|Please report this/, 'does not speak the Redis protocol']
]

/** Whether an error of ioredis says only that there is no connection, so that an earlier error says more. */
export function isLostConnection (error: Error): boolean {
  return /^(Stream isn't writeable|Connection is closed|Command aborted due to connection close|Reached the max retries per request limit)/.test(error.message)
}

/** Whether an error says that the connection was cut. That also happens after Redis has said why it ends the connection. */
export function isCutConnection (error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

/** Whether an error says that the service's Redis user is not allowed to use a command, or that Redis was started without the command. */
export function isWithheld (error: unknown): boolean {
  return error instanceof ReplyError && /^NOPERM|unknown command/i.test((error as Error).message)
}

/**
 * The reason why Redis could not be asked, in words for operators. The message of an error is never passed on unchanged: the text of a reply can
 * repeat the password (`ERR unknown command 'AUTH', with args beginning with: …`), and ioredis adds the arguments of AUTH to it.
 */
export function describeRedisError (error: Error, target: RedisTarget): string {
  return `Redis at ${target.address} ${meaning(error, target)}`
}

function meaning (error: Error, { secrets, options }: RedisTarget): string {
  const code = 'code' in error ? String(error.code) : ''
  const known = error instanceof ReplyError ? MEANINGS.get(error.message.split(' ', 1)[0] ?? '') : NETWORK.get(code)
  if (known !== undefined) return known
  if (isLostConnection(error)) return 'has closed the connection'
  const phrase = PHRASES.find(([pattern]) => pattern.test(error.message))
  return phrase?.[1].replace('<database>', String(options.db)) ?? `gives an error: ${withoutSecrets(firstLine(error.message), secrets)}`
}

/** Matches the part of an error in which Redis repeats the arguments of a command that it does not know: a key, a value, a script. */
const ARGUMENTS = /, with args beginning with: .*/

function firstLine (text: string): string {
  return text.split('\n', 1)[0]?.replace(ARGUMENTS, '').slice(0, 200) ?? ''
}

function withoutSecrets (text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}
