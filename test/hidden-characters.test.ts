import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { runInNewContext } from 'node:vm'
import { revealHidden } from '../src/base/text.ts'

/** Of every plane, but halves of characters. */
const CHARACTERS = Array.from({ length: 0x110000 }, (_, code) => code).filter(code => code < 0xd800 || code > 0xdfff).map(code => String.fromCodePoint(code))

const hidden: ReadonlyArray<readonly [what: string, text: string, shown: string]> = [
  ['a carriage return', 'ls\rrm', 'ls\\u{d}rm'],
  ['an escape of terminals', '\x1b[2K', '\\u{1b}[2K'],
  ['one of a single byte', '\x9b2K', '\\u{9b}2K'],
  ['what turns writing round', 'a\u202eb', 'a\\u{202e}b'],
  ['what has no width', 'a\u200bb', 'a\\u{200b}b'],
  ['a letter that nobody sees', 'a\u3164b', 'a\\u{3164}b'],
  ['a blank among the symbols', 'a\u2800b', 'a\\u{2800}b'],
  ['a space that is none for a shell', 'rm\u00a0-rf', 'rm\\u{a0}-rf'],
  ['a variation of nothing', 'a\u{e0100}b', 'a\\u{e0100}b'],
  ['a line that is none', 'a\u2028b', 'a\\u{2028}b']
]

describe('what hides in a text', () => {
  for (const [what, text, shown] of hidden) it(`${what} is shown`, () => { assert.equal(revealHidden(text), shown) })

  it('is nothing of letters, digits, signs, spaces, tabs and line ends', () => {
    const text = 'Введи "name":\t`x` → 注意 ½ €\n$ ls -la | wc && echo ok\n'
    assert.equal(revealHidden(text), text)
  })

  it('is the same in the console', () => {
    const [, pattern = ''] = /^const HIDDEN = (\/.+\/gu)$/m.exec(readFileSync('console/parts/oddities.ts', 'utf8')) ?? []
    const hides = runInNewContext(pattern) as RegExp
    const all = CHARACTERS.join('')
    assert.ok(revealHidden(all) === all.replaceAll(hides, character => `\\u{${character.codePointAt(0)?.toString(16)}}`))
  })
})
