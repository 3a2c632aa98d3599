import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { detectSyntax, findMisread } from '../../src/template/detect-syntax.ts'

interface Cases {
  readonly go: readonly string[]
  readonly handlebars: readonly string[]
  readonly mixed: ReadonlyArray<{ readonly texts: readonly string[], readonly go: string, readonly handlebars: string }>
}

const cases = parse(readFileSync(new URL('detect-syntax.yaml', import.meta.url), 'utf8')) as Cases

const rest = async (): Promise<void> => {}

describe('syntax detection', () => {
  for (const syntax of ['go', 'handlebars'] as const) {
    for (const text of cases[syntax]) {
      it(`takes ${JSON.stringify(text)} for ${syntax}`, async () => assert.deepEqual(await detectSyntax([text], rest), { syntax }))
    }
  }

  for (const { texts, go, handlebars } of cases.mixed) {
    it(`finds both in ${JSON.stringify(texts)}`, async () => {
      const detected = await detectSyntax(texts, rest)
      assert.ok('mixed' in detected)
      assert.deepEqual(detected.mixed.map(({ form, text, line, column }) => `${form} ${text}:${line}:${column}`), [go, handlebars])
    })
  }

  it('decides by all texts together', async () => {
    assert.deepEqual(await detectSyntax(['{{name}}', '{{.name}}', 'text'], rest), { syntax: 'go' })
  })

  it('takes no texts and texts without tags for Handlebars', async () => {
    assert.deepEqual(await detectSyntax([], rest), { syntax: 'handlebars' })
    assert.deepEqual(await detectSyntax(['Hello'], rest), { syntax: 'handlebars' })
  })
})

describe('findMisread', () => {
  for (const text of [...cases.handlebars, '{{end}}', '{{ break }}', '{{$x}}', '\\{{range .items}}']) {
    it(`finds nothing in ${JSON.stringify(text)}`, () => assert.equal(findMisread(text), undefined))
  }

  const misread = [
    ['a\n{{range .items}}{{end}}', '.items 2:1'],
    ['{{if x}}', '{{if 1:1'],
    ['{{eq .a .b}}', '.a 1:1'],
    ['{{template "a"}}', '{{template 1:1'],
    ['{{- x -}}', '{{- 1:1'],
    ['{{$x := 1}}', '{{$ 1:1']
  ] as const
  for (const [text, expected] of misread) {
    it(`finds ${expected} in ${JSON.stringify(text)}`, () => {
      const { form, line, column } = findMisread(text) ?? assert.fail('nothing found')
      assert.equal(`${form} ${line}:${column}`, expected)
    })
  }
})
