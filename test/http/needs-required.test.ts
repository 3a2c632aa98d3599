import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonView, startService } from '../helpers/service.ts'

const user = { name: 'user', type: 'object' }
const tone = { name: 'tone' }

/** Prompts, of which `p` is asked for, and its variables: `path required`, with the default if there is one. */
const cases: ReadonlyArray<{ fact: string, prompts: Readonly<Record<string, unknown>>, variables: string[] }> = [
  { fact: 'a block over all variables guards none of them', prompts: { p: '{{#with variables}}{{a}}{{/with}}{{variables.b}}' }, variables: ['variables false', 'variables.a true', 'variables.b true'] },
  { fact: 'a required parameter is listed though only a member of it is tested', prompts: { p: { userPrompt: '{{#if variables.user.nick}}x{{/if}}', parameters: [user] } }, variables: ['variables.user.nick false', 'variables.user true'] },
  { fact: 'a required member says that its parameter is required', prompts: { p: { userPrompt: '{{variables.user.nick}}', parameters: [user] } }, variables: ['variables.user.nick true'] },
  { fact: 'a required parameter is listed once, where it is tested', prompts: { p: { userPrompt: '{{#if variables.user}}{{variables.user.nick}}{{/if}}', parameters: [user] } }, variables: ['variables.user true', 'variables.user.nick false'] },
  { fact: 'what the prompt requires is required whatever default a partial has', prompts: { p: { userPrompt: '{{> q}}', parameters: [tone] }, q: { userPrompt: '{{variables.tone}}', parameters: [{ ...tone, default: 'dry' }] } }, variables: ['variables.tone true'] },
  { fact: 'a default of a partial does not reach what it is called with', prompts: { p: '{{> q variables}}', q: { userPrompt: '{{tone}}', parameters: [{ ...tone, default: 'dry' }] } }, variables: ['variables false', 'variables.tone true'] },
  { fact: 'nor what it is given by name', prompts: { p: '{{> q user=variables.user}}', q: { userPrompt: '{{user.name}}', parameters: [{ ...user, default: { name: 'x' } }] } }, variables: ['variables.user true', 'variables.user.name true'] },
  { fact: 'a default of a partial reaches what it is called with by another', prompts: { p: '{{> q}}', q: { userPrompt: '{{> r variables.user}}', parameters: [{ ...user, default: { name: 'x' } }] }, r: '{{name}}' }, variables: ['variables.user false {"name":"x"}', 'variables.user.name false "x"'] },
  { fact: 'what the prompt declares to be optional has the default of a partial', prompts: { p: { userPrompt: '{{> q}}', parameters: [{ ...tone, required: false }] }, q: { userPrompt: '{{variables.tone}}', parameters: [{ ...tone, default: 'dry' }] } }, variables: ['variables.tone false "dry"'] }
]

describe('what of a prompt\'s variables is required', () => {
  for (const { fact, prompts, variables } of cases) {
    it(fact, async t => {
      const { get } = await startService(t, Object.fromEntries(Object.entries(prompts).map(([id, value]) => [`templates:${id}`, value])))
      const { json } = await get('/api/prompts/p/needs')
      const rows = json['variables'] as unknown as JsonView[]
      assert.deepEqual(rows.map(row => [row['path'], row['required'], JSON.stringify(row['default'])].filter(part => part !== undefined).join(' ')), variables)
    })
  }
})
