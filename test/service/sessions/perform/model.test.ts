import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANYONE } from '../../../../src/access/caller.ts'
import { type JsonObject } from '../../../../src/base/json.ts'
import { type CountedModels } from '../../../../src/service/chat/models.ts'
import { askModelWith } from '../../../../src/service/sessions/perform-model.ts'
import { type Outcome } from '../../../../src/session/effects.ts'
import { answerWith } from '../../../engine/dialogue.ts'
import { SkillDialogue } from '../../../engine/skill/skill-dialogue.ts'

/** What comes of the first question of a skill. */
async function ask (content: string, publish: (live: JsonObject) => void = () => {}, until?: Promise<unknown>): Promise<Outcome> {
  const models = {
    async ask () {
      await until
      return { value: answerWith({ content }), usage: { inputTokens: 1, outputTokens: 1 } }
    }
  } as unknown as CountedModels
  const dialogue = new SkillDialogue()
  return await askModelWith(models)({ session: dialogue.session, effect: dialogue.request(), caller: ANYONE, signal: new AbortController().signal, publish, activity: undefined as never })
}

describe('What a model says to a skill', () => {
  it('is kept', async () => {
    assert.equal((await ask('x'.repeat(1000 * 1000))).kind, 'result')
  })

  it('is announced each second while nothing of it has come', async () => {
    const told: JsonObject[] = []
    let isTold = (): void => {}
    const twice = new Promise<void>(resolve => { isTold = resolve })
    await ask('late', live => { if (told.push(live) === 2) isTold() }, twice)
    assert.deepEqual(told.map(({ type, effect }) => [type, effect]), [['llm.progress', '1.0'], ['llm.progress', '1.0']])
    assert.ok(Number(told[0]?.['elapsedMs']) < Number(told[1]?.['elapsedMs']))
  })

  it('is a failure where it is longer than 1 MiB, in bytes', async () => {
    assert.deepEqual(await ask('я'.repeat(600 * 1000)), { kind: 'failure', code: 'ANSWER_TOO_LONG', message: 'the model\'s answer is longer than 1048576 bytes' })
  })
})
