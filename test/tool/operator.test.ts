import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createOperator, type OperatorSettings, parseStdioCommands } from '../../src/tool/operator.ts'

const MODULES = { has: () => false, get: async () => undefined }
const NOTHING_SET: OperatorSettings = { egress: 'internal', egressAllow: '', baseUrls: '', baseUrl: '', secrets: '', stdioCommands: '', environment: {} }

describe('an operator', () => {
  it('who sets nothing grants internal addresses and nothing else', () => {
    const { egress, secrets, baseUrls, commands } = createOperator(NOTHING_SET, MODULES)
    assert.equal(egress.refusal('10.0.0.1'), undefined)
    assert.deepEqual([secrets.has('TOKEN'), baseUrls.knows('m'), commands.size], [false, false, 0])
  })

  it('grants what the variables say', () => {
    const operator = createOperator({
      egress: 'strict',
      egressAllow: '10.0.0.0/8, tool.example',
      baseUrls: 'm=http://m.example',
      baseUrl: 'http://other.example',
      secrets: 'TOKEN=api.example',
      stdioCommands: 'files=node server.js',
      environment: { TOOL_SECRET_TOKEN: 'secret-value' }
    }, MODULES)
    assert.deepEqual([operator.egress.refusal('10.0.0.1'), operator.egress.refusal('192.168.0.1') === undefined], [undefined, false])
    assert.equal(operator.secrets.reveal('TOKEN', 'api.example'), 'secret-value')
    assert.ok(operator.baseUrls.knows('any'))
    assert.ok(operator.commands.has('files'))
  })

  const bad: readonly [settings: Partial<OperatorSettings>, message: RegExp][] = [
    [{ egressAllow: '10.0.0.0/99' }, /^EGRESS_ALLOW: "10\.0\.0\.0\/99"/],
    [{ baseUrls: 'a=http://a.example,m' }, /^TOOL_BASE_URLS: entry 2 must be module=url$/],
    [{ baseUrls: 'http://user:PASS=WORD@m.example' }, /^TOOL_BASE_URLS: entry 1 must be module=url$/],
    [{ baseUrls: 'a=http://a.example,m=http://user:PASSWORD@m.example' }, /^TOOL_BASE_URLS: "m" must have no credentials, query or fragment$/],
    [{ baseUrls: 'm=ftp://user:PASSWORD@m.example' }, /^TOOL_BASE_URLS: "m" must be a URL with http, https, grpc or grpcs, such as http:\/\/orders.internal:8080$/],
    [{ baseUrl: 'ftp://user:PASSWORD@other.example' }, /^TOOL_BASE_URL must be a URL with http, https, grpc or grpcs, such as http:\/\/orders.internal:8080$/],
    [{ baseUrl: 'http://other.example?key=PASSWORD' }, /^TOOL_BASE_URL must have no credentials, query or fragment$/],
    [{ secrets: 'TOKEN=a' }, /^TOOL_SECRETS: TOOL_SECRET_TOKEN is not set/],
    [{ stdioCommands: 'files' }, /^MCP_STDIO_COMMANDS: "files"/]
  ]
  for (const [settings, message] of bad) {
    it(`is told of the mistake in ${JSON.stringify(settings)}`, () => assert.throws(() => createOperator({ ...NOTHING_SET, ...settings }, MODULES), { message }))
  }

  it('writes commands with arguments that may hold blanks', () => {
    assert.deepEqual([...parseStdioCommands('a=node x.js --port 1; b="/opt/my tools/run" "two words";')], [
      ['a', { command: 'node', arguments: ['x.js', '--port', '1'] }],
      ['b', { command: '/opt/my tools/run', arguments: ['two words'] }]
    ])
  })
})
