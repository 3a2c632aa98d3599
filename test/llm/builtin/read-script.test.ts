import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseScript, readScript } from '../../../src/llm/read-script.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const REFUSED: ReadonlyArray<readonly [what: string, text: string, message: string]> = [
  ['an empty text', '', 'line 1: rules must be array'],
  ['a map', 'reply: x', 'line 1: rules must be array'],
  ['broken YAML', '- reply: x\n- reply: [a', 'line 2: expected YAML, Flow sequence in block collection must be sufficiently indented and end with a ]'],
  ['a key that is there twice', '- reply: x\n  reply: y', 'line 2: expected YAML, Map keys must be unique'],
  ['a tag that is not there', '- reply: *gone', 'expected YAML, Unresolved alias (the anchor must be set before the alias): gone'],
  ['a condition of a wrong type', '- reply: x\n- last: 5\n  reply: y', 'line 2: rules[1].last must be string or array'],
  ['an empty text to look for', '- last: ""\n  reply: x', 'line 1: rules[0].last must NOT have fewer than 1 characters'],
  ['a misspelt field', '- last: x\n  repyl: y\n  reply: z', 'line 2: rules[0].repyl is not expected'],
  ['a rule without an answer', '- reply: x\n- last: x', 'line 2: rules[1].reply is required'],
  ['a failure beside a reply', '- reply: x\n  fail: { status: 500 }', 'line 1: rules[0].reply is not allowed'],
  ['a status that is none of a failure', '- fail: { status: 200 }', 'line 1: rules[0].fail.status must be >= 400'],
  ['a call without a name', '- calls:\n    - arguments: {}', 'line 2: rules[0].calls[0].name is required'],
  ['arguments that are no object', '- calls:\n    - name: x\n      arguments: [1]', 'line 3: rules[0].calls[0].arguments must be object'],
  ['no call', '- calls: []', 'line 1: rules[0].calls must NOT have fewer than 1 items'],
  ['1001 rules', '- reply: x\n'.repeat(1001), 'line 1: rules must NOT have more than 1000 items']
]

describe('the file of builtin:script', () => {
  for (const [what, text, message] of REFUSED) {
    it(`is refused for ${what}`, () => {
      assert.throws(() => parseScript(text), { message })
    })
  }

  it('may be JSON, and as large as it may be', () => {
    const rules = Array.from({ length: 1000 }, (_, index) => ({ last: [`text ${index}`, 'x'.repeat(400)], calls: [{ name: 'tool', arguments: { text: 'y'.repeat(400) } }] }))
    assert.deepEqual(parseScript(JSON.stringify(rules)), rules)
  })

  it('may have no rules', () => {
    assert.deepEqual(parseScript('[]'), [])
  })

  it('is refused above 1 MiB', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('replies.yaml', `# ${'x'.repeat(1024 * 1024)}`)
    const path = join(folder.path, 'replies.yaml')
    assert.throws(() => readScript(path), { message: `${path}: expected at most 1048576 bytes, got 1048578` })
  })

  it('of docs/chat.md is good', () => {
    const [, shown = ''] = /## Without a model.*?```yaml\n(.*?)```/s.exec(readFileSync('docs/chat.md', 'utf8')) ?? []
    assert.equal(parseScript(shown).length, 3)
  })

  it('of the examples is good', () => {
    assert.ok(readScript('examples/demo/replies.yaml').length > 0)
  })
})
