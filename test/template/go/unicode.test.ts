import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Syntax } from '../../../src/template/language.ts'
import { renderExplained, renderPlainly, type Setting } from '../trace/render-explained.ts'
import { property } from '../../helpers/property.ts'

const SETTING: Setting = {
  variables: { size: 'Größe', thumb: '👍', ends: [1, 2, 3, 4], map: { a: 1 }, high: '\ud800', one: '\udcc3', other: '\udca9', both: '\udcc3\udca9' },
  tools: { echo: 'heard' },
  partials: {
    half: { syntax: 'go', text: '{{slice .variables.thumb 0 2}}' },
    rest: { syntax: 'go', text: '{{slice .variables.thumb 2 4}}' },
    shown: { syntax: 'handlebars', text: '[{{this}}]' },
    'shown-by-go': { syntax: 'go', text: '{{slice . 1 2}}' },
    halves: { syntax: 'handlebars', text: '{{> half}}-{{> rest}}' }
  }
}

describe('bytes in Go\'s texts', () => {
  const OUTPUTS: ReadonlyArray<readonly [fact: string, syntax: Syntax, template: string, output: string, spans: readonly string[]]> = [
    ['are U+FFFD where they are no character', 'go', '{{slice .variables.size 0 5}}!', 'Grö\ufffd!', ['Grö\ufffd', '!']],
    ['are U+FFFD one by one', 'go', '{{slice .variables.thumb 0 3}}', '\ufffd\ufffd\ufffd', ['\ufffd\ufffd\ufffd']],
    ['become the character that they are together', 'go', '{{slice .variables.thumb 0 2}}{{slice .variables.thumb 2 4}}', '👍', ['👍', '']],
    ['become it in a loop, byte by byte', 'go', '{{range $at, $size := .variables.ends}}{{slice $.variables.thumb $at $size}}{{end}}', '👍', ['👍', '', '', '']],
    ['of a literal become characters with those of data', 'go', '{{"\\xf0\\x9f"}}{{slice .variables.thumb 2 4}}{{"\\xff"}}', '👍\ufffd', ['👍', '', '\ufffd']],
    ['become characters where a partial in Go ends', 'go', '{{template "half" .}}{{slice .variables.thumb 2 4}}', '👍', ['👍', '']],
    ['become characters within a template of the prompt', 'go', '{{define "t"}}{{slice . 2 4}}{{end}}{{slice .variables.thumb 0 2}}{{template "t" .variables.thumb}}', '👍', ['👍', '']],
    ['do not leave a partial in Go for Handlebars', 'handlebars', '{{> half}}{{> rest}}', '\ufffd\ufffd\ufffd\ufffd', ['\ufffd\ufffd', '\ufffd\ufffd']],
    ['do not come back through Handlebars', 'go', '{{template "halves" .}}{{slice .variables.size 0 1}}', '\ufffd\ufffd-\ufffd\ufffdG', ['\ufffd\ufffd', '-', '\ufffd\ufffd', 'G']],
    ['do not reach a partial in Handlebars', 'go', '{{template "shown" (slice .variables.thumb 0 2)}}', '[\ufffd\ufffd]', ['[', '\ufffd\ufffd', ']']],
    ['reach a partial in Go', 'go', '{{slice .variables.thumb 0 1}}{{template "shown-by-go" (slice .variables.thumb 0 3)}}{{slice .variables.thumb 2 4}}', '👍', ['👍', '', '']],
    ['do not reach a function', 'go', '{{json (slice .variables.thumb 0 2)}}{{join (slice .variables.thumb 2 3) (split "" "ab")}}', '"\ufffd\ufffd"a\ufffdb', ['"\ufffd\ufffd"', 'a\ufffdb']],
    ['are no bytes when a caller has sent them', 'go', '{{.variables.high}}{{.variables.one}}{{.variables.other}}{{json .variables.both}}', '\ud800\udcc3\udca9"\\udcc3\\udca9"', ['\ud800', '\udcc3', '\udca9', '"\\udcc3\\udca9"']]
  ]
  for (const [fact, syntax, template, output, spans] of OUTPUTS) {
    it(fact, async () => {
      assert.equal(await renderPlainly(syntax, template, SETTING), output)
      const explained = await renderExplained(syntax, template, SETTING)
      assert.equal(explained.output, output)
      assert.deepEqual(explained.spans.map(({ text }) => text), spans)
    })
  }

  it('do not reach a tool', async () => {
    const { trace } = await renderExplained('go', '{{echo (slice .variables.size 0 5) "\\xff" .variables.thumb}}', SETTING)
    assert.deepEqual(trace.calls.map(call => call.arguments), [{ 0: 'Grö\ufffd', 1: '\ufffd', 2: '👍' }])
  })

  for (const [fact, template, message] of [
    ['a missing path', '{{index .variables.map (slice .variables.size 3 4)}}', 'Prompt "test" needs values that are missing: variables.map.\ufffd (line 1, column 3)'],
    ['the reason of an error', '{{range (slice .variables.size 3 4)}}{{end}}', '<4>: range can\'t iterate over \ufffd']
  ] as const) {
    it(`do not reach ${fact}`, async () => {
      await assert.rejects(renderPlainly('go', template, SETTING), { message })
    })
  }

  property('give the same characters however a text is cut, in as many spans', 100, async given => {
    await given.comesToHold(fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 8 }), fc.array(fc.nat(32), { maxLength: 6 }), async (text, cuts) => {
      const length = Buffer.byteLength(text)
      const ends = [...cuts.filter(cut => cut <= length).sort((one, other) => one - other), length]
      const template = ends.map((end, index) => `{{slice .variables.text ${ends[index - 1] ?? 0} ${end}}}`).join('')
      const { output, spans } = await renderExplained('go', template, { variables: { text } })
      assert.equal(output, text)
      assert.equal(spans.map(span => span.text).join(''), text)
      assert.equal(spans.length, ends.length)
    }))
  })
})
