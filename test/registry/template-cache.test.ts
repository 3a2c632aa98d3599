import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANYONE } from '../../src/access/caller.ts'
import { createTemplateCache } from '../../src/registry/template-cache.ts'
import { createPromptRenderer } from '../../src/service/render-prompt.ts'
import { goLanguage } from '../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { TemplateSyntaxError } from '../../src/template/language.ts'
import { registered } from '../helpers/registered.ts'

const LARGEST = 64 * 1024
const MOST = 32 * 1024 * 1024

function createCache () {
  return createTemplateCache([handlebarsLanguage, goLanguage])
}

/** A different text of the given length for every number. */
function textOf (number: number, length: number): string {
  return `${number} `.padEnd(length, 'x')
}

describe('a template cache', () => {
  it('compiles a template once, whoever asks', () => {
    const cache = createCache()
    const [one, other] = [cache.prepare('go', { text: '{{.name}}' }), cache.prepare('go', { text: '{{.name}}' })]
    assert.equal(one(false), other(false))
    assert.deepEqual(cache.statistics(), { hits: 1, misses: 1, entries: 1, bytes: 9 })
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

  it('counts bytes, not characters', () => {
    const cache = createCache()
    cache.prepare('go', { text: 'é€' })(false)
    assert.equal(cache.statistics().bytes, 5)
  })

  it('gives the same mistake each time', () => {
    const cache = createCache()
    const template = cache.prepare('go', { text: '{{if}}' })
    assert.throws(() => template(false), TemplateSyntaxError)
    assert.throws(() => template(false), TemplateSyntaxError)
    assert.deepEqual(cache.statistics(), { hits: 0, misses: 2, entries: 0, bytes: 0 })
  })

  it('keeps 100 of the largest templates, plain and explained', () => {
    const cache = createCache()
    const templates = Array.from({ length: 100 }, (_, number) => cache.prepare('handlebars', { text: textOf(number, LARGEST) }))
    for (const template of [...templates, ...templates]) {
      template(false)
      template(true)
    }
    assert.deepEqual(cache.statistics(), { hits: 200, misses: 200, entries: 200, bytes: 200 * LARGEST })
  })

  it('drops the least recently used beyond 32 MiB, and compiles it again', () => {
    const cache = createCache()
    const templates = Array.from({ length: MOST / LARGEST + 1 }, (_, number) => cache.prepare('handlebars', { text: textOf(number, LARGEST) }))
    const [first, second] = [templates[0]?.(false), templates[1]?.(false)]
    // The first one is used again before the last one comes, so that the second one has to go.
    for (const template of templates.slice(2, -1)) template(false)
    templates[0]?.(false)
    templates.at(-1)?.(false)
    assert.equal(cache.statistics().bytes, MOST)
    assert.equal(templates[0]?.(false), first)
    const again = templates[1]?.(false)
    assert.notEqual(again, second)
    assert.deepEqual(again?.references, second?.references)
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
    const render = async () => (await renderPrompt({ generation, caller: ANYONE, id: 'outer', variables: { name: 'Ada' }, requestId: 'r' })).messages[0]?.content
    assert.equal(await render(), 'Ada and by m.up, by m.up')

    await write(Object.fromEntries(Array.from({ length: MOST / LARGEST }, (_, number) => [`templates:large:p${number}`, textOf(number, LARGEST)])))
    const { misses } = registry.templates.statistics()
    assert.equal(await render(), 'Ada and by m.up, by m.up')
    assert.equal(registry.templates.statistics().misses, misses + 2)
  })
})
