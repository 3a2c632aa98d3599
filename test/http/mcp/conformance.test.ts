import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, it } from 'node:test'
import { startService } from '../../helpers/service.ts'

/** The MCP project's own checks of servers, in the protocol of 2025; those that name resources of a test server are not for us. */
const SCENARIOS = ['server-initialize', 'ping', 'completion-complete', 'tools-list', 'resources-list', 'prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'dns-rebinding-protection']

const [major = 0] = process.versions.node.split('.').map(Number)

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

/** What the scenarios ask for. */
const registrations = {
  'templates:test_simple_prompt': { description: 'A simple prompt', userPrompt: 'This is a simple prompt for testing.' },
  'templates:test_prompt_with_arguments': { description: 'A prompt with arguments', userPrompt: 'Prompt with arguments: arg1=\'{{variables.arg1}}\', arg2=\'{{variables.arg2}}\'', parameters: [{ name: 'arg1', type: 'string', examples: ['paris', 'park'] }, { name: 'arg2', type: 'string' }] }
}

describe('MCP server', { skip: major < 22 && 'the conformance program needs Node 22' }, () => {
  for (const scenario of SCENARIOS) {
    it(`passes the conformance scenario ${scenario}`, async t => {
      const origin = await (await startService(t, registrations)).listen()
      const { stdout } = await promisify(execFile)(process.execPath, [program, 'server', '--url', `${origin}/mcp`, '--scenario', scenario])
      assert.match(stdout, /Passed: (\d+)\/\1, 0 failed/)
    })
  }
})
