import { setTimeout as delay } from 'node:timers/promises'
import { Redis, type RedisOptions, ReplyError } from 'ioredis'
import type { Log } from '../../runtime/telemetry.ts'
import { StoreError } from '../store.ts'
import type { RedisTarget } from './redis-url.ts'

const CLUSTER_NODE = 'is a node of a Redis Cluster, and was asked as a single Redis'

/** By the first word: https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors */
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

/** By the words of Redis or ioredis; `<database>` is the number in the Redis URL. */
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
  [/^Too many Cluster redirections/, 'does not agree with other nodes on who serves a slot'],
  [/timed out|timeout/i, 'does not answer in time'],
  [/Unknown RESP type|Command queue state error|Please report this/, 'does not speak the Redis protocol']
]

/** An earlier error says more than such an error. */
export function isLostConnection (error: Error): boolean {
  return /^(Stream isn't writeable|Connection is closed|Command aborted due to connection close|Reached the max retries per request limit)/.test(error.message)
}

/** The connection is also cut after Redis has said why it ends it. */
function isCutConnection (error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

/** The Redis user lacks the right, or Redis was started without the command. */
export function isWithheld (error: unknown): boolean {
  return error instanceof ReplyError && /^NOPERM|unknown command/i.test((error as Error).message)
}

/** Never passes on a message: the text can repeat the password (`ERR unknown command 'AUTH', with args …`). */
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

/** The end of an error by Redis, which repeats arguments of the command: keys and values must not get into the log. */
const ARGUMENTS = /, with args beginning with: .*/

function firstLine (text: string): string {
  return text.split('\n', 1)[0]?.replace(ARGUMENTS, '').slice(0, 200) ?? ''
}

function withoutSecrets (text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}

/** In ms, so that the store is up to date within 2 s of Redis's return. */
const MAX_RECONNECT_MS = 500

/** In ms. */
const QUIT_MS = 500

const CONNECTION_NAME = 'ai-prompt-shell'

/** Connects in the background, never gives up, and can say why it has no connection. */
export interface RedisConnection {
  readonly target: RedisTarget
  readonly client: Redis
  /** Does not reconnect: the settings that the caller made at the server are lost with the connection. */
  createCompanion (): Redis
  isConnected (): boolean
  problem (): string | undefined
  /** First calls wait for the first attempt to connect. Errors become StoreErrors; `problem` has the reason until a call succeeds. */
  ask<T> (question: () => Promise<T>): Promise<T>
  /** Logs a text once, and again only after another one or `undefined`. */
  remark (oddity: string | undefined): void
  /** Resolves within `QUIT_MS`, whatever Redis does. */
  close (): Promise<void>
}

/**
 * Returns at once, also while Redis is away. `commandTimeout` in ms.
 * @param node a client that a cluster has made. @default a new client
 */
export function createRedisConnection (target: RedisTarget, commandTimeout: number, log?: Log, node?: Redis): RedisConnection {
  const sentinels = target.options.sentinels === undefined ? undefined : watchSentinels(target, boundedOptions(commandTimeout), leaveMaster)
  const client = node ?? new Redis({
    ...target.options,
    ...nodeOptions(commandTimeout),
    // ioredis calls this address translation with the master's address just before it connects.
    natMap: sentinels === undefined ? undefined : (address: string) => { sentinels.lead(address); return null },
    retryStrategy: pause,
    sentinelCommandTimeout: commandTimeout,
    sentinelRetryStrategy: pause,
    // Commands fail at once without a connection: the caller goes on with the data that it has.
    enableOfflineQueue: false
  })
  const enterDatabase = createDatabaseCheck(client, target.options.db ?? 0)
  let problem: string | undefined = `Redis at ${target.address} is not connected yet`
  let isTold = false
  let closed = false
  let remarked: string | undefined
  let isUnknown = false
  let endAttempt = (): void => {}
  const attempted = new Promise<void>(resolve => { endAttempt = resolve })
  const patience = setTimeout(endAttempt, commandTimeout)

  function note (reason: string): void {
    if (closed || reason === problem) return
    problem = reason
    log?.warn({ redis: target.address }, reason)
  }

  function clear (): void {
    if (!closed) problem = undefined
  }

  /** A mere lack of connection does not replace an earlier error that says why. */
  function noteError (error: Error): string {
    const saysLess = isLostConnection(error) || (isTold && isCutConnection(error))
    const reason = problem !== undefined && saysLess ? problem : describeRedisError(error, target)
    isTold ||= error instanceof ReplyError
    note(reason)
    return reason
  }

  function leaveMaster (): void {
    if (client.status !== 'ready' || client.stream.writableEnded) return
    log?.info({ redis: target.address }, 'the Sentinels name another master')
    client.disconnect(true)
  }

  client.on('sentinelError', (error: Error) => { isUnknown ||= error.message.includes('invalid reply') })
  client.on('error', error => {
    const isRound = error.message.startsWith('All sentinels are unreachable')
    noteError(isRound && isUnknown ? new Error('No such master name') : error)
    if (isRound) isUnknown = false
    endAttempt()
  })
  client.on('close', () => {
    noteError(new Error('Connection is closed.'))
    endAttempt()
  })
  /** The client waits silently before it is "ready". */
  function noteLoading (): void {
    if (client.status !== 'connect') return
    client.info('persistence').then(text => {
      if (!/^loading:1/m.test(text)) return
      note(`Redis at ${target.address} is still loading its data`)
      endAttempt()
    }, () => {})
  }

  client.on('connect', () => {
    isTold = false
    // A full Redis says so in reply to the first command and closes; a second write would end everything before that can be read.
    client.stream.once('data', () => setImmediate(noteLoading))
  })
  const onReady = (): void => {
    enterDatabase().then(() => {
      clear()
      log?.info({ redis: target.address }, 'Redis is connected')
    }, noteError).finally(endAttempt)
    client.client('SETNAME', CONNECTION_NAME).catch(() => {})
  }
  client.on('ready', onReady)
  if (client.status === 'ready') onReady()
  if (client.status === 'wait') client.connect().catch(() => {})

  return {
    target,
    client,
    createCompanion () {
      const { name, sentinels, ...direct } = target.options
      return new Redis({
        ...direct,
        // TLS certificates are made for the configured host; with Sentinels, the address of the first connection is used.
        ...(sentinels === undefined ? {} : peerOf(client)),
        ...boundedOptions(commandTimeout),
        lazyConnect: true,
        retryStrategy: () => null,
        maxRetriesPerRequest: 0,
        autoResubscribe: false
      })
    },
    isConnected: () => client.status === 'ready' && problem === undefined,
    problem: () => problem,
    async ask (question) {
      await attempted
      try {
        await enterDatabase()
        const answer = await question()
        // Only when ready: Redis answers some commands also while it is loading its data.
        if (client.status === 'ready') clear()
        return answer
      } catch (error) {
        if (error instanceof StoreError) {
          note(error.message)
          throw error
        }
        throw new StoreError(noteError(error as Error))
      }
    },
    remark (oddity) {
      if (oddity !== undefined && oddity !== remarked) log?.warn({ redis: target.address }, oddity)
      remarked = oddity
    },
    async close () {
      if (closed) return
      closed = true
      clearTimeout(patience)
      endAttempt()
      problem = 'the store is closed'
      sentinels?.close()
      if (client.status === 'ready') await quit(client)
      client.disconnect()
    }
  }
}

/** Nothing may wait for ever. */
function boundedOptions (commandTimeout: number) {
  return {
    // ioredis 6 does not pass on what RESP3 pushes; CLIENT TRACKING works over two RESP2 connections.
    protocol: 2,
    connectionName: CONNECTION_NAME,
    disableClientInfo: true,
    commandTimeout,
    connectTimeout: commandTimeout,
    // A frozen or vanished host leaves its connection open for minutes.
    socketTimeout: commandTimeout,
    disconnectTimeout: QUIT_MS
  } satisfies RedisOptions
}

/** Of a connection that carries commands. */
export function nodeOptions (commandTimeout: number) {
  return {
    ...boundedOptions(commandTimeout),
    // Set once ready, because otherwise ioredis would ignore the reply to the first command.
    connectionName: '',
    maxLoadingRetryTime: MAX_RECONNECT_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false
  } satisfies RedisOptions
}

function peerOf ({ stream: { remoteAddress: host, remotePort: port } }: Redis): Pick<RedisOptions, 'host' | 'port'> {
  return host === undefined || port === undefined ? {} : { host, port }
}

export function pause (attempt: number): number {
  return Math.min(attempt * 50, MAX_RECONNECT_MS)
}

/** A frozen Redis never answers the earlier commands that QUIT waits for, so the wait is bounded. */
async function quit (client: Redis): Promise<void> {
  const timer = new AbortController()
  await Promise.race([
    client.quit().catch(() => {}),
    delay(QUIT_MS, undefined, { signal: timer.signal }).catch(() => {})
  ])
  timer.abort()
}

/**
 * Makes a function that selects a client's database, once for each connection. The function must be awaited before any key is touched: when SELECT is
 * refused, the client only emits an error, and goes on in database 0 (https://github.com/redis/ioredis/blob/main/lib/redis/event_handler.ts,
 * `errorHandler` of "select"). After a refusal the function asks again the next time, so that a user who is given the right needs no new connection.
 * @param database the number in the Redis URL
 * @returns the function; it rejects with what the client throws when the database cannot be selected
 */
export function createDatabaseCheck (client: Redis, database: number): () => Promise<void> {
  if (database === 0) return async () => {}
  let isSelected = false
  client.on('close', () => { isSelected = false })
  return async () => {
    if (isSelected) return
    // Not shared with other calls: the user has perhaps got the right only after theirs was sent.
    await client.select(database)
    isSelected = true
  }
}

/** Between two questions for the master, for each Sentinel, in ms. */
const ASK_MS = 1000

/** After a Sentinel has named a new master, the client leaves other servers for this time, in ms; the others usually agree in 2 s. */
const AGREE_MS = 10_000

/**
 * Asks the Sentinels of a URL every second whether another server has become the master. The client itself asks only when it connects. It can stay
 * connected to the earlier master for some 10 s, until the Sentinels make that a replica, and everything that it writes there meanwhile is lost. Only
 * a Sentinel that changes its answer counts: a Sentinel that is never up to date, or that spells the master's address in another way, must not end
 * connections.
 * @param onMoved called to connect anew, again and again until the client connects to the address that the Sentinel names
 */
export function watchSentinels (
  { options: { name = '', sentinels = [], sentinelPassword, sentinelTLS } }: RedisTarget,
  bounds: Omit<RedisOptions, 'replyMapping'>,
  onMoved: () => void
): { lead (address: string): void, close (): void } {
  const clients = sentinels.map(
    ({ host = '', port = 0 }) =>
      new Redis({
        ...bounds,
        host,
        port,
        password: sentinelPassword,
        tls: sentinelTLS,
        enableReadyCheck: false,
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        retryStrategy: () => ASK_MS
      })
  )
  const answers = new Map<Redis, string>()
  let led: string | undefined
  let named: string | undefined
  let until = -Infinity

  async function ask (client: Redis): Promise<void> {
    const answer: unknown = await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
    if (!Array.isArray(answer)) return
    const address = answer.join(':')
    const before = answers.get(client)
    answers.set(client, address)
    if (before !== undefined && before !== address) {
      named = address
      until = performance.now() + AGREE_MS
    }
    if (led !== named && performance.now() < until) onMoved()
  }

  for (const client of clients) {
    // The error is reported only when the client connects and needs the answer.
    client.on('error', () => {})
    // The first question comes at once, because only later answers can differ from it.
    client.on('ready', () => {
      ask(client).catch(() => {})
    })
  }
  const heartbeat = setInterval(() => {
    for (const client of clients) ask(client).catch(() => {})
  }, ASK_MS).unref()

  return {
    lead (address) {
      led = address
    },
    close () {
      clearInterval(heartbeat)
      for (const client of clients) client.disconnect()
    }
  }
}
