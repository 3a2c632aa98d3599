import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TemplateSyntaxError } from '../../src/template/language.ts'
import { prescan } from '../../src/template/prescan.ts'

const times = (count: number, text: string) => text.repeat(count)

const ACCEPTED: ReadonlyArray<readonly [string, string]> = [
  ['64 KiB of text', times(64 * 1024, 'a')],
  ['2,000 tags', times(2000, '{{a}}')],
  ['100 nested blocks of Handlebars', times(100, '{{#if a}}') + times(100, '{{/if}}')],
  ['100 nested blocks of Go', times(100, '{{if .a}}') + times(100, '{{end}}')],
  ['blocks that follow one another', times(900, '{{#if a}}{{/if}}')],
  ['Go blocks that follow one another', times(900, '{{range .a}}{{end}}')],
  ['blocks within a raw block', `{{{{raw}}}}${times(500, '{{#if a}}')}{{{{/raw}}}}`],
  ['blocks within comments', `{{!-- ${times(500, '{{#if a}}')} --}}{{/* ${times(500, '{{if .a}}')} */}}`],
  ['blocks within literals', times(500, '{{x "{{#if a}}"}}')],
  ['blocks within literals of Go', times(500, '{{print `{{if .a}}`}}')],
  ['blocks within literal segments', times(500, '{{a.[{{#if]}}')],
  ['escaped blocks', times(500, '\\{{#if a}}')],
  ['inverse tags, which open nothing', `{{#if a}}${times(500, '{{^}}')}{{/if}}`],
  ['else tags, which open nothing', `{{#if a}}${times(500, '{{else}}')}{{/if}}`],
  ['paths of Handlebars that begin like a block of Go', times(500, '{{range.start}}{{block}}{{with}}{{if.x}}')],
  ['block parameters called like a keyword', `{{#each a as |block|}}${times(500, '{{block.name}}')}{{/each}}`],
  ['100 nested parentheses', `{{x ${times(100, '(')}${times(100, ')')}}}`],
  ['parentheses within a literal', `{{x "${times(500, '(')}"}}`],
  ['text without tags', times(500, '(#if) {a}')]
]

/** What is refused, where, and why. */
const REFUSED: ReadonlyArray<readonly [string, string, RegExp, string]> = [
  ['a source that is too long', times(64 * 1024 + 1, 'a'), /longer than 64 KiB/, '1:1'],
  ['a source that is too long in bytes', times(33 * 1024, 'é'), /longer than 64 KiB/, '1:1'],
  ['a huge source', times(50_000_000, 'a'), /longer than 64 KiB/, '1:1'],
  ['2,001 tags', times(2000, '{{a}}') + '\n{{b}}', /more than 2000 tags/, '2:1'],
  ['101 nested blocks', times(100, '{{#if a}}') + '\n {{#if a}}', /blocks nest deeper than 100/, '2:2'],
  ['101 nested blocks with white space control', times(101, '{{~#if a~}}'), /blocks nest deeper than 100/, '1:1101'],
  ['101 nested inverse blocks', times(101, '{{^a}}'), /blocks nest deeper/, '1:601'],
  ['101 nested partial blocks', times(101, '{{#>a}}'), /blocks nest deeper/, '1:701'],
  ['101 nested inline partials', times(101, '{{#*inline "a"}}'), /blocks nest deeper/, '1:1601'],
  ['101 nested blocks of Go', times(100, '{{if .a}}') + '\n{{- with .a -}}', /blocks nest deeper/, '2:1'],
  ['101 nested blocks of Go without spaces', times(101, '{{if.a}}') + '{{end}}', /blocks nest deeper/, '1:801'],
  ['101 nested blocks of each kind of Go', times(26, '{{if .a}}{{range .a}}{{with .a}}{{block "b" .}}'), /blocks nest deeper/, '1:1176'],
  ['a chain of 100 else if', `{{#if a}}${times(100, '{{else if a}}')}`, /blocks nest deeper/, '1:1297'],
  ['a chain of 100 else if of Go', `{{if .a}}${times(100, '{{else if .a}}')}`, /blocks nest deeper/, '1:1396'],
  ['blocks after a backslash that escapes nothing', times(101, '\\\\{{#if a}}'), /blocks nest deeper/, '1:1103'],
  ['blocks behind an escaped tag', times(101, '\\{{ {{#if a}}'), /blocks nest deeper/, '1:1305'],
  ['101 nested parentheses', `{{x ${times(101, '(')}`, /parentheses nest deeper than 100/, '1:1'],
  ['101 nested parentheses of Go', `{{ ${times(101, '(')}`, /parentheses nest deeper/, '1:1']
]

describe('the scan before parsing', () => {
  for (const [title, text] of ACCEPTED) {
    it(`accepts ${title}`, () => prescan(text))
  }

  for (const [title, text, reason, place] of REFUSED) {
    it(`refuses ${title}`, () => {
      assert.throws(() => prescan(text), (error: TemplateSyntaxError) => {
        assert.ok(error instanceof TemplateSyntaxError)
        assert.match(error.message, reason)
        assert.equal(`${error.line}:${error.column}`, place)
        return true
      })
    })
  }
})
