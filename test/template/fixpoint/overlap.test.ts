import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { startService } from '../../helpers/service.ts'

const TOGETHER = 10
const NUMBERS = Array.from({ length: TOGETHER }, (_, index) => index)

/** A tool server that answers none of ten calls of `/barrier` until all ten have arrived. */
async function startBarrierServer (test: TestContext) {
  const arrivals: string[] = []
  let waiting: Array<() => void> = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://tool')
    const key = searchParams.get('key') ?? ''
    arrivals.push(`${pathname} ${key}`)
    if (pathname !== '/barrier') return reply(response, `after ${key}`)
    waiting.push(() => reply(response, `<${key}>`))
    if (waiting.length < TOGETHER) return
    for (const release of waiting) release()
    waiting = []
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals }
}

function reply (response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(text))
}

function toolAt (url: string) {
  return { type: 'restful', restful: { url, method: 'GET' }, parameters: { type: 'object', properties: { key: { type: 'string' } } } }
}

/** Ten calls in ten places, and one that needs the result of another. */
const PROMPTS = [
  {
    syntax: 'go',
    userPrompt: [
      '{{demo_barrier "k0"}}', '{{$one := demo_barrier "k1"}}', '{{with demo_barrier "k2"}}{{.}}{{end}}', '{{print (demo_barrier "k3") (demo_barrier "k4")}}',
      '{{demo_after (demo_barrier "k5")}}', '{{$one}}', '{{range .variables.keys}}{{demo_barrier .}}{{end}}', '{{if demo_barrier "k9"}}yes{{end}}'
    ].join('|')
  },
  {
    syntax: 'handlebars',
    userPrompt: [
      '{{demo_barrier "k0"}}', '{{#with (demo_barrier key="k2")}}{{this}}{{/with}}', '{{join "" (split "-" (demo_barrier "k3"))}}{{demo_barrier "k4"}}',
      '{{demo_after (demo_barrier "k5")}}', '{{demo_barrier "k1"}}', '{{#each variables.keys}}{{demo_barrier this}}{{/each}}', '{{#if (demo_barrier "k9")}}yes{{/if}}'
    ].join('|')
  }
]

const OUTPUTS: Readonly<Record<string, string>> = {
  go: '<k0>||<k2>|<k3><k4>|after <k5>|<k1>|<k6><k7><k8>|yes',
  handlebars: '<k0>|<k2>|<k3><k4>|after <k5>|<k1>|<k6><k7><k8>|yes'
}

describe('calls that do not need each other overlap', () => {
  for (const { syntax, userPrompt } of PROMPTS) {
    it(`in ${syntax} syntax: ten are under way before the first is answered`, async test => {
      const { origin, arrivals } = await startBarrierServer(test)
      const service = await startService(test, {
        'tools:demo:barrier': toolAt(`${origin}/barrier`),
        'tools:demo:after': toolAt(`${origin}/after`),
        'templates:overlap': { syntax, userPrompt }
      }, { RENDER_TIMEOUT_MS: '10000' })
      const { status, json } = await service.post('/api/render/prompts/overlap', { variables: { keys: ['k6', 'k7', 'k8'] } })
      assert.equal(status, 200, JSON.stringify(json))
      assert.equal(json['rendered_prompt'], OUTPUTS[syntax])
      assert.deepEqual(arrivals.slice(0, TOGETHER).sort(), NUMBERS.map(number => `/barrier k${number}`))
      assert.deepEqual(arrivals.slice(TOGETHER), ['/after <k5>'])
    })
  }

  it('of ten tools as well as of one', async test => {
    const { origin, arrivals } = await startBarrierServer(test)
    const tools = NUMBERS.map(number => [`tools:demo:tool${number}`, toolAt(`${origin}/barrier`)])
    const service = await startService(test, {
      ...Object.fromEntries(tools),
      'templates:overlap': { syntax: 'handlebars', userPrompt: NUMBERS.map(number => `{{demo_tool${number} "k${number}"}}`).join('') }
    }, { RENDER_TIMEOUT_MS: '10000' })
    const { status, json } = await service.post('/api/render/prompts/overlap')
    assert.equal(status, 200, JSON.stringify(json))
    assert.equal(arrivals.length, TOGETHER)
  })
})
