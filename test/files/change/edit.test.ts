import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Edit } from '../../../src/files/change/change-rules.ts'
import { applyEdits } from '../../../src/files/change/edits.ts'
import { FileRefusal } from '../../../src/files/workspace-files.ts'
import { property } from '../../helpers/property.ts'

const codeOf = (text: string, edits: readonly Edit[]): string => {
  try {
    applyEdits(text, edits, 'a.txt')
    return 'applied'
  } catch (error) {
    assert(error instanceof FileRefusal)
    return error.code
  }
}

describe('edits of a file', () => {
  const CASES: ReadonlyArray<[title: string, text: string, edits: readonly Edit[], expected: string]> = [
    ['replace what they find', 'a b c', [{ search: 'b', replace: 'x' }], 'a x c'],
    ['delete with an empty replacement', 'a b c', [{ search: ' b', replace: '' }], 'a c'],
    ['are all of the text as it was, whatever their order', 'one two', [{ search: 'two', replace: 'one' }, { search: 'one', replace: 'two' }], 'two one'],
    ['fit \\r\\n with \\n, and write it', 'a\r\nb\r\nc\r\n', [{ search: 'a\nb', replace: 'x\ny\nz' }], 'x\r\ny\r\nz\r\nc\r\n'],
    ['write \\r\\n once where it was written already', 'a\r\nb', [{ search: 'a\nb', replace: 'x\r\ny' }], 'x\r\ny'],
    ['write the line ends of their own place', 'a\nb\r\nc\r\nd', [{ search: 'b\nc', replace: '1\n2' }, { search: 'a', replace: '0\n0' }], '0\n0\n1\r\n2\r\nd'],
    ['keep a byte order mark', '\ufeffa', [{ search: 'a', replace: 'b' }], '\ufeffb'],
    ['find a text that begins with a line end once', 'a\r\nb', [{ search: '\nb', replace: '\nc' }], 'a\r\nc'],
    ['stand side by side', 'ab', [{ search: 'a', replace: '1' }, { search: 'b', replace: '2' }], '12'],
    ['take $ as it is', 'a', [{ search: 'a', replace: '$&$1' }], '$&$1']
  ]
  for (const [title, text, edits, expected] of CASES) {
    it(title, () => assert.equal(applyEdits(text, edits, 'a.txt'), expected))
  }

  const REFUSED: ReadonlyArray<[title: string, text: string, edits: readonly Edit[], code: string]> = [
    ['of a text that is not there', 'a', [{ search: 'b', replace: '' }], 'ERR_EDIT_NOT_FOUND'],
    ['with other indentation', '  a', [{ search: '   a', replace: '' }], 'ERR_EDIT_NOT_FOUND'],
    ['of \\r\\n where there is \\n', 'a\nb', [{ search: 'a\r\nb', replace: '' }], 'ERR_EDIT_NOT_FOUND'],
    ['of a text that is there twice', 'a a', [{ search: 'a', replace: '' }], 'ERR_EDIT_AMBIGUOUS'],
    ['of a text that overlaps itself', 'aaa', [{ search: 'aa', replace: '' }], 'ERR_EDIT_AMBIGUOUS'],
    ['that overlap', 'abc', [{ search: 'ab', replace: '' }, { search: 'bc', replace: '' }], 'ERR_EDIT_OVERLAP']
  ]
  for (const [title, text, edits, code] of REFUSED) {
    it(`are refused ${title}`, () => assert.equal(codeOf(text, edits), code))
  }

  it('tell of the closest lines, with their numbers', () => {
    assert.throws(() => applyEdits('one\ntwo\n\treturn total\nfour', [{ search: '    return total', replace: '' }], 'a.txt'), /closest lines are 3 to 3:\n\treturn total/)
  })

  it('tell of the lines of all places', () => {
    assert.throws(() => applyEdits('x\ny\nx', [{ search: 'x', replace: '' }], 'a.txt'), /2 times, at the lines 1, 3/)
  })

  const word = fc.constantFrom('a', 'b', 'ab', '\n', '\n\n', ' ', 'ü', '😀', '\t', '$')
  const piece = fc.array(word, { minLength: 1, maxLength: 4 }).map(words => words.join(''))
  const file = fc.tuple(fc.array(word, { maxLength: 30 }), fc.boolean(), fc.boolean())
  property('equal a reference that splits, counts and joins', 10_000, ({ holds }) => {
    holds(fc.property(file, piece, piece, ([words, isWindows, hasMark], search, replace) => {
      const plain = `${hasMark ? '\ufeff' : ''}${words.join('')}`
      const ends = (text: string) => isWindows && plain.includes('\n') ? text.replaceAll('\n', '\r\n') : text
      // Splitting finds no places that overlap, so places are counted one by one.
      const count = Array.from({ length: plain.length }, (_, start) => plain.startsWith(search, start)).filter(Boolean).length
      const expected = count === 0 ? 'ERR_EDIT_NOT_FOUND' : count > 1 ? 'ERR_EDIT_AMBIGUOUS' : ends(plain.split(search).join(replace))
      const edits = [{ search, replace }]
      const code = codeOf(ends(plain), edits)
      assert.equal(code === 'applied' ? applyEdits(ends(plain), edits, 'a.txt') : code, expected)
    }))
  })
})
