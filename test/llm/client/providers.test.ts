import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseProviders } from '../../../src/llm/providers.ts'

const YAML = `
providers:
  - name: openai
    baseUrl: https://api.openai.com/v1
    apiKeyEnv: OPENAI_API_KEY
    models: [gpt-4.1, gpt-4.1-mini]
    aliases: { fast: gpt-4.1-mini }
    limits: { concurrency: 8, queue: 4 }
  - name: local
    baseUrl: http://127.0.0.1:8000/v1
    headers: { x-team: shenma }
`

const OPENAI = {
  name: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  apiKey: 'sk-1',
  models: ['gpt-4.1', 'gpt-4.1-mini'],
  aliases: { fast: 'gpt-4.1-mini' },
  headers: {},
  limits: { concurrency: 8, queue: 4 }
}

const one = (fields: object) => JSON.stringify({ providers: [{ name: 'a', baseUrl: 'http://localhost/v1', ...fields }] })

describe('parseProviders', () => {
  it('reads YAML, with keys from the environment and defaults in place', () => {
    assert.deepEqual(parseProviders(YAML, { OPENAI_API_KEY: 'sk-1' }), [
      OPENAI,
      { name: 'local', baseUrl: 'http://127.0.0.1:8000/v1', models: [], aliases: {}, headers: { 'x-team': 'shenma' }, limits: { concurrency: 1000, queue: 100 } }
    ])
  })

  it('reads JSON', () => {
    const text = JSON.stringify({ providers: [{ name: 'echo', baseUrl: 'builtin:echo' }] })
    assert.equal(parseProviders(text, {})[0].baseUrl, 'builtin:echo')
  })

  const refused: readonly [text: string, message: RegExp][] = [
    ['', /^document must be object/],
    ['providers: []', /^document\.providers must NOT have fewer than 1 items/],
    ['{"providers": [', /^is neither JSON nor YAML: /],
    [one({ apiKey: 'sk-1' }), /^document\.providers\[0\]\.apiKey is not expected/],
    [one({ name: 5 }), /^document\.providers\[0\]\.name must be string/],
    [one({ limits: { concurrency: 0 } }), /^document\.providers\[0\]\.limits\.concurrency must be >= 1/],
    [one({ baseUrl: 'ftp://host' }), /^provider "a": baseUrl: expected an http or https URL/],
    [one({ baseUrl: 'https://u:secret@host/v1' }), /^provider "a": baseUrl: expected a URL without credentials/],
    [one({ apiKeyEnv: 'NOT_SET' }), /^provider "a": apiKeyEnv: the environment variable NOT_SET is not set/],
    [one({ apiKeyEnv: 'EMPTY' }), /^provider "a": apiKeyEnv: the environment variable EMPTY is not set/],
    [one({ apiKeyEnv: 'WITH_LINE_END' }), /^provider "a": apiKeyEnv: the environment variable WITH_LINE_END holds characters that no header may hold, such as a line end$/],
    [one({ headers: { 'bad header': 'x' } }), /^provider "a": headers: "bad header" is no header/],
    [one({ headers: { 'x-a': 'b\r\nc: d' } }), /^provider "a": headers: "x-a" is no header/],
    [one({ models: ['m'], aliases: { fast: 'n' } }), /^provider "a": aliases: "fast" stands for "n", which is not one of its models/],
    ['{"providers": [{"name": "a", "baseUrl": "builtin:echo"}, {"name": "a", "baseUrl": "builtin:echo", "models": ["m"]}]}', /^two providers are called "a"/],
    ['{"providers": [{"name": "a", "baseUrl": "builtin:echo"}, {"name": "b", "baseUrl": "builtin:echo"}]}', /^provider "b": models: only one provider may leave them out/]
  ]
  for (const [text, message] of refused) {
    it(`refuses ${text === '' ? 'an empty text' : text}`, () => {
      assert.throws(() => parseProviders(text, { EMPTY: '', WITH_LINE_END: 'sk-secret\n' }), { message })
    })
  }
})
