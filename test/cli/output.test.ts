import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PassThrough } from 'node:stream'
import { type Json } from '../../src/base/json.ts'
import { Output } from '../../src/cli/output.ts'

const ESCAPE = '\x1b[31mred\x1b[0m \x9b5m\x07\b'

/** A control character, one that turns writing round, an invisible letter, two blanks that are none, and a line separator. */
const HIDING = 'a\x1b[2K\u202e\u3164\u2800\u00a0\u2028b'

const SHOWN = 'a\\u{1b}[2K\\u{202e}\\u{3164}\\u{2800}\\u{a0}\\u{2028}b'

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
    const coloured = '\x1b[1m--- a/x\x1b[22m\n\x1b[1m+++ b/x\x1b[22m\n\x1b[36m@@ -1 +1 @@\x1b[39m\n\x1b[31m--- \\u{1b}[2Jold\x1b[39m\n\x1b[32m+new\x1b[39m\n same\n'
    for (const [isTTY, hasColour, expected] of [[true, true, coloured], [true, false, diff.replace('\x1b', '\\u{1b}')], [false, true, diff.replace('\x1b', '\\u{1b}')]] as const) {
      const { output, printed } = open({ isTTY, hasColour })
      await output.diff(diff)
      assert.equal(printed(), expected)
    }
  })

  it('shows what hides, on a terminal and in words, wherever it comes from', async () => {
    const { output, printed, said } = open({ isTTY: true, hasColour: true })
    await output.rows(['id'], [[HIDING]])
    await output.text(HIDING)
    await output.piece(`${HIDING}\r\n\ttab\n`)
    await output.diff(`+${HIDING}\n`)
    await output.words(HIDING)
    assert.equal(printed(), `\x1b[1mID\x1b[22m\n${SHOWN}\n${SHOWN}\n${SHOWN}\\u{d}\n\ttab\n\x1b[32m+${SHOWN}\x1b[39m\n`)
    assert.equal(said(), `${SHOWN}\n`)
  })

  it('shows it in a pipe too, where it is words or said in a dialogue', async () => {
    const { output, printed, said } = open()
    await output.said(HIDING)
    await output.diff(HIDING)
    await output.words(HIDING)
    assert.deepEqual([printed(), said()], [`${SHOWN}\n${SHOWN}\n`, `${SHOWN}\n`])
  })

  it('escapes it in JSON, which stays the same JSON', async () => {
    for (const isTTY of [true, false]) {
      const { output, printed } = open({ isTTY, json: '' })
      await output.json({ text: `${HIDING}\u{e0041}` })
      const text = printed()
      assert.match(text, /^[\x20-\x7e\n]*$/)
      assert.deepEqual(JSON.parse(text), { text: `${HIDING}\u{e0041}` })
    }
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
