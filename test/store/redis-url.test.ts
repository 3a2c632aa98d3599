import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseRedisUrl, type RedisTarget } from '../../src/store/redis/redis-url.ts'
import { StoreError } from '../../src/store/store.ts'

const SINGLE: ReadonlyArray<readonly [string, RedisTarget]> = [
  ['redis://localhost', { address: 'localhost:6379', secrets: [], options: { host: 'localhost', port: 6379, db: 0 } }],
  ['redis://localhost/', { address: 'localhost:6379', secrets: [], options: { host: 'localhost', port: 6379, db: 0 } }],
  ['redis://:s%40c@10.0.0.1:7000/2', { address: '10.0.0.1:7000', secrets: ['s@c'], options: { host: '10.0.0.1', port: 7000, db: 2, password: 's@c' } }],
  ['redis://me:pass@cache', { address: 'cache:6379', secrets: ['pass'], options: { host: 'cache', port: 6379, db: 0, username: 'me', password: 'pass' } }],
  ['rediss://cache:6380', { address: 'cache:6380', secrets: [], options: { host: 'cache', port: 6380, db: 0, tls: {} } }],
  ['redis://[::1]:7000', { address: '[::1]:7000', secrets: [], options: { host: '::1', port: 7000, db: 0 } }],
  ['redis+sentinel://10.0.0.1,10.0.0.2:7000/mymaster', {
    address: 'mymaster (Sentinel 10.0.0.1:26379, 10.0.0.2:7000)',
    secrets: [],
    options: { name: 'mymaster', sentinels: [{ host: '10.0.0.1', port: 26379 }, { host: '10.0.0.2', port: 7000 }], db: 0 }
  }],
  ['rediss+sentinel://me:p%2Cw@[::1]/mymaster/3', {
    address: 'mymaster (Sentinel [::1]:26379)',
    secrets: ['p,w'],
    options: { name: 'mymaster', sentinels: [{ host: '::1', port: 26379 }], db: 3, username: 'me', password: 'p,w', tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }
  }]
]

const BAD: ReadonlyArray<readonly [string, RegExp]> = [
  ['', /cannot be read/],
  ['localhost:6379', /begins with "localhost:"/],
  ['http://:hunter2@cache', /begins with "http:"/],
  ['redis+proxy://:hunter2@cache', /begins with "redis\+proxy:"/],
  ['redis://', /no host/],
  ['redis://:hunter2@', /no host/],
  ['redis://:hunter2@cache:99999', /cannot be read/],
  ['redis://:hunter2@cache/first', /not a number/],
  ['redis://:hunter2@cache/1?db=2', /%3F/],
  ['redis://:hunter2#cache', /cannot be read|%23/],
  ['redis://:hunter2%zz@cache', /%25/],
  ['redis://:hunter2@one,two', /several hosts/],
  ['redis+sentinel://:hunter2@one,two', /name of a master/],
  ['redis+sentinel://:hunter2@one,/mymaster', /no host/],
  ['redis+sentinel://:hunter2@one/mymaster/first', /not a number/],
  ['redis+cluster://:hunter2@one,two/1', /one only/],
  ['redis+cluster://:hunter2@one,two:zzz', /cannot be read/]
]

describe('Redis URL', () => {
  for (const [url, target] of SINGLE) {
    test(`reads ${url}`, () => assert.deepEqual(parseRedisUrl(url), { kind: 'single', target }))
  }

  test('reads the nodes of a cluster, which share one login', () => {
    const place = parseRedisUrl('rediss+cluster://me:pass@10.0.0.1:7000,cache')
    assert.ok(place.kind === 'cluster')
    const login = { username: 'me', password: 'pass', tls: {}, db: 0 }
    assert.deepEqual(place.seeds, [
      { address: '10.0.0.1:7000', secrets: ['pass'], options: { host: '10.0.0.1', port: 7000, ...login } },
      { address: 'cache:6379', secrets: ['pass'], options: { host: 'cache', port: 6379, ...login } }
    ])
    assert.deepEqual(place.node('::1', 7001), { address: '[::1]:7001', secrets: ['pass'], options: { host: '::1', port: 7001, ...login } })
  })

  test('keeps the password of the Sentinels apart from that of Redis', () => {
    const place = parseRedisUrl('redis+sentinel://:data@one/mymaster', 'guard')
    assert.ok(place.kind === 'single')
    assert.deepEqual([place.target.options.password, place.target.options.sentinelPassword, place.target.secrets], ['data', 'guard', ['data', 'guard']])
  })

  for (const [url, reason] of BAD) {
    test(`refuses "${url}" without showing the password`, () => {
      assert.throws(() => parseRedisUrl(url), error => error instanceof StoreError && reason.test(error.message) && !error.message.includes('hunter2'))
    })
  }
})
