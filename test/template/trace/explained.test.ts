import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { goLanguage } from '../../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../../src/template/handlebars/handlebars-language.ts'
import { type Syntax } from '../../../src/template/language.ts'
import { RenderRun } from '../../../src/template/run.ts'
import { ScopeRoot } from '../../../src/template/scope.ts'
import { type Origin, type OutputSpan } from '../../../src/template/provenance.ts'
import { runOptions } from '../../helpers/fake-run.ts'
import { randomProgram } from '../go/random-program.ts'
import { renderExplained, renderPlainly, type Setting } from './render-explained.ts'
import { property } from '../../helpers/property.ts'

type Case = Setting & { readonly about: string, readonly spans: readonly string[], readonly goSpans?: readonly string[] } & { readonly [Language in Syntax]?: string }

const CASES = parse(readFileSync(new URL('sources.yaml', import.meta.url), 'utf8')) as readonly Case[]

function describeSpan ({ text, partial, sources }: OutputSpan): string {
  return `${partial === undefined ? '' : `${partial}> `}${text} | ${sources.map(describeOrigin).join(', ')}`
}

function describeOrigin (origin: Origin): string {
  switch (origin.kind) {
    case 'environ': return `environ ${origin.path}${origin.revision === undefined ? '' : ` of ${origin.key}`}`
    case 'tool': return `tool ${origin.tool}`
    case 'variable': return `variable ${origin.path}`
    case 'default': return origin.path === undefined ? 'default' : `default ${origin.path}`
    case 'literal': return 'literal'
  }
}

describe('the sources of spans', () => {
  for (const { about, spans: expected, goSpans = expected, ...example } of CASES) {
    for (const syntax of ['go', 'handlebars'] as const) {
      const text = example[syntax]
      if (text === undefined) continue
      it(`are told in ${syntax}: ${about}`, async () => {
        const { output, spans, trace } = await renderExplained(syntax, text, example)
        assert.equal(trace.mark, 0, 'nothing that was read is left behind')
        assert.deepEqual(spans.map(describeSpan), syntax === 'go' ? goSpans : expected)
        assert.equal(output, await renderPlainly(syntax, text, example))
        assert.equal(spans.map(span => span.text).join(''), output)
      })
    }
  }
})

describe('a span', () => {
  for (const [syntax, text] of [['go', 'a\n{{.variables.x}}'], ['handlebars', 'a\n{{variables.x}}']] as const) {
    it(`has the place in the template that wrote it, in ${syntax}`, async () => {
      const { spans } = await renderExplained(syntax, text, { variables: { x: 'X' } })
      assert.deepEqual(spans.map(({ line, column }) => [line, column]), [[1, 1], [2, syntax === 'go' ? 3 : 1]])
    })
  }

  it('has the same revision for the same value of a shared variable, and another for another', async () => {
    const revisionOf = async (rules: string): Promise<unknown> => {
      const { spans: [span] } = await renderExplained('go', '{{.vscode.rules}}', { environs: { 'vscode.rules': rules } })
      const [source] = span?.sources ?? []
      return source?.kind === 'environ' ? source.revision : undefined
    }
    assert.equal(await revisionOf('a'), await revisionOf('a'))
    assert.notEqual(await revisionOf('a'), await revisionOf('b'))
  })
})

describe('a trace', () => {
  it('keeps the last pass, and the times and calls of all', async () => {
    const { trace, spans } = await renderExplained('go', '{{code_find (code_get .vscode.q)}}', { environs: { 'vscode.q': 'q' }, tools: { code_find: 'f', code_get: 'g' } })
    assert.equal(spans.length, 1)
    assert.equal(trace.passes.length, 4)
    assert.deepEqual(trace.calls, [
      { tool: 'code.get', arguments: { 0: 'q' }, outcome: 'ok', durationMs: 1 },
      { tool: 'code.find', arguments: { 0: 'g' }, outcome: 'ok', durationMs: 1 }
    ])
  })

  it('tells why a call failed', async () => {
    const { trace } = await renderExplained('handlebars', '{{code_find}}', { tools: { code_find: null } })
    assert.deepEqual(trace.calls, [{ tool: 'code.find', arguments: {}, outcome: 'failed', durationMs: 1, error: 'TIMEOUT' }])
  })

  it('leaves out arguments that are long', async () => {
    const { trace } = await renderExplained('go', '{{code_find .variables.x}}', { variables: { x: 'x'.repeat(20_000) }, tools: { code_find: 'f' } })
    assert.deepEqual(trace.calls, [{ tool: 'code.find', outcome: 'ok', durationMs: 1 }])
  })

  it('ends a render with more spans than anybody reads', async () => {
    const list = new Array(15_000).fill('x')
    await renderPlainly('go', '{{range .variables.list}}{{.}}{{end}}', { variables: { list } })
    await assert.rejects(renderExplained('go', '{{range .variables.list}}{{.}}{{end}}', { variables: { list } }), { code: 'RENDER_BUDGET' })
  })

  it('keeps at most 100 sources of a value', async () => {
    const list = Array.from({ length: 1000 }, (_, index) => `${index}`)
    const { spans } = await renderExplained('go', '{{$all := ""}}{{range .variables.list}}{{$all = print $all .}}{{end}}{{$all}}', { variables: { list } })
    assert.equal(spans[0]?.sources.length, 100)
  })

  it('ends a render whose values are made of more sources than it can join', async () => {
    const list = Array.from({ length: 10_000 }, (_, index) => `${index}`)
    const text = '{{$all := ""}}{{range .variables.list}}{{$all = print (len $all) .}}{{end}}'
    await renderPlainly('go', text, { variables: { list } })
    await assert.rejects(renderExplained('go', text, { variables: { list } }), { code: 'RENDER_BUDGET' })
  })

  it('makes no path of keys that are long', async () => {
    const key = 'k'.repeat(10_000)
    const { spans } = await renderExplained('handlebars', '{{#each variables}}{{x}}{{/each}}', { variables: { [key]: { x: 'X' } } })
    assert.deepEqual(spans[0]?.sources, [{ kind: 'variable', path: 'variables.…' }])
  })

  for (const language of [goLanguage, handlebarsLanguage]) {
    it(`is what a template needs that is compiled to be explained, in ${language.syntax}`, () => {
      const run = new RenderRun(runOptions())
      const root = new ScopeRoot(run, {}, {}, undefined)
      assert.throws(() => language.compile({ text: 'x', explain: true }).open(run, { links: [], root })(root), /needs a run with a trace/)
    })
  }
})

describe('a random program, explained', () => {
  const setting: Setting = {
    variables: { list: ['a', 'b', 'c'], on: true, off: false, empty: [] },
    environs: { 'chat.s1': 'first', 'chat.s2': '' },
    tools: { echo: 'e', give: [1, 'two'], tick: 't', toggle: false, items: [0, 1, 'two', false], few: [true], flag: true, zero: 0 }
  }

  property('gives the same, and in spans', 300, async given => {
    let compared = 0
    await given.comesToHold(fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 5, maxLength: 160, size: 'max' }), async numbers => {
      const program = randomProgram(numbers)
      const plain = await renderPlainly('go', program, setting).catch(() => undefined)
      if (plain === undefined) return
      compared++
      const { output, spans } = await renderExplained('go', program, setting)
      assert.equal(output, plain, program)
      assert.equal(spans.map(({ text }) => text).join(''), plain, program)
    }))
    given.wasOfUse(compared, 0.3)
  })
})
