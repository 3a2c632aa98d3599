import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { type Fields, lintFields } from '../../src/registry/entries/entry-schemas.ts'
import { registered } from '../helpers/registered.ts'

const NONE = new Map<string, Fields>()
const FIELDS: Fields = {
  shape: 'object',
  names: ['url', 'userPrompt', 'parameters', 'cacheTtl'],
  below: new Map([['parameters', { shape: 'list', names: ['default'], below: NONE }], ['url', { shape: 'object', names: ['host'], below: NONE }]])
}

describe('lintFields', () => {
  const misspelt = [['uri', 'url'], ['user_prompt', 'userPrompt'], ['Parameter', 'parameters'], ['cacheTTL', 'cacheTtl']] as const
  for (const [name, meant] of misspelt) {
    it(`takes ${name} for ${meant}`, () => {
      assert.deepEqual(lintFields({ [name]: 1 }, FIELDS).map(({ hint }) => hint), [`write "${meant}"`])
    })
  }

  for (const name of ['url', 'id', 'author', 'title', '__proto__', 'constructor']) {
    it(`has nothing to say of ${name}`, () => {
      assert.deepEqual(lintFields(JSON.parse(`{"${name}":1}`), FIELDS), [])
    })
  }

  it('has nothing to say where the field is there too', () => {
    assert.deepEqual(lintFields({ url: 1, uri: 1 }, FIELDS), [])
  })

  const nested = [[{ url: { hosts: 1 } }, 'url.hosts', 'host'], [{ parameters: [{}, 'x', { defualt: 1 }] }, 'parameters[2].defualt', 'default']] as const
  for (const [value, path, meant] of nested) {
    it(`says where ${path} is`, () => {
      assert.deepEqual(lintFields(value, FIELDS).map(({ message, hint }) => `${message}: ${hint}`), [`"${path}" is not a field that is looked at: did you mean "${meant}"?: write "${meant}"`])
    })
  }

  for (const value of [{ parameters: { defualt: {} } }, { url: [{ hosts: 1 }] }, { url: 'hots' }] as JsonObject[]) {
    it(`has nothing to say of ${JSON.stringify(value)}, which is not the list or object that the fields are of`, () => {
      assert.deepEqual(lintFields(value, FIELDS), [])
    })
  }
})

describe('A misspelt field', () => {
  it('is told of prompts, extensions, their prompts, and tools', async t => {
    const { registry } = await registered(t, {
      'templates:p': { userPrompt: 'x', parameter: [{ name: 'x' }] },
      'extensions:e': { name: 'e', licence: 'MIT', contributes: { prompts: [{ name: 'a', userPrompt: 'x', default: {} }], dependencies: [] } },
      'tools:m:t': { url: 'http://127.0.0.1:1/', cacheTTL: 5 }
    })
    const { prompts, extensions, tools } = registry.generation
    const hints = [prompts.get('p')?.diagnostics, extensions.get('e')?.diagnostics, tools.get('m.t')?.diagnostics()].map(found => found?.filter(({ code }) => code === 'FIELD_UNKNOWN').map(({ hint }) => hint))
    assert.deepEqual(hints, [['write "parameters"'], ['write "license"', 'write "dependences"', 'write "defaults"'], ['write "cacheTtl"']])
  })

  const places = [
    ['tools:m:t', { restful: { url: 'http://127.0.0.1:1/', metod: 'GET' } }, 'restful.metod', 'method'],
    ['tools:m:t', { grpc: { url: '127.0.0.1:1', method: 'a.B/C', descriptorset: '' } }, 'grpc.descriptorset', 'descriptorSet'],
    ['tools:m:t', { mcp: { url: 'http://127.0.0.1:1/', tools: 'x' } }, 'mcp.tools', 'tool'],
    ['tools:m:t', { url: 'http://127.0.0.1:1/', breaker: { cooldown: 1 } }, 'breaker.cooldown', 'coolDown'],
    ['templates:p', { userPrompt: 'x', defaults: { maxInputToken: 1 } }, 'defaults.maxInputToken', 'maxInputTokens'],
    ['templates:p', { userPrompt: 'x', parameters: [{ name: 'x', defualt: 1 }] }, 'parameters[0].defualt', 'default'],
    ['extensions:e', { name: 'e', contributes: { prompts: [], dependences: [{ name: 'x', failstrategy: 'abort' }] } }, 'contributes.dependences[0].failstrategy', 'failStrategy']
  ] as const
  for (const [key, value, path, meant] of places) {
    it(`is told at ${path}`, async t => {
      const { registry } = await registered(t, { [key]: value })
      const { prompts, extensions, tools } = registry.generation
      const found = [...[...prompts.values(), ...extensions.values()].flatMap(({ diagnostics }) => diagnostics), ...[...tools.values()].flatMap(({ diagnostics }) => diagnostics())].filter(({ code }) => code === 'FIELD_UNKNOWN')
      assert.deepEqual(found.map(({ message }) => message), [`"${path}" is not a field that is looked at: did you mean "${meant}"?`])
    })
  }

  const needed = [
    ['templates:p', { userPromt: 'x' }, 'userPromt'],
    ['extensions:e', { name: 'e', contributes: { prompts: [{ name: 'a', userPrompt: 'x' }, { name: 'b', userPromt: 'x' }] } }, 'contributes.prompts[1].userPromt']
  ] as const
  for (const [key, value, path] of needed) {
    it(`is told where the entry cannot be used without it, at ${path}`, async t => {
      const { registry } = await registered(t, { [key]: value })
      const [first, second] = registry.problems()[0]?.diagnostics ?? []
      assert.deepEqual([first?.code, second?.code, second?.message], ['SCHEMA', 'FIELD_UNKNOWN', `"${path}" is not a field that is looked at: did you mean "userPrompt"?`])
    })
  }
})

describe('A minimal extension', () => {
  it('has nothing to be told of', async t => {
    const { registry } = await registered(t, { 'extensions:e': { name: 'e', contributes: { prompts: [{ name: 'p', userPrompt: 'x' }] } } })
    assert.deepEqual([...registry.generation.extensions.values()].map(({ state, diagnostics }) => [state, diagnostics]), [['active', []]])
  })
})
