import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { parseSecrets } from '../../src/tool/definition.ts'
import { createTestOperator, define } from './tool-room.ts'

const page = readFileSync('docs/tools.md', 'utf8')
const operator = createTestOperator({ secrets: parseSecrets('CODE_INDEX=code.internal:8443', { TOOL_SECRET_CODE_INDEX: 'a-long-secret' }) })

describe('docs/tools.md', () => {
  const registrations = Array.from(page.matchAll(/```yaml\n(.*?)```/gs), ([, text = '']) => text)

  it('shows four registrations', () => assert.equal(registrations.length, 4))

  for (const text of registrations) {
    it(`shows a registration that is good: ${text.split('\n')[0]}`, () => {
      assert.doesNotThrow(() => define(parse(text), operator, 'mcp.server'))
    })
  }

  it('names every field of the policy', () => {
    for (const field of ['timeout', 'retries', 'idempotent', 'cacheTtl', 'breaker', 'concurrency', 'default', 'onError', 'strictReturns']) {
      assert.match(page, new RegExp(`^- \`${field}\` \\(`, 'm'))
    }
  })

  it('names every code that a failed call can have', () => {
    const codes = readFileSync('src/tool/tool-error.ts', 'utf8').match(/(?<=\| ')[A-Z_]+(?=')/g) ?? []
    assert.deepEqual(codes.filter(code => !page.includes(`\`${code}\``)), [])
  })
})
