import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { withSafeEviction } from '../../../src/session/store/redis-session-store.ts'
import { type RedisConnection } from '../../../src/store/redis/redis-connection.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

describe('A Redis that loads its data', () => {
  it('is not said to keep no append-only file, and is looked at again when it has loaded', async () => {
    const warnings: string[] = []
    let info = 'loading:1\r\naof_enabled:0\r\nmaxmemory_policy:noeviction\r\n'
    let looks = 0
    const client = Object.assign(new EventEmitter(), { info: async () => { looks++; return info } })
    const connection = { client, target: { address: 'here' }, ask: (question: () => Promise<unknown>) => question() } as unknown as RedisConnection
    const { ask } = withSafeEviction(connection, { ...quietLog(), warn: (_fields: object, message?: string) => { warnings.push(message ?? '') } })
    await ask(async () => 'a')
    assert.deepEqual([looks, warnings], [1, []])
    info = info.replace('loading:1', 'loading:0')
    await ask(async () => 'b')
    assert.deepEqual([looks, warnings.length], [2, 1])
    assert.match(warnings[0] ?? '', /keeps no append-only file/)
    await ask(async () => 'c')
    assert.equal(looks, 2)
  })
})
