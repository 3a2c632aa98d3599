import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { applyPatch } from 'diff'
import fc from 'fast-check'
import { MAX_WHOLE_DIFF, pageOf } from '../../../src/files/change/diff.ts'
import { property } from '../../helpers/property.ts'

/** The diff of these texts, asked for on its own. */
async function diffOf (before: string | null, after: string | null): Promise<{ readonly diff: string, readonly isCut?: true }> {
  const contents = new Map([['before', before], ['after', after]])
  const { files: [file] } = await pageOf([{ kind: 'UPDATE_FILE', path: 'a.md', before: before === null ? null : 'before', after: after === null ? null : 'after' }], async (_path, mark) => Buffer.from(contents.get(mark) ?? ''), 0, 1, MAX_WHOLE_DIFF)
  return file as NonNullable<typeof file>
}

const lines = (count: number, of: (index: number) => string): string => Array.from({ length: count }, (_, index) => `${of(index)}\n`).join('')

const counted = (diff: string): { readonly added: number, readonly removed: number, readonly hunks: number } => {
  const count = (sign: RegExp): number => diff.split('\n').filter(line => sign.test(line)).length
  return { added: count(/^\+(?!\+\+ )/), removed: count(/^-(?!-- )/), hunks: count(/^@@ /) }
}

const COUNT = 10_000
const PLAIN = lines(COUNT, index => `line ${index}`)

const CASES: ReadonlyArray<{ readonly title: string, readonly before: string | null, readonly after: string | null, readonly added: number, readonly removed: number, readonly hunks: number }> = [
  { title: 'of which every line has changed', before: PLAIN, after: lines(COUNT, index => `other ${index}`), added: COUNT, removed: COUNT, hunks: 1 },
  { title: 'of which every third line has changed', before: PLAIN, after: lines(COUNT, index => index % 3 === 0 ? `other ${index}` : `line ${index}`), added: 3334, removed: 3334, hunks: 1 },
  { title: 'of which every tenth line has changed', before: PLAIN, after: lines(COUNT, index => index % 10 === 0 ? `other ${index}` : `line ${index}`), added: 1000, removed: 1000, hunks: 1000 },
  { title: 'of which 4,000 lines went from the beginning, and as many came to the end', before: PLAIN, after: lines(COUNT, index => `line ${index + 4000}`), added: 4000, removed: 4000, hunks: 2 },
  { title: 'that are all alike, and twice as many', before: 'a\n'.repeat(COUNT), after: 'a\n'.repeat(2 * COUNT), added: COUNT, removed: 0, hunks: 1 },
  { title: 'that have come', before: null, after: PLAIN, added: COUNT, removed: 0, hunks: 1 },
  { title: 'that have gone', before: PLAIN, after: null, added: 0, removed: COUNT, hunks: 1 },
  { title: 'whose last line has lost its end', before: lines(COUNT, index => `x${index % 7}`), after: lines(COUNT, index => `y${index % 7}`).slice(0, -1), added: COUNT, removed: COUNT, hunks: 1 }
]

describe('A diff of 10,000 lines', () => {
  for (const { title, before, after, ...expected } of CASES) {
    it(title, async () => {
      const { diff, isCut } = await diffOf(before, after)
      assert.equal(isCut, undefined)
      assert.deepEqual(counted(diff), expected)
      assert.equal(applyPatch(before ?? '', diff), after ?? '')
    })
  }

  const texts = fc.integer({ min: 2, max: COUNT }).chain(kinds => {
    const changed = fc.tuple(fc.integer({ min: 0, max: kinds }), fc.constantFrom('kept', 'gone', 'more', 'other'))
    return fc.array(changed, { minLength: 5000, maxLength: 5000, size: 'max' })
  })

  property('that differ in any way makes the one text of the other', 100, async ({ comesToHold }) => {
    await comesToHold(fc.asyncProperty(texts, fc.boolean(), async (all, isEnded) => {
      const before = all.map(([line]) => `line ${line}`).join('\n')
      const after = all.flatMap(([line, how]) => how === 'gone' ? [] : how === 'other' ? [`other ${line}`] : how === 'more' ? [`line ${line}`, `new ${line}`] : [`line ${line}`]).join('\n') + (isEnded ? '\n' : '')
      assert.equal(applyPatch(before, (await diffOf(before, after)).diff), after)
    }), { endOnFailure: true })
  })

  it('a single line of 1 MiB is whole', async () => {
    const { diff, isCut } = await diffOf('x'.repeat(1024 * 1024), 'y'.repeat(1024 * 1024))
    assert.deepEqual([isCut, diff.length > 2 * 1024 * 1024], [undefined, true])
  })
})
