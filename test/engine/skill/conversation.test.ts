import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { answerWith } from '../dialogue.ts'
import { SkillDialogue } from './skill-dialogue.ts'

const { SKILL_SYSTEM_PROMPT_WITH_ASK: base } = JSON.parse(readFileSync('prompts.json', 'utf8')) as { SKILL_SYSTEM_PROMPT_WITH_ASK: string }

const BODY = '## What I do\n\nЯ выполняю следующие шаги:\n1. Запускаю `git status --porcelain`'

/** What is sent at each step, and what the model replies: the conversation that the protocol shows. */
const STEPS: ReadonlyArray<readonly [sent: string, reply: string]> = [
  ['Execute skill: git-quick-commit\n\n[Step 1 of 100]', '[CMD] git status --porcelain'],
  ['Command output:\n M server/skills.js\n?? new-file.txt\n\n[Step 2 of 100]', '[ASK] Введи сообщение коммита:'],
  ['User response: fix: update skills API\n\n[Step 3 of 100]', '[CMD] git add . && git commit -m "fix: update skills API"'],
  ['Command output:\n[main abc1234] fix: update skills API\n 1 file changed, 5 insertions(+)\n\n[Step 4 of 100]', '[DONE] Коммит успешно создан: abc1234. Изменён 1 файл.']
]

describe('the conversation of the protocol', () => {
  it('is sent to the model byte for byte', () => {
    const dialogue = new SkillDialogue({ name: 'git-quick-commit', base, body: BODY, model: 'CHEAP' })
    const happenings = [
      () => { dialogue.act('command_result', { stdout: ' M server/skills.js\n?? new-file.txt\n', stderr: '', exitCode: 0 }) },
      () => { dialogue.say('fix: update skills API') },
      () => { dialogue.act('command_result', { stdout: '[main abc1234] fix: update skills API\n 1 file changed, 5 insertions(+)\n', stderr: '', exitCode: 0 }) }
    ]
    const history: object[] = [{ role: 'system', content: `${base}\n\n--- Active Skill: git-quick-commit ---\n${BODY}` }]
    for (const [index, [sent, reply]] of STEPS.entries()) {
      history.push({ role: 'user', content: sent })
      const { messages, fields } = dialogue.request()
      assert.equal(JSON.stringify({ ...fields, messages }), JSON.stringify({ model: 'CHEAP', temperature: 0.3, max_tokens: 512, messages: history }))
      dialogue.end(answerWith({ content: reply }))
      history.push({ role: 'assistant', content: reply })
      happenings[index]?.()
    }
    const { view } = dialogue.session.engine
    assert.deepEqual([view.stateName, dialogue.result.text], ['done', 'Коммит успешно создан: abc1234. Изменён 1 файл.'])
  })
})

describe('the event that a command has ended', () => {
  const endOf = (dialogue: SkillDialogue) => dialogue.log.at(-1)?.notices.find(({ type }) => type === 'command')?.data

  it('has the effect that ran it, and how long that took', () => {
    const dialogue = new SkillDialogue({ target: 'here' })
    dialogue.end({ files: [] })
    dialogue.end(answerWith({ content: '[CMD] ls' }))
    const { id } = dialogue.effect()
    dialogue.end({ outcome: 'exited', exitCode: 0, stdout: 'a', stderr: '', durationMs: 12 })
    assert.deepEqual(endOf(dialogue), { phase: 'ended', command: 'ls', step: 1, exitCode: 0, outcome: 'exited', effect: id, durationMs: 12 })
  })

  it('has neither where the client ran it', () => {
    const dialogue = new SkillDialogue()
    dialogue.end(answerWith({ content: '[CMD] ls' }))
    dialogue.act('command_result', { stdout: 'a', exitCode: 0, durationMs: 12 })
    assert.deepEqual(endOf(dialogue), { phase: 'ended', command: 'ls', step: 1, exitCode: 0, outcome: 'exited' })
  })
})
