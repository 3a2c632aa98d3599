import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NAUGHTY_STRINGS } from '../helpers/naughty-strings.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const registrations = {
  'templates:x:handlebars': 'Say {{variables.text}} {{lookup variables.map variables.text}} {{lookup chat variables.text}}{{#each variables.list}}{{this}}{{/each}}',
  'templates:x:go': 'Say {{.variables.text}} {{printf "%q %v" .variables.text .variables.text}}{{with index .chat .variables.text}}{{.}}{{end}}{{range .variables.list}}{{.}}{{end}}',
  'templates:x:plain_go': '{{.variables.text}}',
  'templates:x:plain_handlebars': '{{variables.text}}',
  'environs:chat:one': '"x"'
}

/** Every field of a request that takes a text, by a URL or a body that holds it. */
const fields: ReadonlyArray<readonly [name: string, request: (text: string) => { url: string, body?: unknown }]> = [
  ...['x.handlebars', 'x.go'].flatMap(id => [
    [`a variable of ${id}`, (text: string) => ({ url: `/api/render/prompts/${id}`, body: { variables: { text, map: { [text]: 1 }, list: [text] } } })],
    [`the name of a variable of ${id}`, (text: string) => ({ url: `/api/render/prompts/${id}?explain=true`, body: { variables: { [text]: text } } })],
    [`a chat's fields with ${id}`, (text: string) => ({ url: `/api/chat/prompts/${id}`, body: { variables: { text, map: {}, list: [] }, model: text, user: text, stop: text, messages: [{ role: 'user', content: text, name: text }] } })]
  ] as const),
  ['a prompt\'s id', text => ({ url: `/api/render/prompts/${encodeURIComponent(wellFormed(text))}`, body: {} })],
  ['an environ\'s id', text => ({ url: `/api/environs/${encodeURIComponent(wellFormed(text))}` })],
  ['a listing\'s query', text => ({ url: `/api/prompts?prefix=${encodeURIComponent(wellFormed(text))}&after=${encodeURIComponent(wellFormed(text))}` })],
  ['the query as it is', text => ({ url: `/api/prompts?${encodeURI(wellFormed(text))}` })],
  ['a prompt of /v1', text => ({ url: '/v1/chat/completions', body: { model: `prompt:${text}`, variables: { text } } })],
  ['a message of /v1', text => ({ url: '/v1/chat/completions', body: { model: text, messages: [{ role: text, content: text }] } })],
  ['a template to lint in Go', text => ({ url: '/api/lint', body: { template: text, syntax: 'go', id: 'x.y' } })],
  ['a template to lint in Handlebars', text => ({ url: '/api/lint', body: { template: text, syntax: 'handlebars', id: text } })]
]

const started = shared(suite => startService(suite, registrations, { LLM_BASE_URL: 'builtin:echo' }))

describe('naughty strings', () => {
  it('are at least 485, no two the same', () => {
    assert.ok(NAUGHTY_STRINGS.length >= 485, String(NAUGHTY_STRINGS.length))
  })

  for (const [name, request] of fields) {
    it(`as ${name} never cause a 500`, async () => {
      const { app } = await started()
      for (const text of NAUGHTY_STRINGS) {
        const { url, body } = request(text)
        const reply = await app.inject(body === undefined ? { url } : { method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) })
        assert.ok(reply.statusCode < 500, `${JSON.stringify(text.slice(0, 80))}: ${reply.statusCode} ${reply.body.slice(0, 200)}`)
      }
    })
  }

  for (const language of ['go', 'handlebars']) {
    it(`come out of a ${language} template as they went in`, async () => {
      const { app } = await started()
      for (const text of NAUGHTY_STRINGS) {
        const reply = await app.inject({ method: 'POST', url: `/api/render/prompts/x.plain_${language}`, headers: { 'content-type': 'application/json' }, payload: JSON.stringify({ variables: { text } }) })
        assert.equal(reply.json().rendered_prompt, text)
      }
    })
  }
})

/** The text with half surrogate pairs replaced: URLs cannot carry them. */
function wellFormed (text: string): string {
  return Buffer.from(text).toString()
}
