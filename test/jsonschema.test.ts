import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'

// What a publisher does: validate a file against the published schema with a validator of one's own.
const ajv = new Ajv2020({ allErrors: true, strict: false })
for (const file of readdirSync('jsonschema')) ajv.addSchema(readJson(`jsonschema/${file}`) as object, file)

const accepted: ReadonlyArray<readonly [string, string, unknown]> = [
  ['extension.json', 'the seed\'s extension', readJson('test/fixtures/evaluator.json')],
  ['extension.json', 'an extension in the later public form', readJson('test/fixtures/public-extension.json')],
  ['extension.json', 'an extension of another type without prompts', { name: 'deploy', extensionType: 'theme', contributes: { themes: [] } }],
  ['agent.json', 'an agent of steps', { mode: 'steps', help: 'x', classify: { prompt: 'x' }, select: { prompt: 'x' }, tools: [{ name: 'a', tool: 'm.a', failed: 'x' }] }],
  ['agent.json', 'an agent of tools', { mode: 'tools', tools: [{ tool: 'm.a' }, { tool: 'm.b' }] }],
  ['extension.json', 'an extension with agents', { name: 'x', extensionType: 'agent', contributes: { agents: [{ name: 'a', mode: 'tools', tools: [] }] } }],
  ['skill.json', 'a skill with a description and a body', { description: 'Does it.', body: 'Do it.' }],
  ['skill.json', 'a skill with the fields of other programs', { name: 'a-b', description: 'x', body: 'x', 'allowed-tools': 'Read', metadata: { author: 'x' }, params: [{ name: 'p', required: true }], history_mode: 'last_n', history_max: 10 }],
  ['operator.json', 'the form that the documentation shows', { workspaces: { shop: { path: '/srv/shop', skills: true, checks: { test: 'npm test' }, logs: { app: 'logs/app.log' } } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'auto', auto: false, network: false, environment: ['CI'] } }, policy: [{ effect: 'allow', on: 'exec', command: 'git status*', targets: ['here'] }] }],
  ['plan.json', 'a profile', { description: 'x', prompt: 'x', checks: ['a'], limits: { max_actions: 3 } }],
  ['plan-response.json', 'a plan', { actions: [], summary: 'x', context_requests: [{ type: 'env', path: null, start_line: null, end_line: null, query: null, glob: null, source: null, last_n: null }], memory_patch: null }],
  ['prompt.json', 'a text', 'Review {{code}}'],
  ['prompt.json', 'a message list', [{ role: 'tool', content: 'x', tool_call_id: '1' }]],
  ['prompt.json', 'parameters as a list', { userPrompt: 'x', parameters: [{ name: 'repo', type: 'string', default: '', description: 'x' }], returns: [] }],
  ['prompt.json', 'parameters as a bare map', { userPrompt: 'x', parameters: { repo: { type: 'string' } } }],
  ['replies.json', 'a rule for every message', [{ reply: 'x' }]],
  ['replies.json', 'all conditions, with a text beside a call', [{ last: ['a', 'b'], system: 'c', offers: 'd', reply: 'e', calls: [{ name: 'd', arguments: { f: 1 } }] }]],
  ['tests.json', 'a case with all of its fields', [{ description: 'x', run: 'chat', variables: {}, tools: 'live', model: 'm', judge: 'team.judge', metadata: { id: 1 }, assert: [{ type: 'not-llm-rubric', value: 'x', threshold: 0.5 }, { type: 'is-json' }, { type: 'latency', threshold: 50 }, { type: 'equals', value: [1] }] }]],
  ['tests.json', 'a case without assertions', [{ vars: {} }]],
  ['tool.json', 'a flat tool', { name: 'translate', module: 'translator', type: 'restful', url: '/translate', parameters: { type: 'object', properties: {} } }],
  ['tool.json', 'a grpc tool with its method beside', { type: 'grpc', url: 'host:1', method: 'a.B/C' }],
  ['tool.json', 'a grpc tool with its method in the path', { grpc: { url: 'grpc://host:1/a.B/C' } }],
  ['tool.json', 'an mcp tool with a url beside', { type: 'mcp', url: 'http://a.example/mcp' }],
  ['tool.json', 'an mcp tool with a command', { mcp: { command: 'outline' } }],
  ['tool.json', 'parameters as a bare map', { url: '/x', parameters: { text: { type: 'string' } } }],
  ['tool.json', 'a nested tool', { name: 'translate', type: 'restful', restful: { url: '/translate', method: 'POST' }, examples: [] }]
]

const rejected: ReadonlyArray<readonly [string, string, unknown]> = [
  ['extension.json', 'an extension without a name', { contributes: { prompts: [] } }],
  ['extension.json', 'a prompt extension without prompts', { name: 'x', contributes: {} }],
  ['extension.json', 'a prompt without a name', { name: 'x', contributes: { prompts: [{ userPrompt: 'x' }] } }],
  ['extension.json', 'an agent without a name', { name: 'x', extensionType: 'agent', contributes: { agents: [{ mode: 'tools' }] } }],
  ['agent.json', 'an agent of a mode that is not there', { mode: 'free', tools: [] }],
  ['agent.json', 'an agent of steps with an id for a tool', { mode: 'steps', help: 'x', classify: { prompt: 'x' }, select: { prompt: 'x' }, tools: ['m.a'] }],
  ['agent.json', 'a tool with a name that no model can call', { mode: 'tools', tools: [{ tool: 'm.a', name: 'a b' }] }],
  ['skill.json', 'a skill without a body', { name: 'a' }],
  ['skill.json', 'a skill with a name in capitals', { name: 'Git', body: 'x' }],
  ['operator.json', 'a target without a type', { targets: { here: { workspace: 'shop' } } }],
  ['operator.json', 'a host that is trusted on first use', { targets: { web: { type: 'ssh', host: 'a', user: 'b' } } }],
  ['plan.json', 'a profile with an unknown field', { check: [] }],
  ['plan.json', 'a limit that is no number', { limits: { max_actions: '3' } }],
  ['plan.json', 'a limit that nothing has', { limits: { files: 3 } }],
  ['plan.json', 'a check with a command of its own', { checks: [{ name: 'a', command: 'rm -rf .' }] }],
  ['plan-response.json', 'an unknown kind', { actions: [{ kind: 'RENAME_FILE', path: 'a', content: null }], summary: 'x', context_requests: null, memory_patch: null }],
  ['prompt.json', 'a prompt with two texts', { userPrompt: 'x', prompt: 'x' }],
  ['prompt.json', 'an unknown role', [{ role: 'root', content: 'x' }]],
  ['prompt.json', 'a blank text', ' \n'],
  ['replies.json', 'a rule without an answer', [{ last: 'x' }]],
  ['replies.json', 'a failure beside a reply', [{ reply: 'x', fail: { status: 500 } }]],
  ['skill.json', 'a skill without a description', { body: 'Do it.' }],
  ['tests.json', 'a case with its variables twice', [{ vars: {}, variables: {} }]],
  ['tests.json', 'an assertion of code', [{ assert: [{ type: 'javascript', value: 'true' }] }]],
  ['tests.json', 'an assertion that looks for nothing', [{ assert: [{ type: 'contains' }] }]],
  ['tests.json', 'a misspelt field', [{ asserts: [] }]],
  ['tests.json', 'a latency without its limit', [{ assert: [{ type: 'latency', value: 50 }] }]],
  ['tool.json', 'a tool of an unknown type', { name: 'x', type: 'smtp', url: '/x' }],
  ['tool.json', 'a tool without an address', { name: 'x' }],
  ['tool.json', 'a restful tool with an unknown method', { url: '/x', method: 'FETCH' }],
  ['tool.json', 'a grpc tool without a method', { type: 'grpc', url: 'host:1' }],
  ['tool.json', 'a nested grpc tool without a method', { grpc: { url: 'grpc://host:1/B' } }],
  ['tool.json', 'a grpc tool with a proto that is too long', { grpc: { url: 'grpc://host:1/a.B/C', proto: `// ${'x'.repeat(65_536)}` } }],
  ['tool.json', 'an mcp tool without a url or a command', { mcp: { tool: 'x' } }],
  ['tool.json', 'an mcp tool with a url and a command', { mcp: { url: 'http://a.example', command: 'outline' } }],
  ['tool.json', 'an mcp tool with a url beside its command', { type: 'mcp', url: 'http://a.example', mcp: { command: 'outline' } }],
  ['tool.json', 'parameters without names', { url: '/x', parameters: ['a'] }],
  ['tool.json', 'a result without a name', { url: '/x', returns: [{ type: 'string' }] }]
]

describe('jsonschema/', () => {
  for (const [schema, what, value] of accepted) {
    it(`${schema} accepts ${what}`, () => {
      const validate = ajv.getSchema(schema)
      assert.equal(validate?.(value), true, JSON.stringify(validate?.errors))
    })
  }

  for (const [schema, what, value] of rejected) {
    it(`${schema} rejects ${what}`, () => {
      assert.equal(ajv.getSchema(schema)?.(value), false)
    })
  }

  const examples = [['extensions', 'extension.json'], ['templates', 'prompt.json'], ['tools', 'tool.json'], ['tests', 'tests.json'], ['demo', 'replies.json']] as const
  for (const [kind, schema] of examples) {
    it(`${schema} accepts every example under ${kind}`, () => {
      const validate = ajv.getSchema(schema)
      for (const file of readdirSync(`examples/${kind}`, { recursive: true, encoding: 'utf8' }).filter(file => /\.(json|yaml)$/.test(file))) {
        assert.equal(validate?.(parse(readFileSync(`examples/${kind}/${file}`, 'utf8'))), true, `${file}: ${JSON.stringify(validate?.errors)}`)
      }
    })
  }
})

function readJson (path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}
