import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRedisCounters } from '../../src/store/redis/redis-counters.ts'
import { startRedisCluster } from '../helpers/redis-cluster.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { quietLog } from '../helpers/quiet-log.ts'

for (const [title, start] of [['one Redis', startRedisServer], ['a cluster', startRedisCluster]] as const) {
  describe(`counters in ${title}`, () => {
    test('add up for all who count under a key', async t => {
      const redis = await start()
      t.after(redis.stop)
      const [one, other] = [0, 1].map(() => createRedisCounters({ url: redis.url, log: quietLog() })) as [ReturnType<typeof createRedisCounters>, ReturnType<typeof createRedisCounters>]
      t.after(() => Promise.all([one.close(), other.close()]))
      const keys = Array.from({ length: 20 }, (_, index) => `rates:${index}`)
      await one.report(new Map(keys.map(key => [key, 1])), 60_000)
      assert.deepEqual(await other.report(new Map(keys.map(key => [key, 2])), 60_000), new Map(keys.map(key => [key, 3])))
    })

    test('count once what is told twice, and the older of two counts not at all', async t => {
      const redis = await start()
      t.after(redis.stop)
      const counters = createRedisCounters({ url: redis.url, log: quietLog() })
      t.after(() => counters.close())
      for (const [count, total] of [[2, 2], [3, 3], [3, 3], [2, 3]] as const) assert.deepEqual(await counters.report(new Map([['rates:a', count]]), 60_000), new Map([['rates:a', total]]))
    })
  })
}
