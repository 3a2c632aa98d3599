import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type StoredValue } from '../../src/store/store.ts'
import { yamlToJson } from '../../src/store/decode-value.ts'

const GOOD: readonly [string, string][] = [
  ['name: a\nlist:\n  - 1\n  - 2.5\n  - "2"', '{"name":"a","list":[1,2.5,"2"]}'],
  ['text: |\n  {{#each a}}\n    b\n  {{/each}}', '{"text":"{{#each a}}\\n  b\\n{{/each}}\\n"}'],
  ['plain text', '"plain text"'],
  ['null', 'null'],
  ['""', '""'],
  ["''", '""'],
  ['a: ~\nb: yes\nc: true\nd: 2001-12-14', '{"a":null,"b":"yes","c":true,"d":"2001-12-14"}'],
  ['a: 9007199254740991\nb: 9007199254740993\nc: -12345678901234567890\nd: 0x10', '{"a":9007199254740991,"b":9007199254740993,"c":-12345678901234567890,"d":16}'],
  ['base: &base {x: 1}\nown:\n  <<: *base\n  y: 2', '{"base":{"x":1},"own":{"x":1,"y":2}}'],
  ['__proto__: {x: 1}\nconstructor: 2', '{"__proto__":{"x":1},"constructor":2}'],
  ['1: a\ntrue: b', '{"1":"a","true":"b"}']
]

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

const BOMB = [
  'a: &a [x, x, x, x, x, x, x, x, x, x]',
  'b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]',
  'c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]',
  'd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]'
].join('\n')

const BAD: readonly { title: string, yaml: string, reason: RegExp }[] = [
  { title: 'broken YAML', yaml: 'a:\n  b: c: d', reason: /^is not usable YAML: Nested mappings .* at line 2, column 6$/ },
  { title: 'a tab as indentation', yaml: 'a:\n\t- b', reason: /^is not usable YAML: Tabs are not allowed as indentation at line 2, column 1$/ },
  { title: 'a quote that is never closed', yaml: 'a: "b', reason: /^is not usable YAML: Missing closing "quote at line 1, column 6$/ },
  { title: 'an empty text', yaml: '', reason: /the text is empty$/ },
  { title: 'nothing but a comment', yaml: '# later', reason: /the text is empty$/ },
  { title: 'two documents', yaml: 'a: 1\n---\nb: 2', reason: /a second document begins at line 2, column 1$/ },
  { title: 'a key that is there twice', yaml: 'a: 1\nb: {c: 1, "c": 2}', reason: /the key "c" is there twice at line 2, column 11$/ },
  { title: 'an empty key that is there twice', yaml: 'null: 1\n"": 2', reason: /the key "" is there twice at line 2, column 1$/ },
  { title: 'a template without quotes', yaml: 'a: 1\nuserPrompt: {{ .x }}', reason: /a key is no text; braces without quotes mean a map at line 2, column 14$/ },
  { title: 'an alias as a key', yaml: 'a: &a b\n*a : c', reason: /a key is no text.* at line 2, column 1$/ },
  { title: 'a tag', yaml: 'a: !include b.yaml', reason: /Unresolved tag: !include at line 1, column 4$/ },
  { title: 'an alias to nothing', yaml: 'a: *b', reason: /Unresolved alias .*: b$/ },
  { title: 'an alias to its own list', yaml: '&a [*a]', reason: /nested deeper than 100$/ },
  { title: 'an infinite number', yaml: 'a: .inf', reason: /JSON has no number Infinity$/ },
  { title: 'a bomb of aliases', yaml: BOMB, reason: /Excessive alias count/ },
  { title: 'aliases that repeat a large text', yaml: `a: &a "${'x'.repeat(100_000)}"\nb: [${'*a,'.repeat(50)}]`, reason: /^is 5\d{6} bytes long; at most 1048576 are allowed$/ },
  { title: 'lists nested 101 deep', yaml: nested(101), reason: /nested deeper than 100$/ },
  { title: 'lists nested 60,000 deep, which the library does not survive', yaml: '['.repeat(60_000), reason: /nested deeper than 100 at line 1, column 103$/ },
  { title: 'blocks nested 30,000 deep', yaml: '- '.repeat(30_000), reason: /nested deeper than 100 at line 1/ },
  { title: 'more than 100 aliases', yaml: `a: &a 1\nb: [${'*a,'.repeat(101)}]`, reason: /there are more than 100 aliases at line 2, column 305$/ },
  { title: 'more YAML than is parsed in a moment', yaml: `a: ${'x'.repeat(128 * 1024)}`, reason: /^is 131075 bytes of YAML; at most 131072 are allowed, use JSON for more$/ }
]

/** The reason, and the place that goes with it. */
function inWords ({ reason, place }: Extract<StoredValue, { kind: 'bad' }>): string {
  return place === undefined ? reason : `${reason} at line ${place.line}, column ${place.column}`
}

describe('YAML', () => {
  for (const [yaml, json] of GOOD) {
    test(`gives ${json}`, () => assert.deepEqual(yamlToJson(yaml), { kind: 'text', text: json }))
  }

  test('may have 100 aliases, and any number of texts that look like one', () => {
    const value = yamlToJson(`a: &a x\nb: [${'*a,'.repeat(100)}]\nc: |\n${'  *a\n'.repeat(200)}d: [${'"*a",'.repeat(200)}]`)
    assert.deepEqual(value.kind === 'text' ? Object.values(JSON.parse(value.text) as Record<string, { length: number }>).map(({ length }) => length) : value, [1, 100, 600, 200])
  })

  test('may nest 100 deep', () => {
    assert.deepEqual(yamlToJson(nested(100)), { kind: 'text', text: nested(100) })
  })

  for (const { title, yaml, reason } of BAD) {
    test(`refuses ${title}`, () => {
      const value = yamlToJson(yaml)
      assert.match(value.kind === 'bad' ? inWords(value) : value.kind, reason)
    })
  }
})
