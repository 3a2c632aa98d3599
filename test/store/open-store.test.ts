import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openStore } from '../../src/service.ts'
import { freePort } from '../helpers/free-port.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const log = quietLog()

describe('openStore', () => {
  test('opens a folder', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const store = await openStore({ directory: folder.path }, storeKeys(), log)
    t.after(() => store.close())
    assert.equal(store.variant, 'directory')
  })

  test('opens Redis while it is away', async t => {
    const store = await openStore({ redisUrl: `redis://127.0.0.1:${await freePort()}`, sentinelPassword: '' }, storeKeys(), log)
    t.after(() => store.close())
    assert.equal(store.variant, 'redis')
  })
})
