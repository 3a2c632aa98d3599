import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type App } from '../../src/http/app.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const GOOD = 100
const MEBIBYTE = 1024 * 1024

const GOOD_VALUES = {
  extensions: (index: number) => `{"name":"good${index}","version":"1.0.0","extensionType":"skill","contributes":{}}`,
  templates: (index: number) => `text ${index}`,
  environs: (index: number) => `"value ${index}"`,
  tools: (index: number) => `{"name":"good${index}","type":"restful","url":"http://127.0.0.1:9/x"}`,
  agents: (index: number) => `{"description":"good ${index}","mode":"tools","tools":[]}`,
  plans: (index: number) => `{"description":"good ${index}"}`
}

type Kind = keyof typeof GOOD_VALUES
const KINDS = Object.keys(GOOD_VALUES).sort() as Kind[]

const set = (value: string | Buffer) => (redis: RedisServer, key: string): Promise<unknown> => redis.client.set(key, value)
const call = (name: string, ...words: string[]) => (redis: RedisServer, key: string): Promise<unknown> => redis.client.call(name, key, ...words)

/** What a colleague may store by mistake, with the reason that it is rejected for. */
const BAD_VALUES: ReadonlyArray<readonly [what: string, put: (redis: RedisServer, key: string) => Promise<unknown>, reason: RegExp]> = [
  ['broken JSON', set('{"a":'), /JSON/],
  ['an unfinished string', set('"abc'), /JSON/],
  ['a trailing comma', set('{"a":1,}'), /JSON/],
  ['single quotes', set("{'a':1}"), /JSON/],
  ['a comment', set('{"a":1} // comment'), /JSON/],
  ['two values', set('{"a":1} {"b":2}'), /JSON/],
  ['a number that JSON has not', set('[NaN]'), /JSON/],
  ['a NUL byte in a string', set('"a\0b"'), /JSON/],
  ['a line break in a string', set('"a\nb"'), /JSON/],
  ['brackets that nest a million deep', set('['.repeat(MEBIBYTE / 2) + ']'.repeat(MEBIBYTE / 2)), /nested deeper than 100/],
  ['a prototype below brackets without end', set('{"__proto__":'.repeat(200)), /nested deeper than 100/],
  ['a byte order mark', set('\uFEFF{"a":1}'), /byte order mark/],
  ['invalid UTF-8', set(Buffer.from([0x22, 0xc3, 0x28, 0x22])), /not valid UTF-8/],
  ['UTF-16', set(Buffer.from('\uFEFF{}', 'utf16le')), /not valid UTF-8/],
  ['a byte beyond the limit', set(`"${'x'.repeat(MEBIBYTE - 1)}"`), /1048577 bytes long/],
  ['50 MB', set(Buffer.alloc(50 * MEBIBYTE, 'a')), /52428800 bytes long/],
  ['a Redis list', call('RPUSH', 'a'), /is a Redis list/],
  ['a Redis hash', call('HSET', 'field', 'a'), /is a Redis hash/],
  ['a Redis set', call('SADD', 'a'), /is a Redis set/],
  ['a Redis stream', call('XADD', '*', 'field', 'a'), /is a Redis stream/]
]

interface Problem { readonly key?: string, readonly state: string, readonly diagnostics: ReadonlyArray<{ readonly message: string }> }

describe(`Exactly the bad value is rejected among ${GOOD} good ones, by key and reason`, () => {
  let redis: RedisServer
  let app: App

  before(async () => {
    redis = await startRedisServer()
    for (const kind of KINDS) {
      await redis.client.mset(Object.fromEntries(Array.from({ length: GOOD }, (_, index) => [`shenma:${kind}:good:${index}`, GOOD_VALUES[kind](index)])))
    }
    app = await createApp(loadConfig({ REDIS_URL: redis.url, POLL_INTERVAL_MS: '100' }), pino({ level: 'silent' }))
  })
  after(async () => {
    await app.close()
    await redis.stop()
  })

  async function rejected (): Promise<Problem[]> {
    const problems = (await app.inject('/api/status/entries')).json<Problem[]>()
    return problems.filter(({ key }) => key !== undefined)
  }

  for (const [what, put, reason] of BAD_VALUES) {
    it(`${what}, under each prefix`, async () => {
      const keys = KINDS.map(kind => `shenma:${kind}:bad`)
      for (const key of keys) await put(redis, key)
      const problems = await waitFor('the rejections', async () => {
        const found = await rejected()
        return found.length >= keys.length && found
      })
      assert.deepEqual(problems.map(({ key, state }) => [key, state]).sort(), keys.map(key => [key, 'rejected']))
      for (const { diagnostics } of problems) assert.match(diagnostics[0]?.message ?? '', reason)
      const { kinds } = (await app.inject('/readyz')).json<{ kinds: Record<string, { entries: number }> }>()
      // Shared variables are counted by name, and only their values are bad.
      assert.deepEqual(Object.fromEntries(Object.entries(kinds).map(([kind, { entries }]) => [kind, entries])), { extensions: GOOD, prompts: GOOD, environs: GOOD + 1, tools: GOOD, agents: GOOD, skills: 0, plans: GOOD, releases: 0 })
      await redis.client.del(...keys)
      await waitFor('the end of the problems', async () => (await rejected()).length === 0)
    })
  }
})
