import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnswerState, BEGUN, type Chunk, tokensOf, withChunk } from '../../console/prompts/play/answer-state.ts'
import { parametersOf, queryOf, type Settings, type Target } from '../../console/prompts/play/columns.ts'
import { MODEL_ANSWERS } from '../helpers/model-answers.ts'

const SETTINGS: Settings = { target: 'draft', model: '', temperature: '', maxTokens: '', others: '' }

const said = (chunks: readonly unknown[]): AnswerState => chunks.reduce<AnswerState>((state, chunk, index) => withChunk(state, chunk as Chunk, 100 * (index + 1)), BEGUN)

const word = (content: string, more: object = {}) => ({ id: 'a', choices: [{ index: 0, delta: { content } }], ...more })

describe('An answer in the playground', () => {
  for (const { id, stream, reads } of MODEL_ANSWERS.filter(({ stream, reads }) => stream !== undefined && reads.text !== undefined && reads.thoughts === undefined)) {
    it(`has the words that the service reads: ${id}`, () => { assert.equal(said(stream ?? []).text.trim(), (reads.text ?? '').trim()) })
  }

  it('tells the time of its first word, not of an empty beginning', () => {
    assert.equal(said([word(''), word('a'), word('b')]).firstMs, 200)
    assert.equal(said([word('')]).firstMs, undefined)
  })

  it('has no tokens where the provider told none, and never 0', () => {
    assert.equal(tokensOf(said([word('a')])), undefined)
    assert.equal(tokensOf(said([word('a', { usage: null }), word('b', { usage: { prompt_tokens: 3 } })])), undefined)
  })

  it('has the last count of each completion, and the sum of those of several turns', () => {
    const usage = (input: number, output: number) => ({ usage: { prompt_tokens: input, completion_tokens: output } })
    assert.deepEqual(tokensOf(said([word('a', usage(10, 1)), word('b', usage(10, 2)), { id: 'b', choices: [], ...usage(20, 5) }])), { input: 30, output: 7 })
  })

  it('joins the pieces of the calls that it asks for', () => {
    const piece = (index: number, name: string | undefined, given: string) => ({ choices: [{ delta: { tool_calls: [{ index, function: { name, arguments: given } }] } }] })
    assert.deepEqual(said([piece(0, 'find', ''), piece(1, 'note', '{}'), piece(0, undefined, '{"a":'), piece(0, undefined, '1}')]).calls, {
      0: { name: 'find', arguments: '{"a":1}' }, 1: { name: 'note', arguments: '{}' }
    })
  })

  for (const [made, builtin] of [['builtin:script', 'script'], ['builtin:echo', 'echo'], ['fp_44709d6fcb', undefined], [null, undefined]] as const) {
    it(`tells a script from a model by ${made}`, () => { assert.equal(said([word('a', { system_fingerprint: made })]).builtin, builtin) })
  }
})

describe('The parameters of a column', () => {
  const cases: ReadonlyArray<readonly [Partial<Settings>, ReturnType<typeof parametersOf>]> = [
    [{}, { parameters: {} }],
    [{ model: ' best ', temperature: '0', maxTokens: '20' }, { parameters: { model: 'best', temperature: 0, max_tokens: 20 } }],
    [{ others: '{ "top_p": 0.5, "stream_options": null }' }, { parameters: { top_p: 0.5, stream_options: null } }],
    [{ others: '{ "top_p": ' }, { problem: '' }],
    [{ others: '[1]' }, { problem: '' }],
    [{ others: 'null' }, { problem: '' }],
    [{ others: '{ "stream": false }' }, { problem: 'stream' }],
    [{ others: '{ "messages": [] }' }, { problem: 'messages' }]
  ]
  for (const [settings, expected] of cases) it(`are read of ${JSON.stringify(settings)}`, () => { assert.deepEqual(parametersOf({ ...SETTINGS, ...settings }), expected) })

  for (const [target, query] of [['latest', 'label=latest'], ['draft', 'label=latest'], ['@production', 'label=production'], ['7', 'version=7']] as ReadonlyArray<readonly [Target, string]>) {
    it(`ask ${target} by ${query}`, () => { assert.equal(queryOf(target), query) })
  }
})
