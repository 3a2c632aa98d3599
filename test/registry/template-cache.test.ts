import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { ANYONE } from '../../src/access/caller.ts'
import { createTemplateCache } from '../../src/registry/entries/template-cache.ts'
import { findPrompt } from '../../src/service/choose-prompt.ts'
import { createPromptRenderer } from '../../src/service/render-prompt.ts'
import { goLanguage } from '../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { type Syntax, TemplateSyntaxError } from '../../src/template/language.ts'
import { registered } from '../helpers/registered.ts'

const TEMPLATE = 2048
const GO_TAG = 2560
const HANDLEBARS_TAG = 1024
const MOST = 512 * 1024 * 1024

function createCache (limit?: number) {
  return createTemplateCache([handlebarsLanguage, goLanguage], limit)
}

function bytesOf (syntax: Syntax, text: string, explain = false): number {
  const cache = createCache()
  cache.prepare(syntax, { text })(explain)
  return cache.statistics().bytes
}

/** A text of its own for every number, of comments: they count as the tags that they are, and take next to nothing. */
function commentsOf (number: number): string {
  return `${'{{/**/}}'.repeat(1900)}${number}`
}

describe('a template cache', () => {
  it('compiles a template once, whoever asks', () => {
    const cache = createCache()
    const [one, other] = [cache.prepare('go', { text: '{{.name}}' }), cache.prepare('go', { text: '{{.name}}' })]
    assert.equal(one(false), other(false))
    assert.deepEqual(cache.statistics(), { hits: 1, misses: 1, entries: 1, bytes: TEMPLATE + GO_TAG + 9 })
  })

  it('compiles nothing before it is asked', () => {
    const cache = createCache()
    cache.prepare('go', { text: '{{.name}}' })
    assert.equal(cache.statistics().misses, 0)
  })

  const differences = [
    ['syntax', { text: 'x' }, 'go'],
    ['text', { text: 'y' }, 'handlebars'],
    ['declared parameters', { text: 'x', declared: new Set(['name']) }, 'handlebars'],
    ['declared parameters, none', { text: 'x', declared: new Set<string>() }, 'handlebars']
  ] as const
  for (const [difference, source, syntax] of differences) {
    it(`tells sources apart by ${difference}`, () => {
      const cache = createCache()
      assert.notEqual(cache.prepare('handlebars', { text: 'x' })(false), cache.prepare(syntax, source)(false))
    })
  }

  it('tells sources apart by lone surrogates', () => {
    const cache = createCache()
    assert.notEqual(cache.prepare('go', { text: '\ud800' })(false), cache.prepare('go', { text: '\ud801' })(false))
  })

  it('keeps the explained form beside the plain one', () => {
    const cache = createCache()
    const template = cache.prepare('go', { text: '{{.name}}' })
    assert.notEqual(template(true), template(false))
    assert.equal(template(true), template(true))
    assert.equal(cache.statistics().entries, 2)
  })

  it('keeps an empty text', () => {
    const template = createCache().prepare('go', { text: '' })
    assert.equal(template(false), template(false))
  })

  it('counts what a template takes by the bytes of its text', () => {
    assert.equal(bytesOf('go', 'é€'), TEMPLATE + 5)
  })

  it('counts what a template takes by its tags, of which Go\'s take more', () => {
    assert.equal(bytesOf('go', '{{.a}}{{.b}}'), TEMPLATE + 2 * GO_TAG + 12)
    assert.equal(bytesOf('handlebars', '{{a}}{{{b}}}'), TEMPLATE + 2 * HANDLEBARS_TAG + 12)
  })

  it('counts a template twice that is compiled to be explained', () => {
    assert.equal(bytesOf('go', '{{.a}}', true), 2 * bytesOf('go', '{{.a}}'))
  })

  it('gives the same mistake each time', () => {
    const cache = createCache()
    const template = cache.prepare('go', { text: '{{if}}' })
    assert.throws(() => template(false), TemplateSyntaxError)
    assert.throws(() => template(false), TemplateSyntaxError)
    assert.deepEqual(cache.statistics(), { hits: 0, misses: 2, entries: 0, bytes: 0 })
  })

  it('drops the least recently used beyond its limit, and compiles it again', () => {
    const cache = createCache(4 * bytesOf('handlebars', '{{a}} 0'))
    const templates = Array.from({ length: 5 }, (_, number) => cache.prepare('handlebars', { text: `{{a}} ${number}` }))
    const [first, second] = [templates[0]?.(false), templates[1]?.(false)]
    // The first one is used again before the last one comes, so that the second one has to go.
    for (const template of templates.slice(2, -1)) template(false)
    templates[0]?.(false)
    templates.at(-1)?.(false)
    assert.equal(cache.statistics().entries, 4)
    assert.equal(templates[0]?.(false), first)
    const again = templates[1]?.(false)
    assert.notEqual(again, second)
    assert.deepEqual(again?.references, second?.references)
  })

  it('takes no more than a quarter of the heap that Node has', () => {
    const script = `
      import { getHeapStatistics } from 'node:v8'
      import { createTemplateCache } from './src/registry/entries/template-cache.ts'
      import { goLanguage } from './src/template/go/go-language.ts'
      const cache = createTemplateCache([goLanguage])
      for (let number = 0; number < 20; number++) cache.prepare('go', { text: '{{/**/}}'.repeat(1900) + number })(false)
      console.log(cache.statistics().bytes / getHeapStatistics().heap_size_limit)`
    // What the young generation has of it differs between versions of Node.
    const share = Number(execFileSync(process.execPath, ['--max-old-space-size=64', '--import', 'tsx', '--input-type=module', '--eval', script], { encoding: 'utf8' }))
    assert.ok(share > 0.2 && share <= 0.25, `${share} of the heap`)
  })
})

describe('a registry whose prompts do not all fit into the template cache', () => {
  it('renders with the partials and tools of a generation whose templates were dropped', async t => {
    const { registry, write } = await registered(t, {
      'tools:m:up': { url: 'http://127.0.0.1:1' },
      'templates:outer': '{{> inner}}, {{m_up "Bob"}}',
      'templates:inner': { syntax: 'go', userPrompt: '{{.variables.name}} and {{m_up .variables.name}}' }
    })
    const renderPrompt = createPromptRenderer({
      environs: registry.environs,
      callTool: async ({ tool }) => ({ value: `by ${tool.id}`, outcome: 'ok', durationMs: 0 }),
      timeout: 60_000
    })
    const { generation } = registry
    const render = async () => (await renderPrompt({ generation, caller: ANYONE, id: 'outer', chosen: { prompt: findPrompt(generation, 'outer'), version: undefined, label: undefined }, variables: { name: 'Ada' }, requestId: 'r' })).messages[0]?.content
    assert.equal(await render(), 'Ada and by m.up, by m.up')

    await write(Object.fromEntries(Array.from({ length: Math.ceil(MOST / bytesOf('go', commentsOf(0))) }, (_, number) => [`templates:large:p${number}`, { syntax: 'go', userPrompt: commentsOf(number) }])))
    await registry.reload()
    const { misses } = registry.templates.statistics()
    assert.equal(await render(), 'Ada and by m.up, by m.up')
    assert.equal(registry.templates.statistics().misses, misses + 2)
  })
})
