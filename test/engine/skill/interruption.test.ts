import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { type SkillSetting } from '../../../src/engine/skill/skill-state.ts'
import { type ExecEffect } from '../../../src/session/model.ts'
import { answerWith } from '../dialogue.ts'
import { calling, SkillDialogue } from './skill-dialogue.ts'

const TERMINAL = 'd'.repeat(32)

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

/** A skill in a terminal whose line was never empty. */
function busy (setting: Partial<SkillSetting> = {}): SkillDialogue {
  const dialogue = new SkillDialogue({ target: 'web', inTerminal: TERMINAL, ...setting })
  dialogue.end({ files: [] })
  dialogue.end(answerWith({ content: '[CMD] ls' }))
  dialogue.fail('the line of the terminal was not empty for too long, and nothing was run', 'TERMINAL_BUSY')
  return dialogue
}

describe('The question about a command whose terminal was busy', () => {
  it('is what clients are shown as the last reply, and the skill waits', () => {
    const { result, session } = busy()
    const question = 'The command "ls" was not run: the terminal was busy for too long. Answer "again" to try again, "without" to run it and all further ones without the terminal, "skip" to leave it out, or tell the model what to do instead.'
    assert.deepEqual(result.reply, { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command: 'ls', isBusy: true })
    assert.deepEqual([session.status, session.engine.view.stateName, result.pendingCommand], ['waiting_input', 'waiting_user', 'ls'])
  })

  it('is asked in the language of the skill', () => {
    assert.match(JSON.stringify(busy({ language: 'ru' }).result.reply), /Команда .+ не выполнена: терминал слишком долго был занят/)
  })

  for (const words of ['again', 'снова', ' Skill:Again ']) {
    it(`gives way to the command in the same terminal after ${JSON.stringify(words)}`, () => {
      const dialogue = busy()
      dialogue.say(words)
      assert.deepEqual(execIn(dialogue), { command: 'ls', terminal: TERMINAL })
    })
  }

  for (const words of ['without', 'без терминала', 'skill:without']) {
    it(`gives way to the command, and all further ones, without the terminal after ${JSON.stringify(words)}`, () => {
      const dialogue = busy()
      dialogue.say(words)
      assert.deepEqual(execIn(dialogue), { command: 'ls' })
      dialogue.end({ outcome: 'exited', exitCode: 0, stdout: 'a', stderr: '', command: 'ls', cwd: '/srv' })
      dialogue.end(answerWith({ content: '[CMD] pwd' }))
      assert.deepEqual(execIn(dialogue), { command: 'pwd', cwd: '/srv' })
    })
  }

  it('lets the model read that its command was skipped, and nothing of an interruption', () => {
    const dialogue = busy()
    dialogue.say('skip')
    assert.equal(dialogue.skill.messages.at(-1)?.['content'], 'User skipped the command.\n\n[Step 2 of 100]')
  })

  it('lets the model read other words of its user', () => {
    const dialogue = busy()
    dialogue.say('look at the readme first')
    assert.equal(dialogue.skill.messages.at(-1)?.['content'], 'User skipped the command.\nlook at the readme first\n\n[Step 2 of 100]')
  })

  it('is answered by calls as by texts', () => {
    const dialogue = new SkillDialogue({ target: 'web', inTerminal: TERMINAL, protocol: 'tools' })
    dialogue.end({ files: [] })
    dialogue.end(calling(['run_command', { command: 'ls' }], ['run_command', { command: 'pwd' }]))
    dialogue.fail('busy', 'TERMINAL_BUSY')
    dialogue.say('again')
    assert.deepEqual(execIn(dialogue), { command: 'ls', terminal: TERMINAL })
    dialogue.fail('busy', 'TERMINAL_BUSY')
    dialogue.say('skip')
    assert.deepEqual(dialogue.skill.messages.slice(-2).map(({ role, content }) => [role, String(content).split('\n')[0]]), [['tool', 'User skipped the command.'], ['tool', 'Not run: the call before it has ended the list.']])
  })

  it('alone may be answered with the action to do without the terminal', () => {
    const without = { name: 'without', data: {} }
    assert.equal(busy().session.engine.refuses('', without), undefined)
    assert.deepEqual(interrupted().session.engine.refuses('', without), { kind: 'busy', message: 'Skill is not waiting for a terminal' })
  })

  it('is the same in another replica', () => {
    const dialogue = busy()
    assert.deepEqual(dialogue.fold().engine.view, dialogue.session.engine.view)
  })
})

function execIn (dialogue: SkillDialogue): JsonObject {
  const { id: _id, kind, target: _target, origin: _origin, timeout: _timeout, ...place } = dialogue.effect() as ExecEffect
  assert.equal(kind, 'exec')
  return { ...place }
}

describe('A line of the log of a skill', () => {
  it('S-46 has the fields of the protocol', () => {
    const dialogue = interrupted()
    const lines = dialogue.log.flatMap(({ seq, at, notices }) => notices.flatMap(({ type, data }, n) => type === 'log' ? [{ data, id: `s1:${seq}.${n}`, timestamp: new Date(at).toISOString() }] : []))
    const of = { skill_log_id: 's1', session_id: 's1', skill_name: 'walk', serverId: 'web', serverName: 'web' }
    for (const { data, id, timestamp } of lines) assert.deepEqual({ ...data, ...of, id, timestamp }, data)
    assert.deepEqual(lines.map(({ data }) => [data['event'], data['step'], data['text']]), [['skill_start', 0, 'skill_start step=0'], ['skill_command', 1, 'skill_command step=1']])
  })
})
