import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { NOTHING, type Value } from '../../../src/template/value.ts'
import { render, type Setting } from './render.ts'

/** Tools as functions of their arguments. */
const tools: NonNullable<Setting['tools']> = {
  echo: argument => argument['0'] as Value,
  show: argument => JSON.stringify(argument),
  find: argument => [{ path: `${String(argument['0'])}.go`, line: 1 }, { path: 'b.go', line: null }],
  user: () => ({ name: 'Ann', mail: null, tags: [] }),
  yes: () => true,
  no: () => false,
  fail: () => NOTHING,
  nil: () => null,
  count: () => 3
}
const variables: JsonObject = { a: 'A', list: ['x', 'y'], user: { name: 'Bob' } }
const partials = { show: '<{{this}}>', call: '{{echo "in"}}{{this}}', item: '{{path}}:{{label}}', slot: '[{{> @partial-block}}]' }

/** Title, template, output, passes, calls. */
const CASES: ReadonlyArray<readonly [string, string, string, number, readonly string[]]> = [
  ['calls a tool by its name', '{{count}}', '3', 2, ['count {}']],
  ['calls a tool with positional and named arguments', '{{show "x" n=1 user=user}}', '{"0":"x","n":1,"user":{"name":"Bob"}}', 2, ['show {"0":"x","n":1,"user":{"name":"Bob"}}']],
  ['makes equal calls once', '{{count}}{{count}}{{#each list}}{{count}}{{/each}}', '3333', 2, ['count {}']],
  ['makes unrelated calls in one round', '{{echo "1"}}{{#each list}}{{echo this}}{{/each}}', '1xy', 2, ['echo {"0":"1"}', 'echo {"0":"x"}', 'echo {"0":"y"}']],
  ['makes a call that depends on another in the next round', '{{echo (echo "1")}}', '1', 2, ['echo {"0":"1"}']],
  ['waits for an argument', '{{show (count) x=(yes)}}', '{"0":3,"x":true}', 3, ['count {}', 'yes {}', 'show {"0":3,"x":true}']],
  ['evaluates the other arguments of a pending function', '{{join (echo ",") (find (echo "q"))}}', '{"path":"q.go","line":1},{"path":"b.go","line":null}', 3, ['echo {"0":","}', 'echo {"0":"q"}', 'find {"0":"q"}']],
  ['skips both branches of a pending if', '{{#if (yes)}}{{echo "then"}}{{else}}{{echo "else"}}{{/if}}', 'then', 3, ['yes {}', 'echo {"0":"then"}']],
  ['skips both branches of a pending unless', '{{#unless (no)}}{{echo "then"}}{{else}}{{echo "else"}}{{/unless}}', 'then', 3, ['no {}', 'echo {"0":"then"}']],
  ['skips a pending each', '{{#each (find "a")}}{{echo path}}{{else}}{{echo "none"}}{{/each}}', 'a.gob.go', 3, ['find {"0":"a"}', 'echo {"0":"a.go"}', 'echo {"0":"b.go"}']],
  ['skips a pending with', '{{#with (user)}}{{name}}{{echo name}}{{/with}}', 'AnnAnn', 3, ['user {}', 'echo {"0":"Ann"}']],
  ['takes a block of a tool for with', '{{#user}}{{name}}{{else}}nobody{{/user}}', 'Ann', 2, ['user {}']],
  ['takes a block of a tool with arguments for with', '{{#find "a" as |found|}}{{found.[0].path}}{{/find}}', 'a.go', 2, ['find {"0":"a"}']],
  ['takes a block of a tool that gives true for with', '{{#yes}}{{this}}{{/yes}}', 'true', 2, ['yes {}']],
  ['does not evaluate what and does not need', '{{#if (and (no) (echo "x"))}}1{{else}}2{{/if}}', '2', 2, ['no {}']],
  ['evaluates the rest of and when it is needed', '{{and (yes) (echo "x")}}', 'x', 3, ['yes {}', 'echo {"0":"x"}']],
  ['does not evaluate what or does not need', '{{or (count) (echo "x")}}', '3', 2, ['count {}']],
  ['does not evaluate a fallback that is not needed', '{{default (echo "x") (count)}}', '3', 2, ['count {}']],
  ['evaluates a fallback that is needed', '{{default (echo "x") (fail)}}', 'x', 3, ['fail {}', 'echo {"0":"x"}']],
  ['does not evaluate a fallback for false', '{{default (echo "x") (no)}}', 'false', 2, ['no {}']],
  ['runs a partial with a pending context for its independent calls', '{{> call (count)}}', 'in3', 2, ['count {}', 'echo {"0":"in"}']],
  ['has a context pending as a whole when a named argument is', '{{#with user}}{{> show x=(count)}}{{/with}}', '<{"name":"Bob","x":3}>', 2, ['count {}']],
  ['finds the calls of a block given to a pending partial', '{{#> slot (user)}}{{echo "b"}}{{name}}{{/slot}}', '[bAnn]', 2, ['user {}', 'echo {"0":"b"}']],
  ['knows the outer context of a block in a pending partial', '{{#with user}}{{#> slot (count)}}{{../name}}{{this}}{{/slot}}{{/with}}', '[Bob3]', 2, ['count {}']],
  ['knows the outer contexts of pending contexts', '{{#*inline "in"}}{{#> slot (echo "b")}}{{../name}}{{/slot}}{{/inline}}{{> in (user)}}', '[Ann]', 2, ['user {}', 'echo {"0":"b"}']],
  ['looks up by a pending key', '{{lookup user (echo "name")}}', 'Bob', 2, ['echo {"0":"name"}']],
  ['compares a pending value', '{{eq (count) 3}}{{not (yes)}}', 'truefalse', 2, ['count {}', 'yes {}']],
  ['prints nothing for a failed tool', '[{{fail}}][{{#if (fail)}}x{{else}}none{{/if}}][{{#each (fail)}}x{{/each}}][{{len (fail)}}][{{json (fail)}}]', '[][none][][0][null]', 2, ['fail {}']],
  ['gives nothing for members of nothing', '{{#with (user)}}[{{mail.home.deeper}}][{{nope}}]{{/with}}{{lookup (fail) "x"}}', '[][]', 2, ['user {}', 'fail {}']],
  ['gives nothing for what is missing in a tool\'s result', '{{#each (find "a")}}{{path}}{{nope}}{{line.x}}{{lookup this "y"}} {{/each}}', 'a.go b.go ', 2, ['find {"0":"a"}']],
  ['keeps that through named arguments', '{{#each (find "a")}}{{> item x=1}} {{/each}}', 'a.go: b.go: ', 2, ['find {"0":"a"}']],
  ['passes nothing to a tool as null', '{{show (fail)}}', '{"0":null}', 3, ['fail {}', 'show {"0":null}']],
  ['leaves a named argument that is nothing out of a printed context', '{{#with user}}{{> show x=(fail)}}{{/with}}', '<{"name":"Bob"}>', 2, ['fail {}']],
  ['is a path where no tool has the name', '{{a}}{{#a}}{{this}}{{/a}}', 'AA', 1, []]
]

describe('pending values in Handlebars', () => {
  for (const [title, text, output, passes, calls] of CASES) {
    it(title, async () => {
      const rendered = await render(text, { tools, variables, partials })
      assert.equal(rendered.output, output)
      assert.deepEqual([...rendered.calls].sort(), [...calls].sort())
      assert.equal(rendered.passes, passes)
    })
  }

  it('reports a miss before it makes a call', async () => {
    let called = false
    const recording = { count: () => { called = true; return 1 } }
    await assert.rejects(render('{{count}}{{missing}}', { tools: recording }), { code: 'VARIABLE_MISSING' })
    assert.equal(called, false)
  })

  it('reports misses rather than an error of the same pass', async () => {
    await assert.rejects(render('{{missing}}{{upper list}}', { variables }), { code: 'VARIABLE_MISSING' })
  })

  it('records the misses among the arguments of a pending call', async () => {
    await assert.rejects(render('{{show (count) missing}}', { tools }), { code: 'VARIABLE_MISSING' })
  })

  it('refuses more distinct calls than a run may make', async () => {
    const many = { list: Array.from({ length: 101 }, (_, index) => index) }
    await assert.rejects(render('{{#each list}}{{echo this}}{{/each}}', { tools, variables: many }), { code: 'RENDER_BUDGET' })
  })
})
