import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { Output } from '../../src/cli/output.ts'
import { printStream } from '../../src/cli/prompt.ts'
import { EventScanner } from '../../src/runtime/server-sent-events.ts'
import { MODEL_ANSWERS } from '../helpers/model-answers.ts'

/** Prints a stream of these events; gives what was written, also before an error. */
async function print (events: readonly string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const scanned = new EventScanner(1000, event => event).feed(Buffer.from(events.map(data => `data: ${data}\n\n`).join('')))
  const error = await printStream(new Output(stdout, stderr), Readable.from(scanned)).then(() => undefined, (failure: Error) => failure)
  return { error, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

const delta = (content: unknown, index = 0) => JSON.stringify({ choices: [{ index, delta: { content } }] })

describe('a stream of a chat', () => {
  it('is printed with the text of its first choice', async () => {
    const { stdout, error } = await print([delta(null), delta('Hel'), delta('other', 1), '{"choices":null}', '{}', delta('lo'), '[DONE]'])
    assert.deepEqual([stdout, error], ['Hello\n', undefined])
  })

  it('names the calls of tools when they are whole', async () => {
    const piece = (call: object) => JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, ...call }] } }] })
    const { stdout, stderr } = await print([piece({ id: '1', function: { name: 'find', arguments: '{"a"' } }), piece({ function: { arguments: ':1}' } }), '[DONE]'])
    assert.deepEqual([stdout, stderr], ['', 'calls find {"a":1}\n'])
  })

  it('is printed without thoughts; a refusal, and that it was cut, are told beside it', async () => {
    for (const { id, stream, reads: { text, refusal, cut } } of MODEL_ANSWERS) {
      if (stream === undefined || (text === undefined && refusal === undefined)) continue
      const { stdout, stderr } = await print([...stream.map(chunk => JSON.stringify(chunk)), '[DONE]'])
      assert.deepEqual([stdout, stderr], [`${String(text)}\n`, cut === true ? 'the answer was cut: length\n' : ''], id)
    }
    assert.deepEqual(await print([delta('<think>hm'), delta('</think>\n'), delta('Hello'), '[DONE]']), { error: undefined, stdout: 'Hello\n', stderr: '' })
    assert.equal((await print(['{"choices":[{"delta":{"refusal":"I cannot"}}]}', '[DONE]'])).stderr, 'the model refuses: I cannot\n')
  })

  const failed: ReadonlyArray<readonly [what: string, events: readonly string[], message: string]> = [
    ['tells an error', [delta('Hel'), '{"error":{"message":"it broke","code":"LLM_UPSTREAM"}}'], 'it broke (LLM_UPSTREAM)'],
    ['ends before its end', [delta('Hel')], 'the answer was cut short'],
    ['is none of a chat', [delta('Hel'), '{'], 'the answer is no stream of chat completions']
  ]
  for (const [what, events, message] of failed) {
    it(`fails when it ${what}, after what there was`, async () => {
      const { stdout, error } = await print(events)
      assert.deepEqual([stdout.trimEnd(), error?.message, (error as { exitCode?: number }).exitCode], ['Hel', message, 5])
    })
  }
})
