import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { startService } from '../helpers/service.ts'

/** The header that says which tools failed. */
const HEADER = 'x-tool-defaults'

describe('a render in which something stood in for a tool', () => {
  it('names the functions whose calls failed', async t => {
    const server = await startRestfulToolServer(t)
    const { post } = await startService(t, {
      'templates:both': { userPrompt: '{{x_bad}}{{x_good}}{{x_nothing}}' },
      'tools:x:bad': { url: `${server.origin}/500`, default: 'a stand-in' },
      'tools:x:nothing': { url: `${server.origin}/500` },
      'tools:x:good': { url: `${server.origin}/echo` }
    })
    const reply = await post('/api/render/prompts/both?explain=true')
    assert.equal(reply.headers[HEADER], 'x_bad, x_nothing')
    assert.deepEqual(reply.json['explain']?.['toolDefaults'], ['x_bad', 'x_nothing'])
  })

  it('encodes letters that no header can hold', async t => {
    const server = await startRestfulToolServer(t)
    const { post } = await startService(t, { 'templates:p': { syntax: 'go', userPrompt: '{{x_größe}}' }, 'tools:x:größe': { url: `${server.origin}/500`, default: '' } })
    assert.equal((await post('/api/render/prompts/p')).headers[HEADER], 'x_gr%C3%B6%C3%9Fe')
  })

  it('names no more than twenty, and counts the others', async t => {
    const server = await startRestfulToolServer(t)
    const numbers = Array.from({ length: 25 }, (_, index) => index + 10)
    const { post } = await startService(t, {
      'templates:p': { userPrompt: numbers.map(number => `{{x_t${number}}}`).join('') },
      ...Object.fromEntries(numbers.map(number => [`tools:x:t${number}`, { url: `${server.origin}/500`, default: '' }]))
    })
    assert.match(String((await post('/api/render/prompts/p')).headers[HEADER]), /^(x_t\d\d, ){20}\+5$/)
  })

  for (const url of ['/api/chat/prompts/p', '/v1/chat/completions']) {
    it(`says so in the reply of ${url}`, async t => {
      const server = await startRestfulToolServer(t)
      const { post } = await startService(t, { 'templates:p': { userPrompt: 'a{{x_y}}' }, 'tools:x:y': { url: `${server.origin}/500`, default: '' } }, { LLM_BASE_URL: 'builtin:echo' })
      assert.equal((await post(url, url.startsWith('/v1') ? { model: 'prompt:p', messages: [] } : {})).headers[HEADER], 'x_y')
    })
  }

  it('says nothing where no call failed', async t => {
    const server = await startRestfulToolServer(t)
    const { post } = await startService(t, { 'templates:p': { userPrompt: '{{x_y}}' }, 'tools:x:y': { url: `${server.origin}/echo` } })
    const reply = await post('/api/render/prompts/p?explain=true')
    assert.deepEqual([reply.headers[HEADER], reply.json['explain']?.['toolDefaults']], [undefined, []])
  })
})

describe('a crowd of renders', () => {
  it('does not trip the breaker of a tool that fails no call', async t => {
    const server = await startRestfulToolServer(t, { '/': response => { setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('"found"'), 500) } })
    const { post, get } = await startService(t, { 'templates:p': { userPrompt: '{{x_y n=variables.n}}' }, 'tools:x:y': { url: server.origin, concurrency: 4, default: 'a stand-in' } }, { RENDER_TIMEOUT_MS: '800' })
    const crowd = () => Promise.all(Array.from({ length: 20 }, (_, n) => post('/api/render/prompts/p', { variables: { n } })))
    await crowd()
    const second = await crowd()
    assert.deepEqual((await get('/api/tools/x.y')).json['breaker']?.['state'], 'closed')
    const rendered = second.filter(({ status }) => status === 200)
    for (const { headers, json } of rendered) assert.equal(json['rendered_prompt'], headers[HEADER] === undefined ? 'found' : 'a stand-in')
  })
})
