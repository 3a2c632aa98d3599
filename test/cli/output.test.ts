import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PassThrough } from 'node:stream'
import { type Json } from '../../src/base/json.ts'
import { Output } from '../../src/cli/output.ts'

const ESCAPE = '\x1b[31mred\x1b[0m \x9b5m\x07\b'

/** An output whose streams are kept. */
function open ({ isTTY = false, json, hasColour = false }: { isTTY?: boolean, json?: string, hasColour?: boolean } = {}) {
  const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY }), Object.assign(new PassThrough(), { isTTY })]
  const output = new Output(stdout, stderr, { json, hasColour })
  return { output, printed: () => String(stdout.read() ?? ''), said: () => String(stderr.read() ?? '') }
}

const ROWS = [['a', 'long one'], ['bcd', 'x\ty\n z']] as const

describe('the output of aps', () => {
  it('is rows with tabs and without a head in a pipe', async () => {
    const { output, printed } = open()
    await output.rows(['id', 'text'], ROWS)
    assert.equal(printed(), 'a\tlong one\nbcd\tx y z\n')
  })

  it('is aligned columns below their names on a terminal', async () => {
    const { output, printed } = open({ isTTY: true })
    await output.rows(['id', 'text'], ROWS)
    assert.equal(printed(), 'ID   TEXT\na    long one\nbcd  x y z\n')
  })

  it('has colour on a terminal only', async () => {
    for (const [isTTY, expected] of [[true, '\x1b[1m[user]\x1b[22m\n'], [false, '[user]\n']] as const) {
      const { output, printed } = open({ isTTY, hasColour: true })
      await output.heading('[user]')
      assert.equal(printed(), expected)
    }
  })

  it('is a coloured diff on a terminal, and a plain one in a pipe', async () => {
    const diff = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- \x1b[2Jold\n+new\n same\n'
    const coloured = '\x1b[1m--- a/x\x1b[22m\n\x1b[1m+++ b/x\x1b[22m\n\x1b[36m@@ -1 +1 @@\x1b[39m\n\x1b[31m--- [2Jold\x1b[39m\n\x1b[32m+new\x1b[39m\n same\n'
    for (const [isTTY, hasColour, expected] of [[true, true, coloured], [true, false, diff.replace('\x1b', '')], [false, true, diff]] as const) {
      const { output, printed } = open({ isTTY, hasColour })
      await output.diff(diff)
      assert.equal(printed(), expected)
    }
  })

  it('has no control characters on a terminal, wherever they come from', async () => {
    const { output, printed, said } = open({ isTTY: true })
    await output.rows(['id'], [[ESCAPE]])
    await output.text(ESCAPE)
    await output.piece(`${ESCAPE}\r\n\ttab\n`)
    await output.words(ESCAPE)
    assert.equal(printed(), 'ID\n[31mred[0m 5m\n[31mred[0m 5m\n[31mred[0m 5m\n\ttab\n')
    assert.equal(said(), '[31mred[0m 5m\n')
  })

  it('has every byte of a text in a pipe', async () => {
    const { output, printed } = open()
    await output.text(ESCAPE)
    assert.equal(printed(), `${ESCAPE}\n`)
  })

  const texts: ReadonlyArray<readonly [string, string]> = [['', ''], ['x', 'x\n'], ['x\n', 'x\n']]
  for (const [text, expected] of texts) {
    it(`ends ${JSON.stringify(text)} with one line end`, async () => {
      const { output, printed } = open()
      await output.text(text)
      assert.equal(printed(), expected)
    })
  }

  const ITEM = { id: 'a', state: 'valid', size: 12345678901234567890n }
  const choices: ReadonlyArray<readonly [json: string, value: Json, expected: unknown]> = [
    ['', ITEM, { ...ITEM, size: 12345678901234567000 }],
    ['id', ITEM, { id: 'a' }],
    ['state, id', [ITEM, ITEM], [{ state: 'valid', id: 'a' }, { state: 'valid', id: 'a' }]],
    ['any', [], []]
  ]
  for (const [json, value, expected] of choices) {
    it(`is JSON of ${Array.isArray(value) ? `${value.length} items` : 'one item'} for --json=${json}`, async () => {
      const { output, printed } = open({ json })
      await output.json(value)
      assert.deepEqual(JSON.parse(printed()), expected)
    })
  }

  it('keeps every digit in JSON', async () => {
    const { output, printed } = open({ json: 'size' })
    await output.json(ITEM)
    assert.equal(printed(), '{\n  "size": 12345678901234567890\n}\n')
  })

  it('names the fields that there are', async () => {
    await assert.rejects(open({ json: 'id,constructor' }).output.json(ITEM), { name: 'CliError', exitCode: 2, message: '--json: expected fields of id, state, size, got "constructor"' })
  })
})
