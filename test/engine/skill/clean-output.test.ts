import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { cleanOutputForAI } from '../../../src/engine/skill/clean-output.ts'
import { property } from '../../helpers/property.ts'

const cases: ReadonlyArray<readonly [title: string, output: string, cleaned: string, command?: string]> = [
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['a window title', '\u001b]0;host: ~\u0007text', 'text'],
  ['a Linux prompt', 'ann@host:~/src$ ls\na', 'ls\na'],
  ['a Windows prompt', 'C:\\Users\\ann>dir\na', 'dir\na'],
  ['a Windows banner', 'Microsoft Windows [Version 10.0.1]\n(c) Microsoft Corporation. All rights reserved.\nC:\\>\na', 'a'],
  ['empty lines', 'a\n\n \nb', 'a\nb'],
  ['equal lines in a row', 'a\na\na\nb', 'a\nb'],
  ['no equal lines further apart', 'a\nb\na', 'a\nb\na'],
  ['ends of lines of Windows', 'a\r\nb\r\n', 'a\nb'],
  ['a progress bar', '10%\r50%\r100%', '100%'],
  ['the echo of the command', 'ann@host:~$ ls\na', 'a', 'ls'],
  ['no leading space, which is data', ' M server/skills.js\n?? new-file.txt', ' M server/skills.js\n?? new-file.txt'],
  ['trailing space', 'a   \nb\t', 'a\nb'],
  ['nothing', '', '(no output)'],
  ['nothing but escapes', '\u001b[0m\n\r\n', '(no output)'],
  ['no address that stands in a line', 'mail to ann@host:x now', 'mail to ann@host:x now']
]

const MEGABYTE = 1024 * 1024

/** Repeated, each is a flood of its kind; some begin an escape that never ends. */
const FLOODS = ['\u001b[31mx', '\u001b]0;', '\u001b[', '\u001b', 'a@b:', 'C:\\a', 'C:\\>', '\r', '\n', ' ', 'a@b:~$ ', '\u001bP', '\u001b[0', '\u0007']

describe('cleanOutputForAI', () => {
  for (const [title, output, cleaned, command] of cases) {
    it(`takes ${title}`, () => { assert.equal(cleanOutputForAI(output, command), cleaned) })
  }

  const piece = fc.oneof(fc.constantFrom(...FLOODS, 'x', '\u001b[0m', '\u001b\\', '(c) Microsoft Corporation', '$ ', '>'), fc.string({ maxLength: 4 }))
  const output = fc.array(piece, { maxLength: 40 }).map(pieces => pieces.join(''))

  property('throws at nothing, and leaves neither escapes nor empty lines', 100, given => {
    given.holds(fc.property(output, text => {
      const cleaned = cleanOutputForAI(text)
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(cleaned, /[\x00-\x08\x0b-\x1f\x7f]|\n\n|^\n|[ \t]\n/)
    }))
  })

  property('changes nothing that is clean', 2000, given => {
    given.holds(fc.property(output, text => {
      const cleaned = cleanOutputForAI(text)
      assert.equal(cleanOutputForAI(cleaned), cleaned)
    }))
  })

  property('keeps the space before words', 100, given => {
    given.holds(fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 8 }), fc.stringMatching(/^[a-z]{1,5}$/)), { minLength: 1, maxLength: 10 }), lines => {
      const text = lines.map(([spaces, word], index) => `${' '.repeat(spaces)}${word}${index}`).join('\n')
      assert.equal(cleanOutputForAI(text), text)
    }))
  })

  for (const flood of FLOODS) {
    it(`takes 10 MB of ${JSON.stringify(flood)} in linear time`, () => {
      const text = flood.repeat(Math.ceil(10 * MEGABYTE / flood.length))
      const before = performance.now()
      cleanOutputForAI(text)
      // Linear work takes tens of ms to a second; what grows with the square would take hours.
      assert.ok(performance.now() - before < 10_000)
    })
  }
})
