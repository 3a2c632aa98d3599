import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NoSlotError, Slots } from '../../src/runtime/concurrency.ts'

const LIMITS = { concurrency: 2, queue: 2, wait: 10_000 }
const signal = new AbortController().signal

describe('Slots', () => {
  it('gives as many slots as there are, and makes the next one wait', async () => {
    const slots = new Slots(LIMITS)
    const order: string[] = []
    const first = await slots.acquire(signal)
    await slots.acquire(signal)
    const third = slots.acquire(signal).then(() => order.push('third'))
    order.push('released')
    first()
    await third
    assert.deepEqual(order, ['released', 'third'])
  })

  it('serves waiters in the order of their arrival', async () => {
    const slots = new Slots({ ...LIMITS, concurrency: 1 })
    const order: number[] = []
    const first = await slots.acquire(signal)
    const waiters = [1, 2].map(async number => {
      const release = await slots.acquire(signal)
      order.push(number)
      release()
    })
    first()
    await Promise.all(waiters)
    assert.deepEqual(order, [1, 2])
  })

  it('refuses at once when the queue is full', async () => {
    const slots = new Slots({ concurrency: 1, queue: 0, wait: 10_000 })
    await slots.acquire(signal)
    await assert.rejects(slots.acquire(signal), NoSlotError)
  })

  it('refuses a waiter whose time is up', async () => {
    const slots = new Slots({ concurrency: 1, queue: 1, wait: 1 })
    await slots.acquire(signal)
    await assert.rejects(slots.acquire(signal), { message: 'no slot within 1 ms' })
  })

  it('frees the place of a waiter who leaves', async () => {
    const slots = new Slots({ concurrency: 1, queue: 1, wait: 10_000 })
    const first = await slots.acquire(signal)
    const leaver = new AbortController()
    const left = slots.acquire(leaver.signal)
    leaver.abort(new Error('left'))
    await assert.rejects(left, { message: 'left' })
    const next = slots.acquire(signal)
    first()
    await next
  })

  it('takes a slot back once', async () => {
    const slots = new Slots({ concurrency: 1, queue: 0, wait: 10_000 })
    const first = await slots.acquire(signal)
    first()
    await slots.acquire(signal)
    first()
    await assert.rejects(slots.acquire(signal), NoSlotError)
  })

  it('gives nothing to one who has left already', async () => {
    const slots = new Slots({ concurrency: 1, queue: 0, wait: 10_000 })
    await assert.rejects(slots.acquire(AbortSignal.abort(new Error('left'))), { message: 'left' })
    await slots.acquire(signal)
  })
})
