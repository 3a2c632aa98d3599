import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { TemplateSyntaxError } from '../../../src/template/language.ts'
import { property } from '../../helpers/property.ts'

/** Template, place, reason. */
const MISTAKES: ReadonlyArray<readonly [string, string, RegExp]> = [
  ['Hello\n {{name', '2:2', /the tag has no "}}"/],
  ['x {{variables.code} y {{z}}', '1:19', /a tag ends with "}}", not with "}"/],
  ['{{#if x\ntext {{y}}', '1:1', /the tag has no "}}"/],
  ['{{x}} {{{y', '1:7', /the tag has no "}}"/],
  ['{{foo "bar}} text', '1:7', /" is not closed/],
  ['{{a % b}} {{c', '1:5', /this character is not expected here/],
  ['a\n{{#if x}}', '2:1', /"if" has no {{\/if}}/],
  ['{{#if x}}{{else}}{{#each y}}{{z}}', '1:18', /"each" has no {{\/each}}/],
  ['{{#a}}{{/a}}{{^b}}', '1:13', /"b" has no {{\/b}}/],
  ['{{#> layout}}text', '1:1', /"layout" has no {{\/layout}}/],
  ['{{#*inline "x"}}text', '1:1', /"inline" has no {{\/inline}}/],
  ['{{#> (lookup x)}}text', '1:1', /the block is not closed/],
  ['a {{!-- b }} c', '1:3', /the comment is not closed/],
  ['a {{{{raw}}}} b', '1:3', /the raw block is not closed/],
  ['a\n{{#if x}}{{/with}}', '2:4', /"if" is closed by "with"/],
  ['{{/if}}', '1:1', /a closing tag is not expected here/],
  ['{{else}}', '1:1', /"else" is not expected here/],
  ['{{foo bar=}}', '1:11', /"}}" is not expected here/],
  ['{{.name}}', '1:3', /"." or "\/" is not expected here/],
  ['a\0b', '1:1', /this text cannot be read/],
  ['{{a/../b}}', '1:3', /Invalid path/],
  ['x\n{{log "x"}}', '2:1', /\{\{log\}\} is not available/],
  ['{{log}}', '1:1', /\{\{log\}\} is not available/],
  ['{{#log x}}{{/log}}', '1:1', /\{\{log\}\} is not available/],
  ['{{upper (log x)}}', '1:9', /\{\{log\}\} is not available/],
  ['{{* note}}', '1:1', /decorators other than/],
  ['{{#*note "x"}}{{/note}}', '1:1', /decorators other than/],
  ['{{#*inline name}}{{/inline}}', '1:1', /needs one name, in quotes/],
  ['{{#*inline "x"}}{{else}}{{/inline}}', '1:36', /inverse/],
  ['{{> (lookup a b)}}', '1:1', /must not depend on a value/],
  ['{{> p a b}}', '1:1', /takes one context, not 2/],
  ['{{if x}}', '1:1', /"if" is a block/],
  ['{{each}}', '1:1', /"each" is a block/],
  ['{{upper (with x)}}', '1:9', /"with" is a block/],
  ['{{#if}}{{/if}}', '1:1', /"if" takes 1 argument, not 0/],
  ['{{#if a b}}{{/if}}', '1:1', /"if" takes 1 argument, not 2/],
  ['{{#if a b=c}}{{/if}}', '1:9', /no argument called "b"/],
  ['{{#if a as |b|}}{{/if}}', '1:1', /no block parameters/],
  ['{{#each a b=c}}{{/each}}', '1:11', /takes no named arguments/],
  ['{{#with}}{{/with}}', '1:1', /"with" takes 1 argument, not 0/],
  ['{{lookup a}}', '1:1', /"lookup" takes 2 arguments, not 1/],
  ['{{upper a b}}', '1:1', /"upper" takes 1 argument, not 2/],
  ['{{date a b c}}', '1:1', /"date" takes 1 to 2 arguments, not 3/],
  ['{{eq a}}', '1:1', /"eq" takes at least 2 arguments, not 1/],
  ['{{upper a b=1}}', '1:11', /takes no named arguments/],
  ['{{a.b c}}', '1:1', /"a.b" is a path and cannot be called; a tool's function is called a_b/],
  ['{{../a b}}', '1:1', /is a path and cannot be called/],
  ['{{param x}}', '1:1', /"param" is a value and takes no arguments/],
  ['{{#each a as |x|}}{{x 1}}{{/each}}', '1:19', /"x" is a value and takes no arguments/],
  ['{{#if a}}'.repeat(101), '1:901', /nest deeper/]
]

function compile (text: string) {
  return handlebarsLanguage.compile({ text, declared: new Set(['param']) })
}

describe('mistakes in Handlebars templates', () => {
  for (const [text, place, reason] of MISTAKES) {
    it(`refuses ${JSON.stringify(text.slice(0, 60))}`, () => {
      assert.throws(() => compile(text), (error: TemplateSyntaxError) => {
        assert.ok(error instanceof TemplateSyntaxError, `${error.name} ${(error as Error).stack}`)
        assert.match(error.message, reason)
        assert.equal(`${error.line}:${error.column}`, place, error.message)
        return true
      })
    })
  }
})

/** Template and references: kind, name, arguments, place. */
const REFERENCES: ReadonlyArray<readonly [string, readonly string[]]> = [
  ['{{name}}{{this.name}}{{a.b}}{{param}}', ['maybe-function name() 1:1']],
  ['x\n{{find "a b" (other x) n=1}}', ['function find("a b", (other x), n=1) 2:1', 'function other(x) 2:14']],
  ['{{#find x}}{{/find}}{{#name}}{{/name}}', ['function find(x) 1:1', 'maybe-function name() 1:21']],
  ['{{upper name}}{{#if name}}{{/if}}{{lookup a b}}', []],
  ['{{#each a as |x|}}{{x}}{{/each}}', []],
  ['{{"two words"}}', ['maybe-function two words() 1:1']],
  ['{{> a.b}}{{> "c:d" x y=1}}{{> 7}}', ['partial a.b() 1:1', 'partial c:d(x, y=1) 1:10', 'partial 7() 1:27']],
  ['{{#> layout}}x{{/layout}}{{> @partial-block}}', ['maybe-partial layout() 1:1']],
  ['{{#*inline "x"}}{{/inline}}{{> x}}{{#if a}}{{> x}}{{/if}}', []],
  ['{{#if a}}{{#*inline "x"}}{{/inline}}{{/if}}{{> x}}', ['maybe-partial x() 1:44']]
]

/** Template and paths: use and place. */
const PATHS: ReadonlyArray<readonly [string, readonly string[]]> = [
  ['{{name}} {{variables.a.b}} {{vscode.rules}}', ['name used 1:3', 'variables.a.b used 1:12', 'vscode.rules used 1:30']],
  ['{{#if variables.a}}{{variables.a}}{{/if}}', ['variables.a tested 1:7', 'variables.a used 1:22']],
  ['{{#each variables.items}}{{name}}{{this}}{{../x}}{{@root.y}}{{@index}}{{/each}}', ['variables.items used 1:9', 'variables.items.*.name used 1:28', 'variables.items.* used 1:36', 'x used 1:44', 'y used 1:52']],
  ['{{#each variables.items}}{{else}}{{/each}}', ['variables.items tested 1:9']],
  ['{{#each variables.items as |item i|}}{{item.name}}{{i}}{{/each}}', ['variables.items used 1:9', 'variables.items.*.name used 1:40']],
  ['{{#with variables.user}}{{name}}{{../../x}}{{/with}}', ['variables.user tested 1:9', 'variables.user.name used 1:27']],
  ['{{#with variables.user as |u|}}{{u.name}}{{/with}}', ['variables.user tested 1:9', 'variables.user.name used 1:34']],
  ['{{lookup chat variables.id}}', ['chat.* used 1:10', 'variables.id used 1:15']],
  ['{{#with (lookup chat "s1")}}{{text}}{{/with}}', ['chat.s1 tested 1:17', 'chat.s1.text used 1:31']],
  ['{{index variables.list 0 "a"}}', ['variables.list.0.a used 1:9']],
  ['{{default "x" variables.a}}{{or variables.b variables.c}}{{not variables.d}}', ['variables.a tested 1:15', 'variables.b tested 1:33', 'variables.c used 1:45', 'variables.d tested 1:64']],
  ['{{and variables.a variables.b}}', ['variables.a used 1:7', 'variables.b used 1:19']],
  ['{{#items}}{{name}}{{/items}}', ['items tested 1:4', 'name possible 1:13', 'items.name possible 1:13', 'items.*.name possible 1:13']],
  ['{{#items as |item|}}{{item.name}}{{/items}}', ['items tested 1:4', 'name possible 1:23', 'items.name possible 1:23', 'items.*.name possible 1:23']],
  ['{{#variables.on}}{{variables.a}}{{/variables.on}}', ['variables.on tested 1:4', 'variables.a used 1:20']],
  ['{{#each l}}{{#on}}{{variables.a}}{{/on}}{{/each}}', ['l used 1:9', 'l.*.on tested 1:15', 'l.*.variables.a possible 1:21', 'l.*.on.variables.a possible 1:21', 'l.*.on.*.variables.a possible 1:21']],
  ['{{#find x}}{{name}}{{variables.a}}{{/find}}', ['x used 1:9']],
  ['{{#eq x 1}}{{variables.a}}{{/eq}}', ['x used 1:7', 'variables.a used 1:14']],
  ['{{#with (or variables.a variables.b)}}{{name}}{{/with}}', ['variables.a tested 1:13', 'variables.b tested 1:25', 'variables.a.name possible 1:41', 'variables.b.name possible 1:41']],
  ['{{#with (and variables.a variables.b)}}{{name}}{{/with}}', ['variables.a tested 1:14', 'variables.b tested 1:26', 'variables.b.name possible 1:42']],
  ['{{#with (default chat.s1 chat.s2)}}{{text}}{{/with}}', ['chat.s2 tested 1:26', 'chat.s1 tested 1:18', 'chat.s2.text possible 1:38', 'chat.s1.text possible 1:38']],
  ['{{find variables.q n=variables.n}}', ['variables.q used 1:8', 'variables.n used 1:22']],
  ['{{> p variables.a b=variables.b}}', ['variables.a used 1:7', 'variables.b used 1:21']],
  ['{{#> p}}{{variables.a}}{{/p}}', ['variables.a used 1:11']],
  ['{{#> p}}{{title}}{{/p}}', ['title possible 1:11']],
  ['{{#*inline "i"}}{{name}}{{variables.a}}{{/inline}}{{> i}}', ['name used 1:19', 'variables.a used 1:27']],
  ['{{#*inline "i"}}{{name}}{{/inline}}{{> i variables.a}}{{> i variables.b}}', ['variables.a.name used 1:19', 'variables.b.name used 1:19', 'variables.a used 1:42', 'variables.b used 1:61']],
  ['{{#*inline "i"}}{{name}}{{variables.a}}{{/inline}}', ['name possible 1:19', 'variables.a used 1:27']],
  ['{{#> p}}{{#*inline "i"}}{{name}}{{variables.a}}{{/inline}}{{/p}}', ['name possible 1:27', 'variables.a used 1:35']],
  ['{{#*inline "i"}}{{name}}{{variables.a}}{{/inline}}{{> i (find x)}}', ['x used 1:63']],
  ['{{#*inline "i"}}{{name}}{{variables.a}}{{/inline}}{{> i name=x}}', ['name possible 1:19', 'variables.a used 1:27', 'x used 1:62']],
  ['{{#*inline "i"}}{{#variables.on}}{{variables.a}}{{/variables.on}}{{/inline}}{{> i}}', ['variables.on tested 1:20', 'variables.a used 1:36']],
  ['{{#*inline "i"}}{{name}}{{#each kids}}{{> i}}{{/each}}{{/inline}}{{> i variables.tree}}', ['variables.tree.name used 1:19', 'variables.tree.kids.*.name used 1:19', 'variables.tree.kids used 1:33', 'variables.tree.kids.*.kids used 1:33', 'variables.tree used 1:72']],
  ['{{#*inline "i"}}{{../name}}{{/inline}}{{#each variables.l}}{{> i}}{{/each}}', ['variables.l used 1:47']],
  ['{{#*inline "a.b"}}{{> c this}}{{/inline}}{{#*inline "c"}}{{name}}{{/inline}}{{> a.b variables.u}}', ['variables.u used 1:25', 'variables.u.name used 1:60', 'variables.u used 1:85']],
  ['{{#> p variables.user}}{{name}}{{/p}}', ['variables.user used 1:8', 'variables.user.name possible 1:26']]
]

const PIECES = ['{{', '}}', '{{{', '}}}', '{{{{', '}}}}', '{{{{/', '{{#', '{{/', '{{^', '{{!', '{{!--', '--}}', '{{~', '~}}', '{{>', '{{#>', '{{#*inline "a"}}', '{{else}}', '{{#if x}}', '{{/if}}', '{{*',
  'if', 'each', 'a', '.', '/', '"', "'", '[', ']', '(', ')', '=', '|', 'as |', ' ', '\n', '\\', '@', '../', 'this', '1', 'true', 'null']

describe('pieces of Handlebars templates', () => {
  property('are refused, if they are, with a place in the text and in words of the language', 3000, given => {
    given.holds(fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 25, size: 'max' }), pieces => {
      const text = pieces.join('')
      try {
        compile(text)
      } catch (error) {
        if (!(error instanceof TemplateSyntaxError)) throw error
        assert.doesNotMatch(error.message, /[A-Z]{3}/)
        assert.ok(error.line >= 1 && error.line <= text.split('\n').length && error.column >= 1, `${error.line}:${error.column}`)
      }
    }))
  })
})

describe('what a Handlebars template refers to', () => {
  for (const [text, expected] of REFERENCES) {
    it(`lists the names in ${JSON.stringify(text)}`, () => {
      const found = compile(text).references.map(each => `${each.kind} ${each.name}(${each.arguments.join(', ')}) ${each.line}:${each.column}`)
      assert.deepEqual(found.sort(), [...expected].sort())
    })
  }

  for (const [text, expected] of PATHS) {
    it(`lists the paths in ${JSON.stringify(text)}`, () => {
      const found = compile(text).paths.map(({ path, use, line, column }) => `${path} ${use} ${line}:${column}`)
      assert.deepEqual(found, expected)
    })
  }

  it('says that it does not list the paths of an inline partial that is called with too many others', () => {
    const inline = (body: string) => `{{#*inline "row"}}${body.repeat(1900)}{{/inline}}${Array.from({ length: 50 }, (_, index) => `{{> row variables.a${index}}}`).join('')}`
    const [paths, calls] = [compile(inline('{{name}}')), compile(inline('{{> card}}'))]
    assert.deepEqual([paths.hasMorePaths, calls.hasMorePaths, compile('{{name}}').hasMorePaths], [true, true, false])
    assert.ok(paths.paths.length < 11_000, `${paths.paths.length} paths`)
    assert.ok(calls.references.flatMap(each => each.calls ?? []).length < 13_000)
  })
})
