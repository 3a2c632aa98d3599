import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeSkill, describeTurn } from '../../src/http/routes/skills.ts'
import { answerWith } from '../engine/dialogue.ts'
import { SkillDialogue } from '../engine/skill/skill-dialogue.ts'

describe('A skill as its clients see it', () => {
  it('asks about a command that was interrupted', () => {
    const dialogue = new SkillDialogue({ terminal: 'web', target: 'web' })
    dialogue.end({ files: [] })
    dialogue.end(answerWith({ content: '[CMD] make' }))
    dialogue.take({ kind: 'unknown', effect: dialogue.effect().id })
    const { aiResponse, state } = describeTurn({ session: dialogue.session, isOwn: true })
    assert.deepEqual([aiResponse?.type, aiResponse?.required, aiResponse?.command, aiResponse?.isInterrupted, state], ['ASK', true, 'make', true, 'waiting_user'])
    assert.match(String(aiResponse?.question), /^The command "make" was interrupted\. Nobody knows whether it was done\. Answer "again"/)
    assert.equal(describeSkill(dialogue.session).pendingCommand, 'make')
  })

  it('S-30 has the fields of the protocol', () => {
    const dialogue = new SkillDialogue({ base: 'Base.', terminal: 'web', target: 'web' })
    dialogue.end({ files: [] })
    dialogue.end(answerWith({ content: '[CMD] seq 9' }))
    dialogue.end({ exitCode: 0, stdout: '1\n2\n3\n4\n5\n6\n7\n8\n9\n' })
    const { createdAt, lastActivity, aiResponse, text, ...fields } = describeSkill(dialogue.session)
    assert.deepEqual(fields, {
      terminalSessionId: 'web',
      serverId: 'web',
      skillName: 'walk',
      skillDescription: 'Walks.',
      messages: [
        { role: 'system', content: 'Base.\n\n--- Active Skill: walk ---\nWalk on.' },
        { role: 'user', content: 'Execute skill: walk\n\n[Step 1 of 100]' },
        { role: 'assistant', content: '[CMD] seq 9' },
        { role: 'user', content: 'Command output:\n1\n2\n3\n4\n5\n6\n7\n8\n9\n\n[Step 2 of 100]' }
      ],
      messagesLeftOut: 0,
      step: 2,
      maxSteps: 100,
      state: 'idle',
      pendingCommand: null,
      approval: null,
      outputBuffer: ['3', '4', '5', '6', '7', '8', '9']
    })
  })

  it('says that its budget is used up', () => {
    const dialogue = new SkillDialogue({}, { steps: 1, tokens: 1000, idle: 1000 })
    dialogue.end(answerWith({ content: '[MESSAGE] more' }))
    const { state, text } = describeSkill(dialogue.session)
    assert.deepEqual([state, text], ['failed', 'the session has made its 1 calls'])
  })

  it('has no server where its user runs commands', () => {
    const { terminalSessionId, serverId } = describeSkill(new SkillDialogue().session)
    assert.deepEqual([terminalSessionId, serverId], ['manual', null])
  })

  it('shows the newest of its messages, and how many are left out, where all are too long', () => {
    const dialogue = new SkillDialogue()
    for (let n = 0; n < 20; n++) {
      dialogue.end(answerWith({ content: '[ASK] more?' }))
      dialogue.say(`${n} ${'x'.repeat(90_000)}`)
    }
    const { messages, messagesLeftOut } = describeSkill(dialogue.session)
    assert.deepEqual([messages.length + messagesLeftOut, messages.length > 20, messages.at(-1)?.content.slice(0, 20)], [42, true, 'User response: 19 xx'])
    assert.ok(JSON.stringify(messages).length < 1024 * 1024 + messages.length + 2)
  })
})
