import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createClient } from '../../src/client/client.ts'
import { MODEL_ANSWERS, streamOf } from '../helpers/model-answers.ts'

/** What the client makes of one of the answers of models, as the service passes it on. */
async function ask (id: string) {
  const given = MODEL_ANSWERS.find(each => each.id === id)
  assert.ok(given !== undefined)
  const client = createClient({ url: 'http://localhost', fetch: async () => new Response(streamOf(given)) })
  return await client.chat('any')
}

describe('an answer that the client reads', () => {
  it('has its text in parts, and ends with a reason', async () => {
    for (const [id, text] of [['parts-streamed', 'Hello'], ['parts', 'Hello'], ['error-empty-beside-choices', 'ab']] as const) {
      const answer = await ask(id)
      assert.deepEqual([await answer.text(), answer.finishReason], [text, 'stop'])
    }
  })

  it('is no value when it was cut or refused', async () => {
    await assert.rejects((await ask('text-cut')).value(), { name: 'PromptShellError', code: 'ANSWER_CUT', message: 'The answer was cut: length' })
    const refused = await ask('refusal')
    await assert.rejects(refused.value(), { code: 'MODEL_REFUSED', message: 'The model refuses: I cannot help with that' })
    assert.equal(refused.refusal, 'I cannot help with that')
  })

  it('is a value in a fence too', async () => {
    assert.deepEqual(await (await ask('fenced-json')).value(), { owner: 'Ada' })
  })
})
