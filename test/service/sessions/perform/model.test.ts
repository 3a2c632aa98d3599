import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANYONE } from '../../../../src/access/caller.ts'
import { type CountedModels } from '../../../../src/service/chat/counted-models.ts'
import { askModelWith } from '../../../../src/service/sessions/perform/model.ts'
import { type Outcome } from '../../../../src/session/performer.ts'
import { answerWith } from '../../../engine/dialogue.ts'
import { SkillDialogue } from '../../../engine/skill/skill-dialogue.ts'

/** What comes of the first question of a skill. */
async function ask (content: string): Promise<Outcome> {
  const models = { ask: async () => ({ value: answerWith({ content }), usage: { inputTokens: 1, outputTokens: 1 } }) } as unknown as CountedModels
  const dialogue = new SkillDialogue()
  return await askModelWith(models)({ session: dialogue.session, effect: dialogue.request(), caller: ANYONE, signal: new AbortController().signal, publish () {}, activity: undefined as never })
}

describe('What a model says to a skill', () => {
  it('is kept', async () => {
    assert.equal((await ask('x'.repeat(1000 * 1000))).kind, 'result')
  })

  it('is a failure where it is longer than 1 MiB, in bytes', async () => {
    assert.deepEqual(await ask('я'.repeat(600 * 1000)), { kind: 'failure', code: 'ANSWER_TOO_LONG', message: 'the model\'s answer is longer than 1048576 bytes' })
  })
})
