import fc from 'fast-check'
import { property } from '../helpers/property.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPatternEngine } from '../../src/schema/pattern.ts'
import { WorkMeter } from '../../src/schema/vocabulary.ts'

/** How a schema's `pattern` is compiled. Each text is a validation of its own, with time of its own. */
function compile (pattern: string) {
  const meter = new WorkMeter()
  const compiled = createPatternEngine(meter)(pattern, 'u')
  return {
    test (text: string) {
      meter.reset()
      return compiled.test(text)
    }
  }
}

/** Whether JavaScript finds the pattern in the text. */
const findsInScript = (pattern: string, text: string) => new RegExp(pattern, 'u').test(text)

/** Characters that dialects of regular expressions take for different things. */
const CHARACTERS = [
  ...'aAzZ09_-. \t\n\v\f\r\b\0kKsS{}[]^$|/\\', '\u0085', '\u00a0', '\u00ad', '\u00df', '\u00e9', '\u0130', '\u017f', '\u0391', '\u03b1', '\u0430', '\u0660', '\u1680', '\u180e',
  '\u2000', '\u200a', '\u200b', '\u2028', '\u2029', '\u202f', '\u205f', '\u212a', '\u3000', '\u4e00', '\ufeff', '\uffff', '\ud83d', '\ude00', '\u{1f600}', '\u{1d7d8}', '\u{10ffff}'
]

const ESCAPES = ['\\s', '\\S', '\\d', '\\D', '\\w', '\\W', '\\t', '\\n', '\\v', '\\f', '\\r', '\\0', '\\cJ', '\\x41', '\\u00e9', '\\ud83d\\ude00', '\\ud83d', '\\u{1F600}', '\\/', '\\.', '\\\\', '\\]', '\\^', '\\$']

const PROPERTIES = [
  'L', 'Letter', 'gc=L', 'General_Category=Uppercase_Letter', 'Lu', 'LC', 'Cased_Letter', 'Nd', 'digit', 'punct', 'P', 'Zs', 'Separator', 'Cc', 'cntrl', 'Cs', 'Cn', 'M', 'Combining_Mark',
  'Script=Greek', 'sc=Greek', 'Script=Cyrillic', 'Script=Han', 'Script=Latin', 'Script=Common', 'Any', 'ASCII', 'Assigned', 'Alphabetic', 'White_Space', 'Uppercase', 'Emoji', 'ASCII_Hex_Digit'
].flatMap(name => [`\\p{${name}}`, `\\P{${name}}`])

const escaped = (character: string) => character.replace(/[\\^$.*+?()[\]{}|/]/u, '\\$&')
const escapedInClass = (character: string) => escaped(character).replace('-', '\\-')

// In classes of the flag u only these may be escaped, and only what is one character can bound a range.
const classItem = fc.oneof(
  fc.constantFrom(...CHARACTERS).map(escapedInClass),
  fc.constantFrom(...ESCAPES, '\\-', ...PROPERTIES, '\\b'),
  fc.tuple(fc.constantFrom(...CHARACTERS), fc.constantFrom(...CHARACTERS)).map(ends => ends.sort((one, other) => (one.codePointAt(0) as number) - (other.codePointAt(0) as number)).map(escapedInClass).join('-'))
)
const characterClass = fc.tuple(fc.constantFrom('[', '[^'), fc.array(classItem, { maxLength: 4 })).map(([opening, items]) => `${opening}${items.join('')}]`)
const atom = fc.oneof(fc.constantFrom(...CHARACTERS).map(escaped), fc.constantFrom('.', ...ESCAPES), fc.constantFrom(...PROPERTIES), characterClass)
const assertion = fc.constantFrom('^', '$', '\\b', '\\B')
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '??', '{2}', '{0,2}', '{1,}', '{1,2}?')

const { pattern } = fc.letrec<{ pattern: string, branch: string, term: string }>(tie => ({
  pattern: fc.array(tie('branch'), { minLength: 1, maxLength: 2 }).map(branches => branches.join('|')),
  branch: fc.array(tie('term'), { maxLength: 3 }).map(terms => terms.join('')),
  term: fc.oneof({ maxDepth: 2, withCrossShrink: true },
    fc.tuple(atom, quantifier).map(parts => parts.join('')),
    assertion,
    fc.tuple(fc.constantFrom('(', '(?:', '(?<name>'), tie('pattern'), quantifier).map(([opening, inner, times]) => `${opening}${inner.replaceAll('(?<name>', '(')})${times}`))
}))

const text = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 8 }).map(characters => characters.join(''))

describe('a pattern of a schema', () => {
  property('means what it means in JavaScript, with the flag u', 2000, given => {
    given.holds(fc.property(pattern, fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
      fc.pre(isScript(source))
      const compiled = compile(source)
      // V8 finds a \\B between the halves of a surrogate pair, where ECMA-262 has no place.
      const comparable = source.includes('\\B') ? texts.map(each => each.replace(/[^\0-\uffff]/gu, '')) : texts
      for (const each of comparable) assert.equal(compiled.test(each), findsInScript(source, each), JSON.stringify(each))
    }))
  }, { timeout: 600_000 })

  for (const source of [...ESCAPES, ...PROPERTIES, '.', '[]', '[^]', '[\\b]', '[^\\S]', '[\\s\\S]', '[^\\W\\d]']) {
    it(`means the same set of characters as in JavaScript: ${source}`, () => {
      const [script, compiled] = [new RegExp(`^${source}$`, 'u'), compile(`^${source}$`)]
      const points = [...Array(0x3100).keys(), 0x4e00, 0xd800, 0xdfff, 0xfeff, 0xffff, 0x10000, 0x1d7d8, 0x1f600, 0x10ffff]
      assert.deepEqual(points.filter(point => compiled.test(String.fromCodePoint(point)) !== script.test(String.fromCodePoint(point))), [])
    })
  }

  const lenient: readonly [source: string, text: string, found: boolean][] = [
    ['^\\_\\@\\"\\ \\-$', '_@" -', true],
    ['^[\\w-.]$', '-', true],
    ['^a{b}$', 'a{b}', true],
    ['^a{,2}]$', 'a{,2}]', true]
  ]
  for (const [source, each, found] of lenient) {
    it(`may be of the older grammar: ${source}`, () => {
      assert.equal(compile(source).test(each), found)
      assert.equal(new RegExp(source).test(each), found)
    })
  }

  const LINEAR = 'which cannot be checked in time linear to the text'
  const refused: readonly [source: string, reason: string][] = [
    ['^(?=.*x)', `it looks ahead or behind, ${LINEAR}: use "not", or several patterns in "allOf"`],
    ['(?!x)', `it looks ahead or behind, ${LINEAR}: use "not", or several patterns in "allOf"`],
    ['(?<=x)y', `it looks ahead or behind, ${LINEAR}: use "not", or several patterns in "allOf"`],
    ['(?<!x)y', `it looks ahead or behind, ${LINEAR}: use "not", or several patterns in "allOf"`],
    ['(a)\\1', `it refers back to a group, ${LINEAR}`],
    ['(?<n>a)\\k<n>', `it refers back to a group, ${LINEAR}`],
    ['(?i)a', '(?i begins no group of ECMA-262'],
    ['(?P<n>a)', '(?P begins no group of ECMA-262'],
    ['\\Aa\\z', '\\A is no escape of ECMA-262'],
    ['\\u12', '\\u is no escape of ECMA-262'],
    ['\\u{110000}', '\\u{110000} is no character'],
    ['a\\', '\\ is no escape of ECMA-262'],
    ['\\p{Greek}', '\\p{Greek} is no property of ECMA-262: write \\p{Script=Greek}'],
    ['\\P{Nothing}', '\\P{Nothing} is no property of ECMA-262'],
    ['\\p{constructor}', '\\p{constructor} is no property of ECMA-262'],
    ['\\p{Script_Extensions=Greek}', '\\p{Script_Extensions=Greek} is not among the properties that it may use: general categories, as in \\p{L} or \\p{Letter}, and scripts by their long names, as in \\p{Script=Greek}'],
    ['[b-a]', 'it has a range that ends before it begins: b-a'],
    ['[a', 'it has a [ without its ]'],
    ['(', 'missing closing )'],
    ['a)', 'unexpected )'],
    ['*a', 'missing argument to repetition operator'],
    ['a{2000}', 'it repeats something more than 1000 times']
  ]
  for (const [source, reason] of refused) {
    it(`is refused with its reason: ${source}`, () => {
      assert.throws(() => compile(source), { message: `pattern "${source}" is not supported: ${reason}` })
    })
  }
})

/** Whether the flag u takes a generated pattern; a hyphen or a caret may have come to stand where it does not. */
function isScript (source: string): boolean {
  try {
    return new RegExp(source, 'u').unicode
  } catch {
    return false
  }
}
