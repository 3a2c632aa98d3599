import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FunctionError, type TemplateFunction } from '../../../src/template/template-function.ts'
import { FUNCTIONS } from '../../../src/template/functions.ts'
import { type Json } from '../../../src/base/json.ts'
import { isToolResult, markToolResult, NOTHING, type Value } from '../../../src/template/value.ts'

const NOW = new Date('2026-02-03T04:05:06.007Z')

function apply (name: string, args: readonly Value[], budget = 100_000): Value {
  let left = budget
  const charge = (visits: number) => {
    left -= visits
    if (left < 0) throw new Error('over budget')
  }
  return (FUNCTIONS.get(name) as TemplateFunction).apply(args, { now: () => NOW, charge })
}

/** Longer than what is searched for at a time. */
const aaab = `${'a'.repeat(60)}b`

/** Title, function, arguments, result. */
const RESULTS: ReadonlyArray<readonly [string, string, readonly Value[], Value]> = [
  ['joins nothing to the empty text', 'join', [',', NOTHING], ''],
  ['joins an empty list to the empty text', 'join', [',', []], ''],
  ['joins objects and lists as JSON, null as nothing', 'join', ['|', [{ a: 1n }, [2], null, true]], '{"a":1}|[2]||true'],
  ['joins integers with all their digits', 'join', [' ', [12345678901234567890n]], '12345678901234567890'],
  ['splits the empty text into no parts', 'split', [',', ''], []],
  ['splits by the empty separator into characters', 'split', ['', 'a😀b'], ['a', '😀', 'b']],
  ['splits at every separator', 'split', [', ', 'a, b, '], ['a', 'b', '']],
  ['replaces every occurrence as plain text', 'replace', ['.', '$&', 'a.b.c'], 'a$&b$&c'],
  ['splits at a long text', 'split', [aaab, `${aaab}x${aaab}${aaab}a${aaab}`], ['', 'x', '', 'a', '']],
  ['splits at no long text that only begins like it', 'split', [aaab, `${aaab.slice(0, -1)}c`], [`${aaab.slice(0, -1)}c`]],
  ['replaces a long text where it overlaps itself', 'replace', ['a'.repeat(40), '$&', 'a'.repeat(100)], `$&$&${'a'.repeat(20)}`],
  ['replaces an empty text nowhere', 'replace', ['', 'x', 'abc'], 'abc'],
  ['replaces in nothing', 'replace', ['a', 'b', NOTHING], ''],
  ['truncates between characters only', 'truncate', [2, 'a😀b'], 'a😀'],
  ['truncates to nothing', 'truncate', [0, 'abc'], ''],
  ['leaves a shorter text', 'truncate', [10, 'abc'], 'abc'],
  ['indents every line but empty ones', 'indent', [2, 'a\n\nb\n'], '  a\n\n  b\n'],
  ['indents nothing', 'indent', [2, NOTHING], ''],
  ['takes a number for a text', 'upper', [5], '5'],
  ['raises letter by letter, as Go does', 'upper', ['straße ŉ ﬁ ŐΐẞéἀὙᾳᾼᾀᾈῃῼ'], 'STRAßE ŉ ﬁ ŐΐẞÉἈὙᾼᾼᾈᾈῌῼ'],
  ['lowers letter by letter, as Go does', 'lower', ['İI ΟΔΟΣ ΣΑΣ. ẞ ᾼ'], 'ii οδοσ σασ. ß ᾳ'],
  ['trims null to the empty text', 'trim', [null], ''],
  ['lowers nothing to the empty text', 'lower', [NOTHING], ''],
  ['gives the first element', 'first', [[1, 2]], 1],
  ['gives a first element that is null', 'first', [[null]], null],
  ['gives nothing for the first of an empty list', 'first', [[]], NOTHING],
  ['gives the last element', 'last', [[1, 2]], 2],
  ['gives nothing for the last of nothing', 'last', [NOTHING], NOTHING],
  ['sorts numbers before texts before booleans before the rest', 'sortBy', ['', [null, 'b', true, 10, 'B', 9n, false]], [9n, 10, 'B', 'b', false, true, null]],
  ['keeps the order of equals', 'sortBy', ['k', [{ k: 1, n: 1 }, { k: 0, n: 2 }, { k: 1, n: 3 }]], [{ k: 0, n: 2 }, { k: 1, n: 1 }, { k: 1, n: 3 }]],
  ['sorts by a deeper member', 'sortBy', ['a.b', [{ a: { b: 2 } }, { a: { b: 1 } }, { a: 0 }]], [{ a: { b: 1 } }, { a: { b: 2 } }, { a: 0 }]],
  ['sorts large integers exactly', 'sortBy', ['', [9007199254740993n, 9007199254740992n]], [9007199254740992n, 9007199254740993n]],
  ['sorts by no member of a prototype', 'sortBy', ['constructor.name', ['b', 'a']], ['b', 'a']],
  ['groups in order of appearance', 'groupBy', ['k', [{ k: 'x' }, { k: 1 }, { k: 'x', n: 2 }]], [{ key: 'x', items: [{ k: 'x' }, { k: 'x', n: 2 }] }, { key: 1, items: [{ k: 1 }] }]],
  ['groups what lacks the member under null', 'groupBy', ['__proto__', [{ a: 1 }]], [{ key: null, items: [{ a: 1 }] }]],
  ['tells the text 1 from the number 1 when it groups', 'groupBy', ['', [1, '1']], [{ key: 1, items: [1] }, { key: '1', items: ['1'] }]],
  ['writes JSON on one line', 'json', [{ a: [1, 'x', null] }], '{"a":[1,"x",null]}'],
  ['writes JSON with an indent', 'json', [2, { a: 1 }], '{\n  "a": 1\n}'],
  ['writes large integers with all their digits', 'json', [{ id: 12345678901234567890n }], '{"id":12345678901234567890}'],
  ['writes nothing as null', 'json', [NOTHING], 'null'],
  ['writes what is called toJSON or toString as data', 'json', [{ toJSON: 'a', toString: 1 }], '{"toJSON":"a","toString":1}'],
  ['formats the time of the render', 'date', ['YYYY-MM-DD HH:mm:ss.SSS'], '2026-02-03 04:05:06.007'],
  ['formats names of months and days', 'date', ['dddd ddd MMMM MMM'], 'Tuesday Tue February Feb'],
  ['leaves text in brackets', 'date', ['[YYYY] YYYY [at] HH'], 'YYYY 2026 at 04'],
  ['leaves brackets that are not closed', 'date', ['[[YYYY]] [at] [YYYY [MM'], '[YYYY] at [2026 [02'],
  ['leaves any number of them', 'date', ['['.repeat(1_000_000)], '['.repeat(1_000_000)],
  ['reads milliseconds', 'date', ['YYYY', 0], '1970'],
  ['reads a day', 'date', ['YYYY-MM-DD', '2024-12-31'], '2024-12-31'],
  ['reads a leap day', 'date', ['MM-DD', '2024-02-29T23:00:00-02:00'], '03-01'],
  ['reads a time without a zone as UTC', 'date', ['HH:mm', '2024-12-31T10:20'], '10:20'],
  ['converts a zone to UTC', 'date', ['HH:mm', '2024-12-31 10:20:30-05:00'], '15:20'],
  ['formats no time as the empty text', 'date', ['YYYY', NOTHING], '']
]

/** Title, function, arguments, the reason that it gives. */
const FAILURES: ReadonlyArray<readonly [string, string, readonly Value[], RegExp]> = [
  ['a list for a text', 'upper', [['a']], /text must be a text, not a list/],
  ['a text for a list', 'join', [',', 'abc'], /list must be a list, not a text/],
  ['a negative length', 'truncate', [-1, 'a'], /length must be an integer, 0 or more, not -1/],
  ['a length that is no number', 'truncate', ['x', 'a'], /length must be an integer, 0 or more, not a text/],
  ['an indent beyond 80', 'indent', [81, 'a'], /width must be an integer from 0 to 80, not 81/],
  ['a JSON indent beyond 10', 'json', [11, 1], /indent must be an integer from 0 to 10/],
  ['a day that does not exist', 'date', ['YYYY', '2024-13-01'], /value must be an ISO 8601 time .* not "2024-13-01"/],
  ['a day that its month does not have', 'date', ['YYYY', '2026-02-30'], /not "2026-02-30"/],
  ['the 29th of February of a common year', 'date', ['YYYY', '2025-02-29 10:00'], /not "2025-02-29 10:00"/],
  ['a time on a day that its month does not have', 'date', ['YYYY', '2026-04-31T10:00:00Z'], /not "2026-04-31T10:00:00Z"/],
  ['words for a time', 'date', ['YYYY', 'tomorrow'], /not "tomorrow"/],
  ['an object for a time', 'date', ['YYYY', {}], /not an object/]
]

const long = 'x'.repeat(64_000)

/** Each asks for much more than it is given, and must be refused before the work is done. */
const BOMBS: ReadonlyArray<readonly [string, readonly Value[]]> = [
  ['replace', ['x', long, long]],
  ['replace', [`${'x'.repeat(4000)}y`, '', long]],
  ['split', [`${'x'.repeat(4000)}y`, long]],
  ['join', [long, Array.from({ length: 500 }, () => '')]],
  ['join', ['', Array.from({ length: 500 }, () => long)]],
  ['indent', [80, '\n'.repeat(64_000)]],
  ['indent', [80, '\r'.repeat(64_000)]],
  ['split', ['', long]],
  ['sortBy', ['', Array.from({ length: 50_000 }, (_, index) => index)]],
  ['groupBy', ['', Array.from({ length: 50_000 }, (_, index) => index)]],
  ['date', ['YYYY', `${' '.repeat(2_000_000)}2024-12-31`]],
  ['json', [10, Array.from({ length: 50_000 }, () => [[]])]],
  ['json', [Array.from({ length: 500 }, () => long)]]
]

describe('functions', () => {
  for (const [title, name, args, expected] of RESULTS) {
    it(`${name} ${title}`, () => assert.deepEqual(apply(name, args), expected))
  }

  for (const [title, name, args, reason] of FAILURES) {
    it(`${name} refuses ${title}`, () => {
      assert.throws(() => apply(name, args), error => error instanceof FunctionError && reason.test(error.message))
    })
  }

  for (const [name, args] of BOMBS) {
    it(`${name} pays before it works (${args.length} arguments)`, () => {
      assert.throws(() => apply(name, args, 20_000), /over budget/)
    })
  }

  it('make of a tool\'s list one that still counts as a tool\'s', () => {
    const list: Json = [{ k: 2 }, { k: 1 }]
    markToolResult(list)
    assert.ok(isToolResult(apply('sortBy', ['k', list]) as object))
    assert.ok(isToolResult(apply('groupBy', ['k', list]) as object))
  })

  it('json refuses a value that nests too deeply', () => {
    let value: Json = []
    for (let depth = 0; depth < 10_000; depth++) value = [value]
    assert.throws(() => apply('json', [value]), /nests deeper than 200 levels/)
  })
})
