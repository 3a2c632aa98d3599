import assert from 'node:assert/strict'
import { type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { StoreError, type Store } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { startRawServer } from '../helpers/raw-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { quietLog } from '../helpers/quiet-log.ts'

/** What a command is answered with, by its name; a function may write what it likes. */
type Answers = Readonly<Record<string, string | ((socket: Socket, words: readonly string[]) => void)>>

const GREETING: Answers = { CLIENT: '+OK\r\n', INFO: '$9\r\nloading:0\r\n', AUTH: '+OK\r\n', QUIT: '+OK\r\n' }

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`
const page = (cursor: string, keys: readonly string[]): string => `*2\r\n${bulk(cursor)}*${keys.length}\r\n${keys.map(bulk).join('')}`

/** A store over a server that speaks as Redis does, except for `answers`. */
async function open (t: TestContext, answers: Answers, password = ''): Promise<{ store: Store, at: string, warnings: string[] }> {
  const server = await startRawServer((socket, data) => {
    for (const words of commands(data)) {
      const answer = { ...GREETING, ...answers }[words[0]?.toUpperCase() ?? ''] ?? '-ERR unknown command\r\n'
      if (typeof answer === 'string') socket.write(answer)
      else answer(socket, words)
    }
  })
  t.after(server.stop)
  const warnings: string[] = []
  const log = quietLog({ warn: (_fields: unknown, message?: string) => { warnings.push(message ?? '') } })
  const store = createRedisStore({ keys: storeKeys(), url: `redis://${password}127.0.0.1:${server.port}`, commandTimeout: 200, log })
  t.after(() => store.close())
  return { store, at: `Redis at 127.0.0.1:${server.port}`, warnings }
}

/** Begins a reply and hears nothing more: what answered another command would become part of it. */
function lastWords (text: string): (socket: Socket) => void {
  return socket => {
    socket.write(text)
    socket.removeAllListeners('data')
  }
}

/** The commands of one chunk: `*2\r\n$4\r\nINFO\r\n$7\r\ncluster\r\n` is `['INFO', 'cluster']`. */
function commands (data: string): string[][] {
  return data.split(/^\*\d+\r\n/m).filter(Boolean).map(command => command.split('\r\n').filter((_, index) => index % 2 === 1))
}

async function connected (store: Store): Promise<void> {
  await waitFor('the store to be connected', () => store.status().connected)
}

const ERROR_REPLIES: readonly [string, string][] = [
  ['LOADING Redis is loading the dataset in memory', 'is still loading its data'],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'is busy running a script'],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'is a replica that has lost its master'],
  ["READONLY You can't write against a read only replica.", 'is a read-only replica'],
  ['CLUSTERDOWN Hash slot not served', 'belongs to a Redis Cluster that is down'],
  ['MOVED 3999 127.0.0.1:6381', 'is a node of a Redis Cluster, and was asked as a single Redis'],
  ['NOAUTH Authentication required.', 'asks for a password, and the Redis URL has none'],
  ["NOPERM this user has no permissions to run the 'scan' command", "gives an error: NOPERM this user has no permissions to run the 'scan' command"],
  ["ERR unknown command 'SCAN', with args beginning with: '0' 'MATCH' ", "gives an error: ERR unknown command 'SCAN'"],
  ['ERR something new', 'gives an error: ERR something new']
]

/** What Redis answers the first command of a connection with that it does not take. */
const FAREWELLS: ReadonlyArray<readonly [reply: string, meaning: string, login?: string]> = [
  ['ERR max number of clients reached', 'has too many clients'],
  ['ERR max number of clients reached', 'has too many clients', ':secret@'],
  ['DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user.', 'is in protected mode and refuses connections from other machines']
]

const READ_ONLY = 'read-only'
const CANNOT_SAVE = { kind: 'refused', reason: 'Redis cannot save its data to disk, and takes no changes until it can' }
const FULL = { kind: 'refused', reason: 'Redis has reached its maxmemory' }

/** As Redis 7 and Redis 6 say it when a script may not write. */
const WRITE_REFUSALS: readonly [string, unknown][] = [
  ['MISCONF Redis is configured to save RDB snapshots, but it\'s currently unable to persist to disk. script: 8d0c, on @user_script:7.', CANNOT_SAVE],
  ['ERR Error running script (call to f_8d0c): @user_script:7: @user_script: 7: -MISCONF Errors writing to the AOF file: No space left on device', CANNOT_SAVE],
  ["ERR Error running script (call to f_8d0c): @user_script:7: -OOM command not allowed when used memory > 'maxmemory'.", FULL],
  ["ERR Error running script (call to f_8d0c): @user_script:7: -READONLY You can't write against a read only replica.", READ_ONLY],
  ["ERR unknown command 'eval', with args beginning with: ' local exists", READ_ONLY],
  ['ERR Unknown Redis command called from script script: 8d0c, on @user_script:6.', READ_ONLY],
  ['ERR Error running script (call to f_8d0c): @user_script:6: @user_script: 6: Unknown Redis command called from Lua script', READ_ONLY]
]

describe('Redis store, replies', () => {
  for (const [reply, outcome] of WRITE_REFUSALS) {
    test(`takes for a refusal of a change, and no trouble of the connection: ${reply}`, async t => {
      const { store } = await open(t, { EVAL: `-${reply}\r\n` })
      await connected(store)
      assert.deepEqual(await store.write('shenma:tools:a', '1'), outcome)
      assert.equal(store.status().connected, true)
    })
  }

  for (const [reply, meaning] of ERROR_REPLIES) {
    test(`explains ${reply.split(' ', 1)[0]}: ${meaning}`, async t => {
      const { store, at } = await open(t, { SCAN: `-${reply}\r\n`, GETRANGE: `-${reply}\r\n`, PTTL: `-${reply}\r\n` })
      await connected(store)
      await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} ${meaning}`))
      await assert.rejects(store.read(['shenma:tools:a', 'shenma:tools:b']), new StoreError(`${at} ${meaning}`))
    })
  }

  test('gives no names when a listing fails half-way', async t => {
    const { store, at } = await open(t, {
      SCAN: (socket, words) => socket.write(words[1] === '0' ? page('7', ['shenma:tools:a']) : '-LOADING\r\n')
    })
    await connected(store)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} is still loading its data`))
  })

  test('gives no values when a read fails half-way', async t => {
    const { store, at } = await open(t, { GETRANGE: bulk('1'), PTTL: (socket) => socket.destroy() })
    await connected(store)
    await assert.rejects(store.read(['shenma:tools:a']), new StoreError(`${at} has closed the connection`))
  })

  test('gives a name once that a listing repeats', async t => {
    const { store } = await open(t, {
      SCAN: (socket, words) => socket.write(words[1] === '0' ? page('7', ['shenma:a', 'shenma:b', 'shenma:a']) : page('0', ['shenma:b', 'shenma:c']))
    })
    await connected(store)
    assert.deepEqual(await listAll(store, 'shenma:'), ['shenma:a', 'shenma:b', 'shenma:c'])
  })

  test('fails when half a reply is all that comes', async t => {
    const { store, at } = await open(t, { SCAN: lastWords('*2\r\n$1\r\n0\r\n*2\r\n$8\r\nshenma:a\r\n') })
    await connected(store)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} does not answer in time`))
  })

  test('fails when a reply drips without end', async t => {
    const { store, at } = await open(t, {
      SCAN: socket => {
        lastWords('*2\r\n$1\r\n0\r\n*1\r\n$1000000\r\n')(socket)
        const drip = setInterval(() => socket.write('a'), 20)
        socket.on('close', () => clearInterval(drip))
      }
    })
    await connected(store)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} does not answer in time`))
  })

  test('fails when the connection ends after half a reply', async t => {
    const { store, at } = await open(t, { SCAN: socket => socket.end('*2\r\n$1\r\n0\r\n*2\r\n$8\r\nshen') })
    await connected(store)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} has closed the connection`))
  })

  test('fails on garbage in the place of a reply, and connects again', async t => {
    const { store, at } = await open(t, { SCAN: 'HTTP/1.1 400 Bad Request\r\n\r\n' })
    await connected(store)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} does not speak the Redis protocol`))
    await connected(store)
  })

  test('fails on a reply to another command, and connects again', async t => {
    const { store, at } = await open(t, { SCAN: page('0', []).replace('*0', '+OK') })
    await connected(store)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} does not speak the Redis protocol`))
    await connected(store)
  })

  test('says that a server which talks another protocol does not speak that of Redis', async t => {
    const { store, at } = await open(t, { INFO: 'HTTP/1.1 400 Bad Request\r\n\r\n' })
    await waitFor('the notice', () => store.status().problem === `${at} does not speak the Redis protocol`)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} does not speak the Redis protocol`))
  })

  test('says that a server which never answers does not answer', async t => {
    const { store, at } = await open(t, { CLIENT: () => {}, INFO: () => {} })
    await waitFor('the notice', () => store.status().problem === `${at} does not answer in time`)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`${at} does not answer in time`))
  })

  for (const [reply, meaning, login = ''] of FAREWELLS) {
    test(`keeps in mind why a Redis hangs up${login === '' ? '' : ' on a login'}: ${meaning}`, async t => {
      let tries = 0
      const hangUp = (socket: Socket): void => {
        tries++
        socket.write(`-${reply}\r\n`, () => socket.resetAndDestroy())
      }
      const { store, at, warnings } = await open(t, { INFO: hangUp, AUTH: hangUp }, login)
      await waitFor('some tries', () => tries >= 4)
      assert.equal(store.status().problem, `${at} ${meaning}`)
      assert.deepEqual(warnings, [`${at} ${meaning}`])
    })
  }

  test('logs a trouble once, however often it connects', async t => {
    let tries = 0
    const { store, at, warnings } = await open(t, { INFO: socket => { tries++; socket.write('HTTP/1.1 400\r\n') } })
    await waitFor('some tries', () => tries >= 4)
    await assert.rejects(listAll(store, 'shenma:'))
    assert.deepEqual(warnings, [`${at} does not speak the Redis protocol`])
  })

  test('never shows a password that the server repeats', async t => {
    const { store, at, warnings } = await open(t, { AUTH: "-ERR AUTH is no command, and has 's3cr:t' \r\n" }, ':s3cr%3At@')
    await waitFor('the notice', () => store.status().problem?.includes('AUTH'))
    const expected = `${at} gives an error: ERR AUTH is no command, and has '***' `
    await assert.rejects(listAll(store, 'shenma:'), error => error instanceof StoreError && error.message === expected && error.cause === undefined)
    assert.deepEqual(warnings, [expected])
  })
})
