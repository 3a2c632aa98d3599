import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { answerWith } from '../dialogue.ts'
import { SkillDialogue } from './skill-dialogue.ts'

/** A skill whose command was proposed without a tag, which a person has edited, and which was interrupted. */
function interrupted (): SkillDialogue {
  const dialogue = new SkillDialogue({ target: 'web' })
  dialogue.end({ files: [] })
  for (let n = 0; n < 2; n++) dialogue.end(answerWith({ content: 'ls -la' }))
  const { id } = dialogue.effect()
  dialogue.take({ kind: 'decided', effect: id, by: 'ann', decision: 'approve', command: 'ls .' })
  dialogue.take({ kind: 'unknown', effect: id })
  return dialogue
}

describe('The question about a command that was interrupted', () => {
  it('is what clients are shown as the last reply, with the command that ran', () => {
    const { result } = interrupted()
    const question = 'The command "ls ." was interrupted. Nobody knows whether it was done. Answer "again" to run it again, "skip" to do without it, or with what it printed.'
    assert.deepEqual(result.reply, { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command: 'ls .', isInterrupted: true, fallback: true })
    assert.equal(result.pendingCommand, 'ls .')
  })

  it('gives way to the command, which is proposed as it ran and asked for anew', () => {
    const dialogue = interrupted()
    dialogue.say('again')
    const { result } = dialogue
    assert.deepEqual([result.reply, dialogue.session.status], [{ type: 'CMD', content: '[CMD] ls .', command: 'ls .', fallback: true }, 'waiting_approval'])
    assert.deepEqual(dialogue.skill.messages.at(-1), { role: 'assistant', content: '[CMD] ls .' })
  })

  it('is the same in another replica', () => {
    const dialogue = interrupted()
    assert.deepEqual(dialogue.fold().engine.view, dialogue.session.engine.view)
  })
})

describe('A line of the log of a skill', () => {
  it('S-46 has the fields of the protocol', () => {
    const dialogue = interrupted()
    const lines = dialogue.log.flatMap(({ seq, at, notices }) => notices.flatMap(({ type, data }, n) => type === 'log' ? [{ data, id: `s1:${seq}.${n}`, timestamp: new Date(at).toISOString() }] : []))
    const of = { skill_log_id: 's1', session_id: 's1', skill_name: 'walk', serverId: 'web', serverName: 'web' }
    for (const { data, id, timestamp } of lines) assert.deepEqual({ ...data, ...of, id, timestamp }, data)
    assert.deepEqual(lines.map(({ data }) => [data['event'], data['step'], data['text']]), [['skill_start', 0, 'skill_start step=0'], ['skill_command', 1, 'skill_command step=1']])
  })
})
