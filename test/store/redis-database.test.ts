import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { type Redis } from 'ioredis'
import { createDatabaseCheck } from '../../src/store/redis/redis-connection.ts'

/** A client whose SELECT is answered by hand. */
class SlowClient extends EventEmitter {
  readonly selects: Array<{ resolve (): void, reject (error: Error): void }> = []

  select (): Promise<void> {
    return new Promise((resolve, reject) => { this.selects.push({ resolve, reject }) })
  }
}

function open (): { client: SlowClient, check: () => Promise<void> } {
  const client = new SlowClient()
  return { client, check: createDatabaseCheck(client as unknown as Redis, 1) }
}

describe('whether a connection is in its database', () => {
  it('is asked anew while an earlier question is under way, which may be refused', async () => {
    const { client, check } = open()
    const [before, after] = [check(), check()]
    client.selects[0]?.reject(new Error('NOPERM'))
    client.selects[1]?.resolve()
    await assert.rejects(before, /NOPERM/)
    await after
  })

  it('is asked until it is, and again over another connection', async () => {
    const { client, check } = open()
    const first = check()
    client.selects[0]?.resolve()
    await first
    await check()
    assert.equal(client.selects.length, 1)
    client.emit('close')
    void check()
    assert.equal(client.selects.length, 2)
  })
})
