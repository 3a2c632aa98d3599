import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseRedisUrl } from '../../src/store/redis-url.ts'
import { StoreError } from '../../src/store/store.ts'

const GOOD: readonly [string, ReturnType<typeof parseRedisUrl>][] = [
  ['redis://localhost', { address: 'localhost:6379', secret: undefined, options: { host: 'localhost', port: 6379, db: 0 } }],
  ['redis://localhost/', { address: 'localhost:6379', secret: undefined, options: { host: 'localhost', port: 6379, db: 0 } }],
  ['redis://:s%40c@10.0.0.1:7000/2', { address: '10.0.0.1:7000', secret: 's@c', options: { host: '10.0.0.1', port: 7000, db: 2, password: 's@c' } }],
  ['redis://me:pass@cache', { address: 'cache:6379', secret: 'pass', options: { host: 'cache', port: 6379, db: 0, username: 'me', password: 'pass' } }],
  ['rediss://cache:6380', { address: 'cache:6380', secret: undefined, options: { host: 'cache', port: 6380, db: 0, tls: {} } }],
  ['redis://[::1]:7000', { address: '[::1]:7000', secret: undefined, options: { host: '::1', port: 7000, db: 0 } }]
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
  ['redis://:hunter2%zz@cache', /%25/]
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
