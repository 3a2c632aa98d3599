import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openStore } from '../../src/store/open-store.ts'
import { StoreError } from '../../src/store/store.ts'
import { freePort } from '../helpers/free-port.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const keyPrefix = 'shenma:'

describe('openStore', () => {
  test('opens the folder that is configured', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const store = await openStore({ directory: folder.path, keyPrefix })
    t.after(() => store.close())
    assert.equal(store.variant, 'directory')
  })

  test('prefers Redis to a folder, and opens it while it is away', async t => {
    const store = await openStore({ redisUrl: `redis://127.0.0.1:${await freePort()}`, directory: '/nowhere', keyPrefix })
    t.after(() => store.close())
    assert.equal(store.variant, 'redis')
  })

  test('refuses when nothing is configured', async () => {
    await assert.rejects(openStore({ keyPrefix }), new StoreError('no store is configured: set REDIS_URL or STORE_DIR'))
  })
})
