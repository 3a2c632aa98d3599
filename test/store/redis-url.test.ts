import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import { StoreError } from '../../src/store/store.ts'

const GOOD: readonly [string, ReturnType<typeof parseRedisUrl>][] = [
  ['redis://localhost', { kind: 'single', address: 'localhost:6379', nodes: [{ host: 'localhost', port: 6379 }], master: undefined, secret: undefined, options: { db: 0 } }],
  ['redis://localhost/', { kind: 'single', address: 'localhost:6379', nodes: [{ host: 'localhost', port: 6379 }], master: undefined, secret: undefined, options: { db: 0 } }],
  ['redis://:s%40c@10.0.0.1:7000/2', { kind: 'single', address: '10.0.0.1:7000', nodes: [{ host: '10.0.0.1', port: 7000 }], master: undefined, secret: 's@c', options: { db: 2, password: 's@c' } }],
  ['redis://me:pass@cache', { kind: 'single', address: 'cache:6379', nodes: [{ host: 'cache', port: 6379 }], master: undefined, secret: 'pass', options: { db: 0, username: 'me', password: 'pass' } }],
  ['rediss://cache:6380', { kind: 'single', address: 'cache:6380', nodes: [{ host: 'cache', port: 6380 }], master: undefined, secret: undefined, options: { db: 0, tls: {} } }],
  ['redis://[::1]:7000', { kind: 'single', address: '[::1]:7000', nodes: [{ host: '::1', port: 7000 }], master: undefined, secret: undefined, options: { db: 0 } }],
  ['redis+cluster://:pass@a:7000,b:7001', { kind: 'cluster', address: 'a:7000,b:7001', nodes: [{ host: 'a', port: 7000 }, { host: 'b', port: 7001 }], master: undefined, secret: 'pass', options: { db: 0, password: 'pass' } }],
  ['rediss+sentinel://a,b:26380/main/3', { kind: 'sentinel', address: 'a:26379,b:26380', nodes: [{ host: 'a', port: 26379 }, { host: 'b', port: 26380 }], master: 'main', secret: undefined, options: { db: 3, tls: {} } }]
]

const BAD: readonly [string, RegExp][] = [
  ['', /cannot be read/],
  ['localhost:6379', /begins with "localhost:"/],
  ['http://:hunter2@cache', /begins with "http:"/],
  ['redis://', /no host/],
  ['redis://:hunter2@cache:99999', /cannot be read/],
  ['redis://:hunter2@cache/first', /not a number/],
  ['redis://:hunter2@cache/1?db=2', /%3F/],
  ['redis://:hunter2#cache', /cannot be read|%23/],
  ['redis://:hunter2%zz@cache', /%25/],
  ['redis+sentinel://:hunter2@a', /names no master/],
  ['redis+cluster://:hunter2@a,b/1', /a cluster has none/],
  ['redis+cluster://:hunter2@a,', /no host|cannot be read/]
]

describe('Redis URL', () => {
  for (const [url, target] of GOOD) {
    test(`reads ${url}`, () => assert.deepEqual(parseRedisUrl(url), target))
  }

  for (const [url, reason] of BAD) {
    test(`refuses "${url}" without showing the password`, () => {
      assert.throws(() => parseRedisUrl(url), error => error instanceof StoreError && reason.test(error.message) && !error.message.includes('hunter2'))
    })
  }
})
