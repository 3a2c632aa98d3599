import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from './wait-for.ts'

test('waiting for a condition that never settles ends', async () => {
  const settled = waitFor('the impossible', () => new Promise<boolean>(() => {}), 20)
  await assert.rejects(settled, /^Error: Waited 20 ms in vain for: the impossible$/)
})

test('waiting for a condition that fails tells why', async () => {
  await assert.rejects(waitFor('it', () => { throw new Error('the reason') }, 20), error => ((error as Error).cause as Error).message === 'the reason')
})
