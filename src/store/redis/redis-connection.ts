import { setTimeout as delay } from 'node:timers/promises'
import { Redis, ReplyError, type RedisOptions } from 'ioredis'
import { createDatabaseCheck } from './redis-database.ts'
import { describeRedisError, isCutConnection, isLostConnection } from './redis-problem.ts'
import { watchSentinels } from './redis-sentinels.ts'
import { type RedisTarget } from './redis-url.ts'
import { type Log } from '../../base/log.ts'
import { StoreError } from '../store.ts'

/** The longest pause between two attempts to connect, in ms, so that the store is up to date within 2 s of Redis's return. */
const MAX_RECONNECT_MS = 500

/** The longest wait for Redis's answer to QUIT, in ms. */
const QUIT_MS = 500

/** The name of the service's connections in Redis's `CLIENT LIST`. */
const CONNECTION_NAME = 'ai-prompt-shell'

/** A Redis client that connects in the background, never gives up, and can say why it has no connection. */
export interface RedisConnection {
  readonly target: RedisTarget
  readonly client: Redis
  /**
   * Creates a second client of the same server, which connects when its `connect()` is called. It does not reconnect by itself: the caller has made
   * settings for that connection at the server, and these are lost with the connection.
   */
  createCompanion (): Redis
  /** Whether Redis is likely to answer a command now. */
  isConnected (): boolean
  /** The present trouble with the connection, in words for operators; `undefined` when there is none. */
  problem (): string | undefined
  /**
   * Calls a function that sends commands to Redis. The first calls wait until the first attempt to connect has ended, so that a service does not begin
   * with a failure that a wait of 10 ms would have avoided. Any error becomes a StoreError; `problem` then gives its reason, until a call succeeds.
   */
  ask<T> (question: () => Promise<T>): Promise<T>
  /** Logs that something about the stored keys is odd. A text is logged once, and again only after another text or `undefined` (nothing is odd). */
  remark (oddity: string | undefined): void
  /** Ends the connection; resolves within `QUIT_MS`, whatever Redis does. */
  close (): Promise<void>
}

/** Creates a client and begins to connect. It returns at once, also while Redis is away. @param commandTimeout the longest wait for an answer, in ms */
export function createRedisConnection (target: RedisTarget, commandTimeout: number, log?: Log): RedisConnection {
  const sentinels = target.options.sentinels === undefined ? undefined : watchSentinels(target, boundedOptions(commandTimeout), leaveMaster)
  const client = new Redis({
    ...target.options,
    ...boundedOptions(commandTimeout),
    // The name is set once the connection is ready, because otherwise ioredis would ignore the reply to the first command.
    connectionName: '',
    // This function of ioredis translates addresses. Just before a connection begins it is called with the address of the master, which is noted here.
    ...(sentinels === undefined ? {} : { natMap: (address: string) => { sentinels.lead(address); return null } }),
    maxLoadingRetryTime: MAX_RECONNECT_MS,
    retryStrategy: pause,
    sentinelCommandTimeout: commandTimeout,
    sentinelRetryStrategy: pause,
    // A command fails at once while there is no connection. The caller goes on with the data that it has, and asks again later.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false
  })
  const enterDatabase = createDatabaseCheck(client, target.options.db ?? 0)
  let problem: string | undefined = `Redis at ${target.address} is not connected yet`
  /** Whether Redis has answered with an error over the connection that is open now. */
  let isTold = false
  let closed = false
  let remarked: string | undefined
  /** Whether a Sentinel has answered that it knows no master of that name, since the client last began to ask all Sentinels in turn. */
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

  /** Notes an error of the client. An error that only says that there is no connection does not replace an earlier one that says why. */
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
  /** Notes that Redis is still loading its data: until that is done, the client waits silently before it is "ready". */
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
    // A Redis that accepts no more connections answers the first command with the reason, and closes the connection. The reason can be read only if the
    // client has written nothing more before that: writing to a closed connection is an error that ends everything at once.
    client.stream.once('data', () => setImmediate(noteLoading))
  })
  client.on('ready', () => {
    enterDatabase().then(() => {
      clear()
      log?.info({ redis: target.address }, 'Redis is connected')
    }, noteError).finally(endAttempt)
    client.client('SETNAME', CONNECTION_NAME).catch(() => {})
  })

  return {
    target,
    client,
    createCompanion () {
      const { name, sentinels, ...direct } = target.options
      return new Redis({
        ...direct,
        // Without Sentinels, the configured host is used, because a TLS certificate is made for it. With Sentinels, the configuration does not name the
        // server, so the second client uses the address to which the first one is connected.
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
        // `problem` is cleared only when the client is ready, since Redis answers some commands also while it is loading its data.
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

/** The options of every connection, so that nothing waits for ever. */
function boundedOptions (commandTimeout: number) {
  return {
    // Nothing here needs RESP3, and ioredis 6 does not pass on the messages that RESP3 pushes. CLIENT TRACKING works over two RESP2 connections.
    protocol: 2,
    connectionName: CONNECTION_NAME,
    disableClientInfo: true,
    commandTimeout,
    connectTimeout: commandTimeout,
    // A frozen or vanished host leaves its connection open for minutes, so after this time the connection is ended together with the command.
    socketTimeout: commandTimeout,
    disconnectTimeout: QUIT_MS
  } satisfies RedisOptions
}

/** The address of the server at the other end of a connection. */
function peerOf ({ stream: { remoteAddress: host, remotePort: port } }: Redis): Pick<RedisOptions, 'host' | 'port'> {
  return host === undefined || port === undefined ? {} : { host, port }
}

/** How long to wait before the next attempt to connect, in ms. */
function pause (attempt: number): number {
  return Math.min(attempt * 50, MAX_RECONNECT_MS)
}

/** Ends a connection with QUIT, which waits for the answers to earlier commands. A frozen Redis never gives them, so the wait is bounded. */
async function quit (client: Redis): Promise<void> {
  const timer = new AbortController()
  await Promise.race([
    client.quit().catch(() => {}),
    delay(QUIT_MS, undefined, { signal: timer.signal }).catch(() => {})
  ])
  timer.abort()
}
