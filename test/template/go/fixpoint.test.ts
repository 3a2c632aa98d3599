import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { render, renderStrictly, type World } from './workbench.ts'

/** Tools that give back what they are asked for, so that a template chooses their values. */
const WORLD: World = {
  variables: { list: ['a', 'b', 'c'], on: true, off: false, empty: [], user: { name: 'Ann' } },
  environs: { 'vscode.rules': 'be brief', 'vscode.limit': 3, 'chat.s1': { text: 'hi' }, 'chat.s2': { text: 'yo' }, 'chat.s2.deep': 1 },
  tools: {
    echo: value => value,
    give: (...values) => values,
    object: value => ({ value, list: [1, null, 3], none: null }),
    person: () => ({ name: 'Bo' }),
    broken: () => undefined
  },
  partials: {
    greet: 'Hello {{.name}}{{echo "!"}}',
    shared: '[{{.vscode.rules}}|{{.variables.user.name}}]'
  }
}

interface Case { readonly fact: string, readonly template: string, readonly output: string, readonly passes?: number }

const CASES: readonly Case[] = [
  // Calls
  { fact: 'makes independent calls in one round', template: '{{echo 1}}{{echo 2}}{{echo 3}}', output: '123', passes: 2 },
  { fact: 'makes equal calls once', template: '{{echo 1}}{{echo 1}}', output: '11', passes: 2 },
  { fact: 'makes a call that needs another in the next round', template: '{{echo (give 1)}}', output: '[1]', passes: 3 },
  { fact: 'notes the calls beside a pending argument', template: '{{give (echo 1) (echo 2) (give (echo 3))}}', output: '[1 2 [3]]', passes: 4 },
  { fact: 'passes the piped value last', template: '{{"b" | give "a"}}', output: '[a b]' },
  { fact: 'notes the calls of a pipeline behind a pending stage', template: '{{echo 1 | give (echo 2)}}', output: '[2 1]', passes: 3 },
  { fact: 'makes the assignments of a call with a pending argument', template: '{{$x := 0}}{{give (echo 1) ($x = 5)}}{{$x}}', output: '[1 5]5' },
  // Functions
  { fact: 'treats a function of a pending argument as pending', template: '{{len (echo "abc")}}{{print (echo 1) 2}}{{printf "%v-%v" (echo 1) (echo 2)}}', output: '31 21-2', passes: 2 },
  { fact: 'treats a comparison with a pending argument as pending', template: '{{if eq (echo 1) (echo 2)}}a{{else}}b{{end}}', output: 'b' },
  { fact: 'treats a shared function of a pending argument as pending', template: '{{upper (echo "a")}}{{echo "b" | upper}}', output: 'AB', passes: 2 },
  { fact: 'indexes by a pending key', template: '{{index .variables.list (echo 1)}}', output: 'b' },
  { fact: 'reads fields of a pending value', template: '{{(object 1).value}}{{$x := object 2}}{{$x.value}}', output: '12', passes: 2 },
  // Blocks
  { fact: 'renders neither branch of a pending if', template: '{{if echo true}}{{echo 1}}{{else}}{{broken}}{{end}}', output: '1', passes: 3 },
  { fact: 'marks what a pending if could assign', template: '{{$x := 1}}{{if echo true}}{{$x = 2}}{{end}}{{if eq $x 1}}{{broken}}{{end}}{{$x}}', output: '2' },
  { fact: 'marks what the else of a pending if could assign', template: '{{$x := 1}}{{if echo false}}{{else}}{{$x = 2}}{{end}}{{if eq $x 1}}{{broken}}{{end}}{{$x}}', output: '2' },
  { fact: 'skips a pending with', template: '{{with echo "v"}}{{echo .}}{{else}}{{broken}}{{end}}', output: 'v' },
  { fact: 'skips a pending range', template: '{{range give 1 2}}{{echo .}}{{else}}{{broken}}{{end}}', output: '12', passes: 3 },
  { fact: 'holds the list in header variables of a pending range', template: '{{$x := 0}}{{range $x = give 1 2}}{{end}}{{if eq $x 0}}{{broken}}{{end}}{{$x}}', output: '2' },
  { fact: 'marks what a pending range could assign', template: '{{$x := 0}}{{range give 1}}{{$x = .}}{{end}}{{if eq $x 0}}{{broken}}{{end}}{{$x}}', output: '1' },
  { fact: 'marks what parentheses in skipped code could assign', template: '{{$x := 0}}{{if echo true}}{{print ($x = 4)}}{{end}}{{if eq $x 0}}{{broken}}{{end}}{{$x}}', output: '44' },
  { fact: 'holds a pending value in the variable of an if', template: '{{if $x := echo 1}}{{$x}}{{end}}', output: '1' },
  // Operands that are not reached
  { fact: 'stops a pending and', template: '{{$x := 0}}{{if and (echo false) ($x = 1)}}{{end}}{{if eq $x 1}}{{broken}}{{end}}{{$x}}', output: '0' },
  { fact: 'marks what the rest of a pending and could assign', template: '{{$x := 0}}{{if and (echo true) ($x = 1)}}{{end}}{{if eq $x 0}}{{broken}}{{end}}{{$x}}', output: '1' },
  { fact: 'stops a pending or', template: '{{or (echo "a") (broken)}}', output: 'a' },
  { fact: 'stops a pending default', template: '{{default (broken) (echo "a")}}{{echo "b" | default (broken)}}', output: 'ab' },
  { fact: 'marks what the fallback of a pending default could assign', template: '{{$x := 0}}{{$y := default ($x = 1) (echo "")}}{{if eq $x 0}}{{broken}}{{end}}{{$x}}{{$y}}', output: '11' },
  // Jumps
  { fact: 'skips the rest of an iteration behind a skipped continue', template: '{{range .variables.list}}{{if eq (echo .) "b"}}{{continue}}{{end}}{{give .}}{{end}}', output: '[a][c]', passes: 3 },
  { fact: 'skips later iterations behind a skipped break', template: '{{range .variables.list}}{{if eq (echo .) "b"}}{{break}}{{end}}{{give .}}{{end}}', output: '[a]', passes: 3 },
  { fact: 'marks what a skipped continue jumps over', template: '{{$x := 0}}{{range .variables.list}}{{if echo true}}{{continue}}{{end}}{{$x = 1}}{{end}}{{if eq $x 1}}{{broken}}{{end}}{{$x}}', output: '0' },
  { fact: 'marks what runs when a skipped continue does not happen', template: '{{$x := 0}}{{range .variables.list}}{{if echo false}}{{continue}}{{end}}{{$x = 1}}{{end}}{{if eq $x 0}}{{broken}}{{end}}{{$x}}', output: '1' },
  { fact: 'counts a break that a skipped continue jumps over', template: '{{range .variables.list}}{{if eq (echo .) "a"}}{{continue}}{{end}}{{break}}{{end}}', output: '', passes: 3 },
  { fact: 'marks what iterations behind a skipped break could assign', template: '{{$x := 0}}{{range .variables.list}}{{if echo false}}{{break}}{{end}}{{$x = .}}{{end}}{{if eq (print $x) "0"}}{{broken}}{{end}}{{$x}}', output: 'c' },
  { fact: 'marks the header variables of iterations behind a skipped break', template: '{{$x := 0}}{{range $x = .variables.list}}{{if echo false}}{{break}}{{end}}{{end}}{{if eq $x "a"}}{{broken}}{{end}}{{$x}}', output: 'c' },
  { fact: 'keeps a skipped break inside its own range', template: '{{range .variables.list}}{{range give 1}}{{break}}{{end}}{{echo .}}{{end}}', output: 'abc', passes: 2 },
  { fact: 'ends a range by a break in its else, and no other', template: '{{range .variables.list}}{{range $.variables.empty}}{{else}}{{if echo true}}{{break}}{{end}}{{end}}{{echo .}}{{end}}', output: 'abc', passes: 2 },
  { fact: 'takes a continue in the else of a range to the outer loop', template: '{{range .variables.list}}{{range $.variables.empty}}{{else}}{{if echo true}}{{continue}}{{end}}{{end}}{{.}}{{end}}', output: '', passes: 2 },
  // Templates
  { fact: 'runs a template with a pending dot', template: '{{define "t"}}{{.}}{{echo 2}}{{end}}{{template "t" (echo 1)}}', output: '12', passes: 2 },
  { fact: 'runs a partial with a pending dot', template: '{{template "greet" (person)}}', output: 'Hello Bo!', passes: 2 },
  { fact: 'gives a partial its argument as dot', template: '{{template "greet" .variables.user}}', output: 'Hello Ann!' },
  { fact: 'lets a partial reach the scope root', template: '{{template "shared" .variables.user}}{{template "shared" "text"}}', output: '[be brief|Ann][be brief|Ann]' },
  { fact: 'marks what the argument of a skipped template could assign', template: '{{define "t"}}{{end}}{{$x := 0}}{{if echo true}}{{template "t" ($x = 1)}}{{end}}{{if eq $x 0}}{{broken}}{{end}}{{$x}}', output: '1' },
  // Shared variables
  { fact: 'fetches shared variables', template: '{{.vscode.rules}} {{.chat.s1.text}}', output: 'be brief hi', passes: 2 },
  { fact: 'reads a branch when it is printed', template: '{{.vscode}}', output: 'map[limit:3 rules:be brief]', passes: 2 },
  { fact: 'iterates over a branch', template: '{{range $key, $value := .vscode}}{{$key}}={{$value}};{{end}}', output: 'limit=3;rules=be brief;', passes: 2 },
  { fact: 'counts and tests a branch without fetching', template: '{{len .vscode}}{{if .vscode}}y{{end}}{{if .variables.nope}}n{{end}}', output: '2y', passes: 1 },
  { fact: 'finds one key by a dynamic segment', template: '{{(index .chat (echo "s1")).text}}', output: 'hi', passes: 3 },
  { fact: 'passes a branch to a tool in full', template: '{{echo .vscode}}', output: 'map[limit:3 rules:be brief]', passes: 3 },
  { fact: 'merges a value with what lies below it', template: '{{.chat.s2.text}}{{.chat.s2.deep}}', output: 'yo1' },
  // Nothing
  { fact: 'prints nothing for a failed tool', template: '[{{broken}}{{broken | print}}{{(broken).a.b}}{{len broken}}{{range broken}}x{{else}}e{{end}}]', output: '[0e]' },
  { fact: 'gives nothing for what is missing in a tool\'s result', template: '{{$x := object 1}}[{{$x.nope}}{{$x.nope.a}}{{index $x.list 9}}{{index $x "nope" "a"}}]', output: '[]' },
  { fact: 'gives nothing for fields of a null in a tool\'s result', template: '{{$x := object 1}}[{{$x.none.a}}{{$y := $x.none}}{{$y.a}}{{range $x.list}}{{.}}{{end}}]', output: '[13]' },
  { fact: 'passes nothing to a tool as null', template: '{{if not (echo (broken))}}{{json (give (broken))}}{{end}}', output: '[null]' },
  { fact: 'is false in every order beside nothing', template: '{{lt (broken) 1}}{{gt (broken) 1}}{{ge 1 (broken)}}{{eq (broken) ""}}{{eq (broken) nil}}', output: 'falsefalsefalsefalsetrue' }
]

describe('a render to a fixpoint', () => {
  for (const { fact, template, output, passes } of CASES) {
    it(fact, async () => {
      const rendered = await render(template, WORLD)
      const strict = renderStrictly(template, WORLD)
      assert.equal(rendered.output, output)
      assert.equal(strict.output, output)
      assert.deepEqual([...rendered.calls].sort(), [...strict.calls].sort())
      if (passes !== undefined) assert.equal(rendered.passes, passes)
    })
  }
})
