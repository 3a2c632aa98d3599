import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Seeker } from '../../src/registry/sync/seeker.ts'

/** A seeker whose questions wait for an answer. */
function createSeeker () {
  const asked: string[] = []
  const answers: Array<(isFound: boolean) => void> = []
  const seeker = new Seeker(key => {
    asked.push(key)
    return new Promise(resolve => { answers.push(resolve) })
  })
  return { seeker, asked, answer: (isFound: boolean) => { for (const each of answers.splice(0)) each(isFound) } }
}

describe('Seeker', () => {
  it('asks once for all who seek the same key at a time', async () => {
    const { seeker, asked, answer } = createSeeker()
    const found = [seeker.seek('a'), seeker.seek('a'), seeker.seek('b')]
    answer(true)
    assert.deepEqual([await Promise.all(found), asked], [[true, true, true], ['a', 'b']])
  })

  it('does not ask again at once for a key that was not there', async () => {
    const { seeker, asked, answer } = createSeeker()
    const first = seeker.seek('a')
    answer(false)
    assert.deepEqual([await first, await seeker.seek('a'), asked], [false, false, ['a']])
  })

  it('has no more than 64 questions under way', async () => {
    const { seeker, asked } = createSeeker()
    for (let index = 0; index < 64; index++) void seeker.seek(`key ${index}`)
    assert.equal(await seeker.seek('one more'), false)
    assert.equal(asked.length, 64)
  })
})
