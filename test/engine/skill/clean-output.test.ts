import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { cleanOutputForAI } from '../../../src/engine/clip.ts'
import { cpuTimeOf } from '../../helpers/cpu-time.ts'
import { property } from '../../helpers/property.ts'

const cases: ReadonlyArray<readonly [title: string, output: string, cleaned: string, typed?: string]> = [
  ['no colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['no window title', '\u001b]0;host: ~\u0007text', 'text'],
  ['empty lines', '\na\n\n \nb', '\na\n\n \nb'],
  ['equal lines', 'a\na\na\nb', 'a\na\na\nb'],
  ['ends of lines of Windows as line breaks', 'a\r\nb\r\n', 'a\nb'],
  ['all that a progress bar has printed', '10%\r50%\r100%', '10%\n50%\n100%'],
  ['no line for a carriage return that overwrites nothing', 'a\r\n\u001b[?2004l\rb', 'a\nb'],
  ['leading space', ' M server/skills.js\n?? new-file.txt', ' M server/skills.js\n?? new-file.txt'],
  ['trailing space', 'a   \nb\t', 'a   \nb\t'],
  ['all line breaks at the end but one', 'a\n\n', 'a\n'],
  ['nothing', '', '(no output)'],
  ['nothing but escapes', '\u001b[0m\n\r\n', '(no output)'],
  ['what looks like a prompt, of a command that the service ran', 'user@db:5432$ refused\nann@host:~$ ls\nann@host:~$', 'user@db:5432$ refused\nann@host:~$ ls\nann@host:~$'],
  ['what looks like a prompt, in a copy', 'user@db:5432$ refused\nC:\\tmp>x\nb', 'user@db:5432$ refused\nC:\\tmp>x\nb', 'ls'],
  ['no prompt with the command, in a copy', 'ann@host:~/src$ ls\na\nann@host:~/src$ ', 'a', 'ls'],
  ['no prompt of Windows with the command, in a copy', 'C:\\Users\\ann>dir\na', 'a', 'dir'],
  ['no echo of the command, in a copy', 'ls\nls', 'ls', 'ls']
]

const MEGABYTE = 1024 * 1024

/** Repeated, each is a flood of its kind; some begin an escape that never ends. */
const FLOODS = ['\u001b[31mx', '\u001b]0;', '\u001b[', '\u001b', 'a@b:', 'C:\\a', 'C:\\>', '\r', '\n', ' ', 'a@b:~$ ', '\u001bP', '\u001b[0', '\u0007']

describe('cleanOutputForAI', () => {
  for (const [title, output, cleaned, typed] of cases) {
    it(`keeps ${title}`, () => { assert.equal(cleanOutputForAI(output, typed), cleaned) })
  }

  const piece = fc.oneof(fc.constantFrom(...FLOODS, 'x', '\u001b[0m', '\u001b\\', '(c) Microsoft Corporation', '$ ', '>'), fc.string({ maxLength: 4 }))
  const output = fc.array(piece, { maxLength: 40 }).map(pieces => pieces.join(''))

  property('leaves neither escapes nor control characters, whatever is printed', 100, given => {
    given.holds(fc.property(output, text => {
      const cleaned = cleanOutputForAI(text)
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(cleaned, /[\x00-\x08\x0b-\x1f\x7f]/)
    }))
  })

  property('changes no line of a plain text', 300, given => {
    given.holds(fc.property(fc.array(fc.stringMatching(/^[ -~\t]{0,12}$/), { minLength: 1, maxLength: 10 }), lines => {
      const text = [...lines, 'x'].join('\n')
      assert.equal(cleanOutputForAI(`${text}\n`), text)
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
      // Linear work takes tens of ms to a second; what grows with the square would take hours.
      assert.ok(cpuTimeOf(() => cleanOutputForAI(text)) < 10_000)
    })
  }
})
