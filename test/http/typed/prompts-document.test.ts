import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { parse } from 'yaml'
import { startService, type JsonView, type Service } from '../../helpers/service.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const URL = '/api/openapi/prompts.json'

/** As much of the document as is read here. */
interface Document {
  readonly paths: Readonly<Record<string, { readonly post: { readonly operationId: string, readonly requestBody: { readonly required: boolean } } }>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonView>> }
}

async function documentOf (service: Service, query = '', headers = {}): Promise<Document> {
  const { status, json } = await service.get(`${URL}${query}`, headers)
  assert.equal(status, 200, JSON.stringify(json))
  return json as unknown as Document
}

/** The examples as they are registered, by key. */
function examples (): Record<string, unknown> {
  const files = readdirSync('examples/templates', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.yaml'))
  const templates = files.map(file => [`templates:${file.slice(0, -5).replaceAll('/', ':')}`, parse(readFileSync(join('examples/templates', file), 'utf8'))] as const)
  return { ...Object.fromEntries(templates), 'extensions:evaluator': JSON.parse(readFileSync('examples/extensions/evaluator.json', 'utf8')) as unknown }
}

async function assertValid (document: Document): Promise<void> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>)
  assert.ok(valid, JSON.stringify(errors))
  for (const reference of JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)) assert.notEqual(pointed(document, reference[1] as string), undefined, reference[1])
}

function pointed (document: object, reference: string): unknown {
  const segments = reference.slice(2).split('/').map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  return segments.reduce<unknown>((place, segment) => typeof place === 'object' && place !== null && Object.hasOwn(place, segment) ? (place as Record<string, unknown>)[segment] : undefined, document)
}

const HOSTILE_IDS = ['__proto__', 'constructor', '..', 'a/b', 'a_b', 'a b', '{id}', 'päär', '😀', 'quote"\'`', 'line\nend', '%2e', '*/', '-', '?x=1#y']

const HOSTILE_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  $id: 'https://elsewhere.example/schema',
  type: 'object',
  properties: {
    __proto__x: { $ref: '#/definitions/tree' },
    constructor: { enum: [{ $ref: '#/nowhere' }, 7] },
    pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
    outside: { $ref: 'https://elsewhere.example/schema#/definitions/tree' },
    same: { $ref: '#/properties/pair' },
    listed: { $ref: '#/properties/pair/items/0' },
    odd: { $defs: 7, deprecated: 'yes', discriminator: 3, xml: [], nonsense: { $ref: '#/no' } }
  },
  definitions: { tree: { type: 'object', properties: { left: { $ref: '#/definitions/tree' } } } }
}

describe('GET /api/openapi/prompts.json', () => {
  it('is valid for the examples', async t => {
    const service = await startService(t, examples())
    const document = await documentOf(service)
    await assertValid(document)
    assert.ok(Object.hasOwn(document.paths, '/api/render/prompts/greet') && Object.hasOwn(document.paths, '/api/chat/prompts/greet'))
    assert.ok(Object.keys(document.paths).length >= 6)
  })

  it('is valid for hostile ids, and names every operation differently', async t => {
    const service = await startService(t, Object.fromEntries(HOSTILE_IDS.map(id => [`templates:${id}`, '{{variables.x}}'])))
    const { json } = await service.get('/api/prompts')
    const document = await documentOf(service)
    await assertValid(document)
    const names = Object.values(document.paths).map(({ post }) => post.operationId)
    assert.equal(new Set(names).size, names.length)
    assert.equal(names.length, 2 * (json as unknown as string[]).length)
    assert.ok(names.length >= 2 * (HOSTILE_IDS.length - 2))
    assert.ok(names.every(name => /^\w+$/.test(name)))
  })

  it('is valid for a hostile schema, whose references stay in it', async t => {
    const service = await startService(t, { 'templates:odd': { userPrompt: 'x', parameters: HOSTILE_SCHEMA } })
    const document = await documentOf(service)
    await assertValid(document)
    const { properties, $id } = document.components.schemas['variables_odd'] as JsonView
    assert.equal($id, undefined)
    assert.deepEqual(properties?.['__proto__x'], { $ref: '#/components/schemas/variables_odd/definitions/tree' })
    assert.deepEqual(properties?.['pair'], { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false })
    assert.deepEqual(['outside', 'listed', 'odd', 'constructor'].map(name => properties?.[name]), [{}, {}, {}, {}])
  })

  it('has the types of parameters, of which those with a default may be left out', async t => {
    const parameters = [{ name: 'diff', type: 'string', description: 'What has changed' }, { name: 'tone', type: 'string', enum: ['kind', 'dry'], default: 'kind' }]
    const { components, paths } = await documentOf(await startService(t, { 'templates:review': { userPrompt: '{{variables.diff}}', parameters } }))
    assert.deepEqual(components.schemas['variables_review'], {
      type: 'object',
      properties: { diff: { type: 'string', description: 'What has changed' }, tone: { type: 'string', enum: ['kind', 'dry'], default: 'kind' } },
      required: ['diff']
    })
    assert.equal(paths['/api/render/prompts/review']?.post.requestBody.required, true)
  })

  it('has the names that a text reads where there are no parameters', async t => {
    const { components, paths } = await documentOf(await startService(t, { 'templates:a': '{{variables.user.name}}{{#if variables.more}}x{{/if}}', 'templates:b': 'Hello' }))
    assert.deepEqual(components.schemas['variables_a'], { type: 'object', properties: { user: {}, more: {} }, required: ['user'] })
    assert.equal(paths['/api/chat/prompts/b']?.post.requestBody.required, false)
  })

  it('has the type of a structured answer', async t => {
    const service = await startService(t, { 'templates:score': { userPrompt: 'x', structured: true, returns: { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'] } } })
    const document = await documentOf(service)
    await assertValid(document)
    assert.deepEqual(document.components.schemas['answer_score']?.['required'], ['score'])
  })

  it('leaves out what cannot run, and what its caller may not see', async t => {
    const registrations = { 'templates:open:a': 'A', 'templates:closed:b': 'B', 'templates:open:broken': '{{#if' }
    const service = await startService(t, registrations, { API_TOKENS: [tokenEntry('one', 'read:prompts=open.*'), tokenEntry('two', 'render')].join(',') })
    const { paths } = await documentOf(service, '', bearer('one'))
    assert.deepEqual(Object.keys(paths), ['/api/render/prompts/open.a', '/api/chat/prompts/open.a'])
    assert.equal((await service.get(URL, bearer('two'))).status, 403)
  })

  it('is 304 for its ETag until something changes', async t => {
    const service = await startService(t, { 'templates:a': 'A' })
    const { headers } = await service.get(URL)
    const tag = String(headers['etag'])
    const again = await service.app.inject({ url: URL, headers: { 'if-none-match': tag } })
    assert.deepEqual([again.statusCode, again.headers['etag']], [304, tag])
    const put = await service.app.inject({ method: 'PUT', url: '/api/prompts/b', payload: { userPrompt: 'B {{variables.x}}' } })
    assert.equal(put.statusCode, 201)
    assert.equal((await service.app.inject({ url: URL, headers: { 'if-none-match': tag } })).statusCode, 200)
  })

  it('comes in pages, by number and by size', async t => {
    const large = (id: number) => ({ userPrompt: 'x', description: `${id}`.padEnd(900_000, '.') })
    const service = await startService(t, Object.fromEntries(Array.from({ length: 8 }, (_, id) => [`templates:p${id}`, large(id)])))
    assert.deepEqual(await idsOf(service, `${URL}?limit=3&prefix=p`), [['p0', 'p1'], ['p2', 'p3'], ['p4', 'p5'], ['p6', 'p7']])
    assert.deepEqual((await idsOf(await startService(t, { 'templates:a': 'A', 'templates:b': 'B', 'templates:c': 'C' }), `${URL}?limit=2`)), [['a', 'b'], ['c']])
  })
})

/** The ids of all pages. */
async function idsOf (service: Service, first: string): Promise<string[][]> {
  const pages: string[][] = []
  for (let url: string | undefined = first; url !== undefined;) {
    const { json, headers } = await service.get(url)
    pages.push(Object.keys((json as unknown as Document).paths).filter(path => path.startsWith('/api/render/')).map(path => path.slice('/api/render/prompts/'.length)))
    url = /<([^>]*)>/.exec(String(headers['link'] ?? ''))?.[1]
  }
  return pages
}
