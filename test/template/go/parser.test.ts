import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { TemplateSyntaxError } from '../../../src/template/language.ts'
import { language } from './workbench.ts'
import { property } from '../../helpers/property.ts'

const PIECES = ['{{', '}}', '{{-', '-}}', '{{if ', '{{else}}', '{{else if ', '{{else with ', '{{end}}', '{{range ', '{{with ', '{{define "a"}}', '{{block "b" .}}', '{{template "a" .}}', '{{break}}', '{{continue}}',
  '$', '$x', ':=', '=', '|', '(', ')', '.', '.a', ',', '"', '`', "'", '\\', '1', '1.5', '0x', '1e', 'i', '/*', '*/', ' ', '\n', '\r', '\t', 'nil', 'true', 'print ', 'and ', '\0', '\ufeff', '😀', '\ud800', 'é', '%']

/** Compiles; only a mistake in the source may stop it. */
function compile (text: string): void {
  try {
    language.compile({ text })
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error
    assert.ok(error.line >= 1 && error.column >= 1)
  }
}

describe('the parser of Go templates', () => {
  property('throws nothing but syntax errors on arbitrary text', 500, given => {
    given.holds(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), compile))
  })

  property('throws nothing but syntax errors on pieces of templates', 2000, given => {
    given.holds(fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 60, size: 'max' }), pieces => compile(pieces.join(''))))
  })

  for (const piece of [...PIECES, '{{(', '{{if .}}', '{{range .}}', '{{if .}}{{else if .}}', '{{else if .}}', '{{block "b" .}}', '{{.a.b', '{{print (', '{{define "x"}}', '{{/*', '{{"\\']) {
    it(`survives 64 KiB of ${JSON.stringify(piece)}`, () => {
      compile(piece.repeat(Math.ceil(65_536 / piece.length)))
      compile(`{{if .}}${piece.repeat(Math.ceil(65_536 / piece.length))}`)
    })
  }

  const MISTAKES: ReadonlyArray<readonly [text: string, message: string, line: number, column: number]> = [
    ['a {{.x', 'unclosed action', 1, 3],
    ['{{if .x\n{{.y}}', 'unclosed action', 1, 1],
    ['{{ {.x} }}', 'unexpected "{" in command', 1, 4],
    ['a\nb{{if .x}}', 'unexpected EOF: {{if}} has no {{end}}', 2, 4],
    ['{{if .x}}{{else if .y}}', 'unexpected EOF: {{if}} has no {{end}}', 1, 3],
    ['{{range .x}}{{with .y}}{{end}}', 'unexpected EOF: {{range}} has no {{end}}', 1, 3],
    ['{{range .x}}{{with .y}}', 'unexpected EOF: {{with}} has no {{end}}', 1, 15],
    ['{{define "x"}}', 'unexpected EOF: {{define}} has no {{end}}', 1, 3],
    ['{{block "x" .}}', 'unexpected EOF: {{block}} has no {{end}}', 1, 3],
    ['é😀{{$x}}', 'undefined variable "$x"', 1, 6],
    ['{{end}}', 'unexpected {{end}}', 1, 6],
    ['x {{.variables.code} y', "bad character U+007D '}'", 1, 20],
    ['{{variables.code}', "bad character U+007D '}'", 1, 17],
    ['{{len}', "bad character U+007D '}'", 1, 6],
    ['{{if .a}}{{else}}{{else}}{{end}}', 'expected end; found {{else}}', 1, 24]
  ]
  for (const [text, message, line, column] of MISTAKES) {
    it(`tells where ${JSON.stringify(text)} is wrong`, () => {
      assert.throws(() => language.compile({ text }), { name: 'TemplateSyntaxError', message, line, column })
    })
  }
})
