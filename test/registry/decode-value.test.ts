import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type RejectedEntry } from '../../src/registry/diagnostic.ts'
import { decodeEnviron, decodeJson } from '../../src/registry/kinds/entry-kind.ts'
import { KINDS } from '../../src/registry/kind-table.ts'

const accepted = [
  ['templates', '{"prompt":"x"}', { prompt: 'x' }],
  ['templates', '[{"role":"user","content":"x"}]', [{ role: 'user', content: 'x' }]],
  ['templates', '"x {{y}}"', 'x {{y}}'],
  ['templates', 'plain {{x}}', 'plain {{x}}'],
  ['templates', '{{x}} begins it', '{{x}} begins it'],
  ['templates', '42', '42'],
  ['environs', '42', 42],
  ['environs', 'true', true],
  ['environs', 'null', null],
  ['environs', '"go"', 'go'],
  ['environs', 'go', 'go'],
  ['environs', '', ''],
  ['environs', '9007199254740993', 9007199254740993n],
  ['tools', '{"name":"x"}', { name: 'x' }]
] as const

const rejected = [
  ['templates', '{"prompt":', /not valid JSON/],
  ['templates', '"unfinished', /not valid JSON/],
  ['templates', '\uFEFF{"prompt":"x"}', /byte order mark/],
  ['environs', '{"a":1', /not valid JSON/],
  ['environs', '[1,', /not valid JSON/],
  ['environs', `${'['.repeat(200)}${']'.repeat(200)}`, /nested deeper than 100/],
  ['extensions', 'plain', /not valid JSON/],
  ['tools', '', /the text is empty/]
] as const

const decode = (key: string, text: string) => KINDS.find(kind => kind.key === key)?.decode(text) ?? assert.fail(`no kind ${key}`)

describe('What is stored', () => {
  for (const [kind, text, value] of accepted) {
    it(`takes ${JSON.stringify(text)} of ${kind}`, () => {
      assert.deepEqual(decode(kind, text).value, value)
    })
  }

  for (const [kind, text, reason] of rejected) {
    it(`rejects ${JSON.stringify(text).slice(0, 40)} of ${kind}`, () => {
      assert.throws(() => decode(kind, text), reason)
    })
  }

  it('names the place of an error in JSON', () => {
    assert.throws(() => decodeJson('{\n  "a": 1,\n}'), ({ diagnostics: [diagnostic] }: RejectedEntry) => {
      assert.deepEqual([diagnostic?.message, diagnostic?.line, diagnostic?.column], ["the value is not valid JSON: Quoted object key expected but got '}'", 3, 1])
      return true
    })
  })

  it('warns of an environ that is text instead of JSON', () => {
    assert.deepEqual(decodeEnviron('go').diagnostics.map(({ code, severity }) => [severity, code]), [['warning', 'VALUE_NOT_JSON']])
  })
})
