import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priceOf } from '../src/price.js'

test('ten pieces are a tenth cheaper', () => {
  assert.equal(priceOf(10, 10), 90)
})

test('nine pieces are not', () => {
  assert.equal(priceOf(9, 10), 90)
})
