import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { lintFields } from '../../src/registry/misspelt-fields.ts'
import { registered } from '../helpers/registered.ts'

const FIELDS = ['url', 'userPrompt', 'parameters', 'cacheTtl']

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
})

describe('A misspelt field', () => {
  it('is told of prompts, extensions, their prompts, and tools', async t => {
    const { registry } = await registered(t, {
      'templates:p': { userPrompt: 'x', parameter: [{ name: 'x' }] },
      'extensions:e': { name: 'e', licence: 'MIT', contributes: { prompts: [{ name: 'a', userPrompt: 'x', default: {} }], dependencies: [] } },
      'tools:m:t': { url: 'http://127.0.0.1:1/', cacheTTL: 5 }
    })
    const { prompts, extensions, tools } = registry.generation
    const hints = [prompts.get('p'), extensions.get('e'), tools.get('m.t')].map(found => found?.diagnostics.filter(({ code }) => code === 'FIELD_UNKNOWN').map(({ hint }) => hint))
    assert.deepEqual(hints, [['write "parameters"'], ['write "license"', 'write "dependences"', 'write "defaults"'], ['write "cacheTtl"']])
  })
})
