import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { SNIPPETS } from '../../console/prompts/snippets.ts'
import { startService } from '../helpers/service.ts'
import { tokenEntry } from '../helpers/tokens.ts'

const VARIABLES = { name: 'Ada "O\'Neil" \\ \n ж', many: [1, true, null] }
const RUN = promisify(execFile)

describe('What the console shows to call a prompt with', () => {
  for (const [program, command] of [['curl', ['sh', '-c']], ['Python', ['python3', '-c']]] as const) {
    it(`${program}: runs as it stands, with a token and values that are hard to quote`, { skip: spawnSync(command[0], ['--version']).error !== undefined && `${command[0]} is not installed` }, async t => {
      const { listen } = await startService(t, { 'templates:team:greet': 'Hello {{variables.name}}.' }, { API_TOKENS: tokenEntry('caller', 'render+chat'), LLM_BASE_URL: 'builtin:echo' })
      const origin = await listen()
      const text = SNIPPETS[program]?.({ origin, id: 'team.greet@latest', variables: VARIABLES, hasTokens: true }) ?? ''
      const [file, flag] = command
      const { stdout } = await RUN(file, [flag, text], { env: { ...process.env, PROMPT_TOKEN: 'caller-token' } })
      assert.ok(stdout.includes(program === 'curl' ? JSON.stringify(`Hello ${VARIABLES.name}.`).slice(1, -1) : `Hello ${VARIABLES.name}.`), stdout)
    })
  }

  it('MCP: is JSON that names the address', () => {
    const text = SNIPPETS['MCP']?.({ origin: 'http://127.0.0.1:8080', id: 'x', variables: {}, hasTokens: false }) ?? ''
    assert.deepEqual(JSON.parse(text), { mcpServers: { prompts: { type: 'http', url: 'http://127.0.0.1:8080/mcp' } } })
  })
})
