import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderToFixpoint, RenderRun } from '../../src/template/run.ts'
import { mergeEnvirons, ScopeRoot } from '../../src/template/scope.ts'
import { type Json } from '../../src/base/json.ts'
import { Absent, LazyNode, PENDING, type Value } from '../../src/template/value.ts'
import { fakeEnvirons, runOptions } from '../helpers/fake-run.ts'

const values = { 'vscode.rules': 'tests', 'vscode.editor': { tab: 2, font: 'old' }, 'vscode.editor.font': 'mono', 'chat.s1.title': 'one', 'chat.s2.title': 'two', solo: 5 }

/** Reads at the root of a prompt until nothing is pending. */
async function read (visit: (root: ScopeRoot) => Value, declared?: ReadonlySet<string>) {
  const environs = fakeEnvirons(values)
  const options = runOptions({ environs })
  const run = new RenderRun(options)
  const root = new ScopeRoot(run, { key1: 'value1', vscode: 'forged' }, {}, declared)
  const value = await renderToFixpoint(run, 'test', () => visit(root), options)
  return { value, fetched: environs.fetched }
}

const at = (node: Value, ...segments: string[]): Value => segments.reduce((value, segment) => {
  if (value === PENDING) return PENDING
  assert.ok(value instanceof LazyNode)
  return value.field(segment)
}, node)

describe('ScopeRoot', () => {
  it('finds variables under both names', async () => {
    assert.deepEqual((await read(root => at(root, 'variables'))).value, { key1: 'value1', vscode: 'forged' })
    assert.deepEqual((await read(root => at(root, 'args'))).value, { key1: 'value1', vscode: 'forged' })
  })

  it('finds a bare name among the variables', async () => {
    assert.equal((await read(root => at(root, 'key1'))).value, 'value1')
  })

  it('never finds a module among the variables', async () => {
    assert.ok((await read(root => at(root, 'vscode'))).value instanceof LazyNode)
    const { value } = await read(root => at(root, 'codebase'))
    assert.ok(value instanceof Absent)
    assert.equal(value.path, 'codebase')
  })

  it('finds no bare name that a prompt with parameters does not declare', async () => {
    assert.ok((await read(root => at(root, 'key1'), new Set(['other']))).value instanceof Absent)
  })

  it('says the path of a bare name that is absent', async () => {
    const { value } = await read(root => at(root, 'nothing'))
    assert.ok(value instanceof Absent)
    assert.equal(value.path, 'variables.nothing')
  })

  it('reads a module that is one value', async () => {
    assert.equal((await read(root => at(root, 'solo'))).value, 5)
  })
})

describe('branches of the shared variables', () => {
  it('fetch nothing but the leaf that is reached', async () => {
    const { value, fetched } = await read(root => at(root, 'vscode', 'rules'))
    assert.equal(value, 'tests')
    assert.deepEqual(fetched, [['vscode.rules']])
  })

  it('fetch all that a pass needs in one round trip', async () => {
    const { fetched } = await read(root => {
      at(root, 'vscode', 'rules')
      at(root, 'chat', 's1', 'title')
      return null
    })
    assert.deepEqual(fetched, [['vscode.rules', 'chat.s1.title']])
  })

  it('know their keys without fetching', async () => {
    const { value, fetched } = await read(root => (at(root, 'chat') as LazyNode).keys())
    assert.deepEqual(value, ['s1', 's2'])
    assert.deepEqual(fetched, [])
  })

  it('merge a key with what lies deeper, the deeper wins', async () => {
    assert.deepEqual((await read(root => at(root, 'vscode', 'editor', 'tab'))).value, 2)
    assert.deepEqual((await read(root => at(root, 'vscode', 'editor', 'font'))).value, 'mono')
    assert.deepEqual((await read(root => (at(root, 'vscode', 'editor') as LazyNode).keys())).value, ['font', 'tab'])
  })

  it('are read as one object', async () => {
    const { value } = await read(root => (at(root, 'vscode') as LazyNode).read())
    assert.equal(JSON.stringify(value), '{"editor":{"tab":2,"font":"mono"},"rules":"tests"}')
  })

  it('never split a segment', async () => {
    assert.ok((await read(root => at(root, 'chat', 's1.title'))).value instanceof Absent)
    assert.ok((await read(root => at(root, 'chat', 's1:title'))).value instanceof Absent)
  })

  for (const word of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    it(`have no ${word}`, async () => {
      assert.ok((await read(root => at(root, 'vscode', word))).value instanceof Absent)
      assert.ok((await read(root => at(root, word))).value instanceof Absent)
    })
  }

  it('refuse to be read beyond 1,000 keys', async () => {
    const environs = fakeEnvirons(Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`m.k${index}`, index])))
    const run = new RenderRun(runOptions({ environs }))
    const root = new ScopeRoot(run, {}, {}, undefined)
    assert.throws(() => (root.field('m') as LazyNode).read(), { code: 'RENDER_BUDGET', statusCode: 503 })
  })
})

describe('mergeEnvirons', () => {
  const merges: ReadonlyArray<readonly [string, ReadonlyArray<readonly [string, Json]>, string]> = [
    ['a non-object gives way to what lies deeper', [['a', 5], ['a.b', 1]], '{"a":{"b":1}}'],
    ['a list gives way to what lies deeper', [['a', [1]], ['a.b', 1]], '{"a":{"b":1}}'],
    ['objects merge over several levels', [['a', { b: { c: 1, d: 2 } }], ['a.b.c', 3]], '{"a":{"b":{"c":3,"d":2}}}'],
    ['a key called __proto__ is data', [['__proto__.x', 1]], '{"__proto__":{"x":1}}']
  ]
  for (const [fact, entries, expected] of merges) {
    it(fact, () => {
      assert.equal(JSON.stringify(mergeEnvirons(entries.map(([path, value]) => [path.split('.'), value]))), expected)
    })
  }

  it('leaves the values that it was given as they are', () => {
    const value = { b: { c: 1 } }
    mergeEnvirons([[['a'], value], [['a', 'b', 'c'], 2]])
    assert.deepEqual(value, { b: { c: 1 } })
  })
})
