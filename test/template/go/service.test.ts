import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GoByte, GoComplex, GoFloat, isGoDataName } from '../../../src/template/go/go-value.ts'
import { language, render, type World } from './workbench.ts'

const WORLD: World = {
  variables: { name: 'Ann', none: null, count: 3, ratio: 0.5, big: 12345678901234567890n, list: [1, 2, 3], user: { none: null, tags: ['x'], title: 'T' }, bytes: 'é', weird: { kind: 'k', path: 'p', length: 5, value: 6 } },
  environs: { 'vscode.rules': 'brief', 'chat.s1': 'hi', 'state.kind': 'environ' },
  tools: { echo: value => value, broken: () => undefined, find: () => ({ kind: 'tool', items: [] }) },
  partials: {
    card: '{{.title}} by {{.variables.name}} in {{.vscode.rules}}{{with .tags}}{{.}}{{end}}',
    rules: '{{.vscode.rules}}',
    argument: '{{$}}{{if .}}!{{end}}',
    failing: 'a\n{{index .variables.list 9}}',
    missing: '{{.nope.deep}}',
    nested: '{{template "card" .}}'
  }
}

describe('the Go engine in the service', () => {
  const OUTPUTS: ReadonlyArray<readonly [fact: string, template: string, output: string]> = [
    ['prints null as empty text', '[{{.name}}{{.none}}{{print .none}}{{printf "%v%s" .none nil}}{{html .none}}]', '[Ann]'],
    ['keeps null visible inside a list or map', '{{.user}}', 'map[none:<nil> tags:[x] title:T]'],
    ['formats integers with float verbs', '{{printf "%.2f %g %e" .count .count .count}}{{printf " %.1f" .list}}', '3.00 3 3.000000e+00 [1.0 2.0 3.0]'],
    ['keeps every digit of a large integer', '{{.big}} {{print .big}} {{printf "%d" .big}} {{eq .big 1}}', '12345678901234567890 12345678901234567890 12345678901234567890 false'],
    ['tests what is missing without a miss', '{{if .variables.no}}a{{else}}b{{end}}{{with .variables.no.deeper}}a{{else}}b{{end}}{{not .variables.no}}{{or .variables.no "d"}}{{default "e" .variables.no}}{{$x := .variables.no}}{{if $x}}a{{else}}f{{end}}{{range .variables.no}}a{{else}}g{{end}}', 'bbtruedefg'],
    ['defaults absent, null, nothing and empty text only', '{{default 1 .none}}{{default 1 .variables.no}}{{default 1 (broken)}}{{default 1 ""}}{{default 1 0}}{{default 1 false}}{{.count | default 1}}', '11110false3'],
    ['stops and and or at the operand that decides', '{{and 0 (index .list 9)}}{{or 1 (index .list 9)}}', '01'],
    ['ranges over an integer', '{{range 3}}{{.}}{{end}}{{range $i := 2}}{{$i}}{{end}}{{range 0}}a{{else}}b{{end}}', '01201b'],
    ['reads data whose names the engine uses itself', '{{.weird.kind}}{{.weird.path}}{{.weird.length}}{{.weird.value}}{{(find).kind}}{{.state.kind}}', 'kp56toolenviron'],
    ['finds bare names among the variables', '{{.name}} {{$.name}} {{.args.name}} {{.variables.name}}', 'Ann Ann Ann Ann'],
    ['passes the argument of a partial as $', '{{template "argument" "x"}}{{template "argument"}}{{template "argument" .none}}', 'x!'],
    ['prefers a local template to a partial', '{{define "card"}}local{{end}}{{template "card" .}}', 'local'],
    ['does not fall back in a local template', '{{define "t"}}{{if .name}}a{{else}}b{{end}}{{end}}{{template "t" .user}}', 'b'],
    ['takes a header\'s value from the variable that it shadows', '{{$x := .user}}{{range $x := $x.tags}}{{$x}}{{end}}{{with $x := $x.title}}{{$x}}{{end}}{{$x.title}}', 'xTT'],
    ['assigns in a header that looks at a path', '{{$x := 1}}{{if $x = .count}}{{$x}}{{end}}{{with $x = .name}}{{end}}{{range $x = .list}}{{end}}{{$x}}', '33'],
    ['joins bytes to characters', '{{print (slice .bytes 0 1) (slice .bytes 1 2)}}', 'é'],
    ['calls shared functions with plain values', '{{json 1.0}} {{json (index "a" 0)}} {{json .user}}', '1 97 {"none":null,"tags":["x"],"title":"T"}'],
    ['assigns to a variable that nobody declared only when it gets there', '{{if .variables.a}}{{$x = 1}}{{$x}}{{end}}{{with .variables.a}}{{range $y = .list}}{{$y}}{{end}}{{end}}ok', 'ok'],
    ['takes an empty name for that of a template like any other', '{{define ""}}own{{end}}x{{template "" .}}', 'xown'],
    ['treats text of a tool as text', '{{echo "{{.name}}"}}', '{{.name}}']
  ]
  for (const [fact, template, output] of OUTPUTS) {
    it(fact, async () => {
      assert.equal((await render(template, WORLD)).output, output)
    })
  }

  it('lets a partial reach the names of the scope root, and its argument win over them', async () => {
    assert.equal((await render('{{template "card" .user}}', WORLD)).output, 'T by Ann in brief[x]')
    assert.equal((await render('{{template "nested" .user}}', WORLD)).output, 'T by Ann in brief[x]')
    assert.equal((await render('{{template "rules" .mine}}', { ...WORLD, variables: { mine: { vscode: { rules: 'mine' } } } })).output, 'mine')
    assert.equal((await render('{{template "card" .mine}}', { ...WORLD, variables: { name: 'Ann', mine: { title: 'T', variables: { name: 'Own' } } } })).output, 'T by Own in brief')
  })

  it('takes an index of slice straight out of a map', async () => {
    assert.equal((await render('{{slice .list 0 .ends.two}}', { variables: { list: [1, 2, 3], ends: { two: 2 } } })).output, '[1 2]')
  })

  const MISSES: ReadonlyArray<readonly [template: string, paths: readonly string[]]> = [
    ['{{.variables.a}}{{.variables.b.c}}', ['variables.a', 'variables.b.c']],
    ['{{.a}}', ['variables.a']],
    ['{{print .user.a .user.b}}', ['user.a', 'user.b']],
    ['{{range .variables.a}}{{end}}', ['variables.a']],
    ['{{len .variables.a}}{{eq .variables.b 1}}', ['variables.a', 'variables.b']],
    ['{{echo .variables.a}}', ['variables.a']],
    ['{{template "card" .variables.a}}', ['variables.a']],
    ['{{index .variables.user "a" "b"}}', ['variables.user.a.b']],
    ['{{index .chat .variables.a}}', ['variables.a']],
    ['{{.chat.nope}}{{.vscode.nope.deeper}}', ['chat.nope', 'vscode.nope.deeper']],
    ['{{and 1 .variables.a}}{{or 0 .variables.b}}', ['variables.a', 'variables.b']],
    ['{{$x := .variables.a}}{{$x}}{{with $x}}{{else}}{{$x.b}}{{end}}', ['variables.a', 'variables.a.b']],
    ['{{with .user}}{{.a}}{{end}}{{range .people}}{{.a}}{{end}}', ['user.a', 'variables.people']],
    ['{{template "missing" .user}}', ['nope.deep']],
    ['{{define "t"}}{{index . "d"}}{{index . "d" "e"}}{{.d.e}}{{end}}{{template "t" .user}}', ['.d', '.d.e', '.d.e']],
    ['{{upper .variables.a | print .variables.b}}{{index .list 99}}', ['variables.a', 'variables.b']]
  ]
  for (const [template, paths] of MISSES) {
    it(`misses ${paths.join(', ')} in ${template}`, async () => {
      await assert.rejects(render(template, WORLD), (error: { code?: string, details?: { missing: ReadonlyArray<{ path: string }> } }) => {
        assert.equal(error.code, 'VARIABLE_MISSING')
        assert.deepEqual(error.details?.missing.map(({ path }) => path), paths)
        return true
      })
    })
  }

  it('tells where a missing value is used', async () => {
    await assert.rejects(render('é\n😀 {{print 1 .variables.user.a}}', WORLD), { message: 'Prompt "test" needs values that are missing: variables.user.a (line 2, column 14)' })
  })

  const FAILURES: ReadonlyArray<readonly [template: string, message: string, line: number, column: number]> = [
    ['a\n {{index .list 9}}', '<index .list 9>: error calling index: index out of range: 9', 2, 4],
    ['{{.name.x}}', "<.name.x>: can't evaluate field x in type interface {}", 1, 3],
    ['{{.user.none.x}}', '<.user.none.x>: nil pointer evaluating interface {}.x', 1, 3],
    ['{{upper 1}}', '<upper 1>: error calling upper: upper needs a text', 1, 3],
    ['{{range .name}}{{end}}', "<.name>: range can't iterate over Ann", 1, 9],
    ['{{lt .list 1}}', '<lt .list 1>: error calling lt: invalid type for comparison', 1, 3],
    ['{{$x = 1}}', '<1>: undefined variable: $x', 1, 8],
    ['{{$x = 1}}{{$x}}', '<1>: undefined variable: $x', 1, 8],
    ['{{range $x = .list}}{{end}}', '<.list>: undefined variable: $x', 1, 14],
    ['{{len}}', '<len>: wrong number of args for len: want 1 got 0', 1, 3],
    ['{{template "failing" .}}', '<index .variables.list 9>: error calling index: index out of range: 9', 2, 3]
  ]
  for (const [template, message, line, column] of FAILURES) {
    it(`fails with a reason and a place in ${JSON.stringify(template)}`, async () => {
      await assert.rejects(render(template, WORLD), { name: 'RenderError', message, line, column })
    })
  }

  it('never reads JavaScript\'s own properties', async () => {
    for (const name of ['constructor', '__proto__', 'hasOwnProperty', 'toString', 'valueOf', 'isPrototypeOf', 'toLocaleString']) {
      assert.equal((await render(`{{if .user.${name}}}a{{else}}b{{end}}{{if .variables.${name}}}a{{else}}b{{end}}{{if index .user "${name}"}}a{{else}}b{{end}}`, WORLD)).output, 'bbb')
      await assert.rejects(render(`{{.user.${name}}}`, WORLD), { code: 'VARIABLE_MISSING' })
    }
  })

  it('reads own data of any name', async () => {
    const user = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": "a"}') as Record<string, number>
    assert.equal((await render('{{.user.__proto__}}{{.user.constructor}}{{.user.toString}}{{.user}}', { variables: { user } })).output, '12amap[__proto__:1 constructor:2 toString:a]')
  })

  it('takes no property of Go\'s own values for data', () => {
    for (const value of [new GoFloat(1), new GoByte(1), new GoComplex(0, 1)]) {
      assert.deepEqual(Object.getOwnPropertyNames(value).filter(isGoDataName), [])
    }
  })
})

describe('what a Go template needs', () => {
  it('lists tools and partials with their arguments, in source order', () => {
    const { references } = language.compile({ text: '{{define "own"}}{{inner .a}}{{end}}{{outer 1 (inner "x") | last 2}}\n{{template "own" .}}{{template "other" .b.c}}{{print (alone)}}{{field.x}}' })
    assert.deepEqual(references.map(({ kind, name, arguments: args, line, column }) => [kind, name, args, `${line}:${column}`]), [
      ['function', 'inner', ['.a'], '1:19'],
      ['function', 'outer', ['1', '(inner "x")'], '1:38'],
      ['function', 'inner', ['"x"'], '1:47'],
      ['function', 'last', ['2', 'outer 1 (inner "x")'], '1:60'],
      ['partial', 'other', ['.b.c'], '2:32'],
      ['function', 'alone', [], '2:55'],
      ['function', 'field', [], '2:65']
    ])
  })

  const PATHS: ReadonlyArray<readonly [template: string, paths: readonly string[]]> = [
    ['{{.variables.a.b}}{{$.vscode.rules}}', ['variables.a.b used', 'vscode.rules used']],
    ['{{if .a}}{{.a}}{{end}}', ['a tested', 'a used']],
    ['{{with .vscode}}{{.rules}}{{else}}{{.name}}{{end}}', ['vscode tested', 'vscode.rules used', 'name used']],
    ['{{range .items}}{{.name}}{{end}}', ['items used', 'items.*.name used']],
    ['{{range $i, $x := .items}}{{$x.a}}{{$i}}{{else}}{{end}}', ['items tested', 'items.*.a used']],
    ['{{index .chat .variables.session}}{{index .m "key"}}{{(index .m "a").b}}', ['chat.* used', 'variables.session used', 'm.key used', 'm.a.b used']],
    ['{{or .a .b}}{{and .c .d}}{{not .e}}{{default .f .g}}{{.h | default "x"}}', ['a tested', 'b used', 'c used', 'd used', 'e tested', 'f used', 'g tested', 'h tested']],
    ['{{$x := .a}}{{$x.b}}{{$x = .c}}{{$x.d}}', ['a.b used', 'c.d used']],
    ['{{$x := .a}}{{$x}}{{$y := $x.b}}{{if $y}}{{$y.c}}{{end}}', ['a used', 'a.b tested', 'a.b.c used']],
    ['{{$x := .a}}{{if .b}}{{$x = .c}}{{else}}{{$x = .d}}{{end}}{{$x}}', ['b tested', 'a used', 'c used', 'd used']],
    ['{{$x := .a}}{{if and .b ($x = .c)}}{{end}}{{$x.d}}', ['b tested', 'c tested', 'a.d used', 'c.d used']],
    ['{{upper ($x := .a)}}{{$x.b}}', ['a used', 'a.b used']],
    ['{{$x := .a}}{{range .l}}{{$x.b}}{{$x = .c}}{{end}}', ['l used', 'a.b used', 'l.*.c.b used']],
    ['{{$x := .a}}{{$y := .b}}{{range $x = .l}}{{$x.c}}{{end}}{{$y.d}}{{$x.e}}', ['l used', 'a.c used', 'l.c used', 'l.*.c used', 'b.d used', 'a.e used', 'l.e used', 'l.*.e used']],
    ['{{range $i, $x := .l}}{{$x.a}}{{else}}{{$i}}{{$x}}{{end}}', ['l tested', 'l.*.a used', 'l used', 'l used']],
    ['{{with or .a .b}}{{.c}}{{end}}{{(and .d .e).f}}', ['a tested', 'b tested', 'a.c used', 'b.c used', 'e.f used', 'd tested', 'e tested']],
    ['{{$x := and .a .b}}{{if $x}}{{end}}{{$y := .c | default "x"}}{{$y}}', ['a tested', 'b tested', 'c tested']],
    ['{{define "t"}}{{.name}}{{range .more}}{{template "t" .}}{{end}}{{end}}{{template "t" .a}}', ['a.name used', 'a.more used', 'a.more.* used', 'a used']],
    ['{{define "t"}}{{.x}}{{$.y}}{{end}}{{template "t" .a}}{{template "t" .b}}', ['a.x used', 'b.x used', 'a.y used', 'b.y used', 'a used', 'b used']],
    ['{{tool .a (print .b) | print .c}}{{(tool .d).e}}', ['a used', 'b used', 'c used', 'd used']],
    ['{{define "r"}}{{template "r" .next}}{{end}}{{template "r" .}}', []]
  ]
  for (const [text, paths] of PATHS) {
    it(`lists the paths of ${text}`, () => {
      const found = language.compile({ text }).paths.map(({ path, use }) => `${path} ${use}`)
      assert.deepEqual(paths.length === 0 ? [] : found, paths)
    })
  }

  it('lists what fails whenever it runs, and renders without it', async () => {
    const text = '{{if .variables.no}}\n{{upper 1 2}}{{end}}ok'
    assert.deepEqual(language.compile({ text }).failing, [{ reason: 'wrong number of args for upper: want 1 got 2', line: 2, column: 3 }])
    assert.equal((await render(text)).output, 'ok')
  })

  it('lists each argument of a partial in a template that is called with several', () => {
    const { references } = language.compile({ text: '{{define "row"}}{{template "card" .}}{{end}}{{template "row" .a}}{{if .c}}{{template "row" .b}}{{end}}{{template "card" (or .d .e)}}' })
    assert.deepEqual(references.map(({ calls }) => calls?.map(({ dot, isConditional }) => [dot, isConditional])), [[['a', false], ['b', true]], [['d', false], ['e', false]]])
  })

  const rows = (count: number): string => Array.from({ length: count }, (_, index) => `{{template "row" .a${index}}}`).join('')
  const twice = (name: string, next: string): string => `{{define "${name}"}}{{template "${next}" .x}}{{template "${next}" .y}}{{end}}`
  const tree = Array.from({ length: 30 }, (_, index) => twice(`t${index}`, `t${index + 1}`)).join('')
  const SIZES: ReadonlyArray<readonly [fact: string, text: string, isCutShort: boolean]> = [
    ['of a body that is called with a thousand arguments', `{{define "row"}}{{.name}}{{end}}${rows(1000)}`, false],
    ['of a variable that a loop descends with', '{{$x := .a}}{{range .l}}{{$x = $x.next}}{{end}}', true],
    ['of bodies that call each other with ever other arguments', `${tree}{{define "t30"}}{{.z}}{{end}}{{template "t0" .}}`, true]
  ]
  for (const [fact, text, isCutShort] of SIZES) {
    it(`${isCutShort ? 'says that there are more paths than those' : 'lists all paths'} ${fact}`, () => {
      assert.equal(language.compile({ text }).hasMorePaths, isCutShort)
    })
  }
})

describe('the bounds of a Go template', () => {
  const recursive = (block: string, blocks: number): string => `{{define "r"}}${block.repeat(blocks)}{{template "r" $}}${'{{end}}'.repeat(blocks)}{{end}}{{template "r" 1}}`
  const BOMBS: ReadonlyArray<readonly [fact: string, template: string]> = [
    ['a range over a huge integer', '{{range 1000000000}}{{end}}'],
    ['ranges within ranges', '{{range 200}}{{range 200}}{{range 200}}{{range 200}}x{{end}}{{end}}{{end}}{{end}}'],
    ['a recursive template', recursive('', 0)],
    ['a recursive template of nested conditions', recursive('{{if $}}', 95)],
    ['a recursive template of nested loops', recursive('{{range $}}', 95)],
    ['a recursive template of nested else branches', `{{define "r"}}{{if 0}}${'{{else if 0}}'.repeat(400)}{{else}}{{template "r"}}{{end}}{{end}}{{template "r"}}`],
    ['templates that call each other twice', Array.from({ length: 30 }, (_, index) => `{{define "t${index}"}}{{template "t${index + 1}"}}{{template "t${index + 1}"}}{{end}}`).join('') + '{{define "t30"}}x{{end}}{{template "t0"}}'],
    ['a string that doubles', '{{$x := "0123456789"}}{{range 100}}{{$x = print $x $x}}{{end}}'],
    ['text repeated', `{{range 1000}}${'x'.repeat(2000)}{{end}}`],
    ['a large value printed often', '{{range 2000}}{{$.text}}{{end}}'],
    ['a large list printed often', '{{range 100}}{{len (print $.list)}}{{end}}'],
    ['wide padding', '{{range 1000}}{{$x := printf "%999999d" 1}}{{end}}'],
    ['precise floats', '{{range 1000}}{{$x := printf "%.999999f %.999999e" 1.5 0.1}}{{end}}'],
    ['the beginning of a large text, many times', '{{range 1000}}{{$x := printf "%.1s" $.text}}{{end}}'],
    ['escapes of a large text', '{{range 1000}}{{$x := urlquery (html (js $.text))}}{{printf "%+q" $.text | len}}{{end}}'],
    ['indexes into a large text', '{{range 100000}}{{$x := index $.text 1}}{{slice $.text 1 2}}{{end}}'],
    ['huge integers', '{{range 1000}}{{$x := print $.huge}}{{end}}'],
    ['sorted keys of a large map', '{{range 1000}}{{range $.map}}{{break}}{{end}}{{end}}'],
    ['calls without end', '{{range 1000}}{{echo .}}{{end}}']
  ]
  const variables = {
    text: '中\'"'.repeat(100_000),
    list: new Array<string>(10_000).fill('x'.repeat(100)),
    map: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, index])),
    huge: 10n ** 20_000n
  }
  for (const [fact, template] of BOMBS) {
    it(`stops ${fact}`, async () => {
      await assert.rejects(render(template, { variables, tools: { echo: value => value } }), { code: fact.startsWith('a recursive template') ? 'RENDER_ENDLESS' : 'RENDER_BUDGET' })
    })
  }

  it('looks for the end of an index in a format only where there is one', async t => {
    const format = '%[d'.repeat(1000)
    const search = t.mock.method(String.prototype, 'indexOf')
    const { output } = await render('{{printf .variables.format}}', { variables: { format } })
    assert.equal(search.mock.calls.filter(call => call.this === format && call.arguments[0] === ']').length, 0)
    search.mock.restore()
    assert.match(output, /^%!d\(BADINDEX\)/)
  })

  it('renders blocks as deep as a template may nest', async () => {
    const deep = `${'{{if 1}}'.repeat(98)}{{if 0}}0${Array.from({ length: 498 }, (_, index) => `{{else if ${'('.repeat(90)}eq 1 ${index}${')'.repeat(90)}}}${index}`).join('')}{{end}}${'{{end}}'.repeat(98)}`
    assert.equal((await render(deep)).output, '1')
  })
})
