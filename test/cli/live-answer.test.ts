import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { type Cli } from '../../src/cli/context.ts'
import { type DialogueEvent, type Dialogues } from '../../src/cli/dialogue.ts'
import { TalkSession } from '../../src/cli/talk.ts'
import { Output } from '../../src/cli/output.ts'

const delta = (effect: string, words: string): DialogueEvent => ({ type: 'live', data: { type: 'llm.delta', effect, text: words } })
const reset = (effect: string): DialogueEvent => ({ type: 'live', data: { type: 'llm.reset', effect } })
const line = (effect: string, words: string): DialogueEvent => ({ type: 'stdout', data: { text: words, effect } })
const DONE: DialogueEvent = { type: 'done', data: { status: 'completed' } }

/** What somebody reads on stdout of a session with these events. */
async function shown (events: readonly DialogueEvent[], { isTTY, json }: { readonly isTTY: boolean, readonly json?: string }): Promise<string> {
  const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY }), Object.assign(new PassThrough(), { isTTY })]
  const output = new Output(stdout, stderr, { json })
  const dialogues = { async * events () { yield * events } } as unknown as Dialogues
  const lines = { async next () { return undefined }, close () {} }
  const session = new TalkSession({ dialogues, lines, output, cli: {} as Cli, readLine: words => ({ text: words }), writeLog () {} })
  await session.hold({ id: 's1', status: 'running', word: '', seq: 0, asked: [] })
  stdout.end()
  return await text(stdout)
}

describe('An answer that is told while it is written', () => {
  it('is shown once on a terminal, as it comes', async () => {
    assert.equal(await shown([delta('2.0', 'Ann '), delta('2.0', 'owns'), line('2.0', 'Ann owns it.'), DONE], { isTTY: true }), 'Ann owns it.\n')
  })

  it('is shown again from its beginning when it was taken back', async () => {
    assert.equal(await shown([delta('2.0', 'An'), reset('2.0'), delta('2.0', 'Ann.'), line('2.0', 'Ann.'), DONE], { isTTY: true }), 'An\nAnn.\n')
  })

  it('ends its line before another one begins', async () => {
    assert.equal(await shown([delta('2.0', 'Let me look'), delta('4.0', 'Ann.'), line('4.0', 'Ann.'), DONE], { isTTY: true }), 'Let me look\nAnn.\n')
  })

  it('is written whole where no terminal is', async () => {
    assert.equal(await shown([delta('2.0', 'An'), line('2.0', 'Ann.'), DONE], { isTTY: false }), 'Ann.\n')
  })
})

describe('A turn, for programs,', () => {
  it('ends with a line that has its answer, its value and why it has failed', async () => {
    const events: DialogueEvent[] = [
      { type: 'input', data: { text: 'Who?' } }, { type: 'message', data: { role: 'assistant', content: '{"owner":"ann"}', value: { owner: 'ann' } } },
      { type: 'error', data: { code: 'TOOL_UNKNOWN', message: 'interrupted', at: '…' } }, { type: 'state', data: { status: 'waiting_input', word: 'await_input' } }
    ]
    const said = (await shown(events, { isTTY: false, json: '' })).trimEnd().split('\n')
    assert.deepEqual(JSON.parse(said.at(-1) ?? ''), { type: 'turn', data: { answer: '{"owner":"ann"}', value: { owner: 'ann' }, error: { code: 'TOOL_UNKNOWN', message: 'interrupted' } } })
  })
})
