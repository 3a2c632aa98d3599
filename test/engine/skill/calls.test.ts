import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { type SkillSetting } from '../../../src/engine/skill/skill-state.ts'
import { messagesOf } from '../../../src/service/sessions/messages.ts'
import { answerWith } from '../dialogue.ts'
import { calling, SkillDialogue } from './skill-dialogue.ts'

/** A skill by calls on the target `web`, whose commands run unasked unless they are `rm`, or by hand. */
function skill (setting: Partial<SkillSetting> = {}): SkillDialogue {
  const dialogue = new SkillDialogue({ protocol: 'tools', target: 'web', timeout: 120, ...setting })
  if (dialogue.effect().kind === 'read') dialogue.end({ files: [] })
  return dialogue
}

const run = (command: string): readonly [string, JsonObject] => ['run_command', { command }]
const ask = (question: string, more: JsonObject = {}): readonly [string, JsonObject] => ['ask_user', { question, ...more }]
const tell = (text: string): readonly [string, JsonObject] => ['tell_user', { text }]
const finish = (summary: string): readonly [string, JsonObject] => ['finish', { summary }]

const ran = (stdout: string, exitCode: Json = 0, outcome = 'exited'): Json => ({ outcome, exitCode, stdout, stderr: '' })

/** The command that has begun. */
function running (dialogue: SkillDialogue): string {
  const effect = dialogue.effect()
  return effect.kind === 'exec' ? effect.command : assert.fail(`it asks for ${effect.kind}`)
}

/** What the model is told of its calls. */
const results = (dialogue: SkillDialogue): unknown[] => dialogue.request().messages.flatMap(({ role, content }) => role === 'tool' ? [content] : [])

const END = 'Not run: the call before it has ended the list.'

describe('A skill by calls', () => {
  it('offers four functions, and tells the step at the end of the first message', () => {
    const { messages, fields, purpose } = skill().request()
    const { tools, ...rest } = fields
    assert.deepEqual(rest, { temperature: 0.3, max_tokens: 2048 })
    assert.deepEqual((tools as ReadonlyArray<{ readonly function: { readonly name: string } }>).map(each => each.function.name), ['run_command', 'ask_user', 'tell_user', 'finish'])
    assert.deepEqual([purpose, ...messages.map(({ role, content }) => [role, content])], ['model', ['system', 'Base of calls.\n\n--- Active Skill: walk ---\nWalk on.'], ['user', 'Execute skill: walk\n\n[Step 1 of 100]']])
  })

  it('works off a list in order, one command at a time', () => {
    const dialogue = skill()
    dialogue.end(calling(run('a'), tell('half'), run('b')))
    assert.deepEqual([running(dialogue), dialogue.open.length, dialogue.result.pendingCommand], ['a', 1, 'a'])
    dialogue.end(ran('one'))
    assert.deepEqual([running(dialogue), dialogue.open.length, dialogue.result.step], ['b', 1, 1])
    dialogue.end(ran('two'))
    assert.deepEqual(results(dialogue), ['Command output:\none', 'The user was told.', 'Command output:\ntwo\n\n[Step 2 of 100]'])
    assert.deepEqual(dialogue.skill.messages.map(({ role }) => role), ['user', 'assistant', 'tool', 'tool', 'tool'])
  })

  const ends: ReadonlyArray<readonly [what: string, how: (dialogue: SkillDialogue) => void, result: string]> = [
    ['an exit code', dialogue => { dialogue.end(ran('x', 3)) }, 'Command output:\nx\n[Exit code: 3]'],
    ['a timeout', dialogue => { dialogue.end(ran('x', null, 'timeout')) }, 'Command output:\nx\n[Command timed out after 120s]'],
    ['an interruption', dialogue => { dialogue.end(ran('x', null, 'cancelled')) }, 'Command output:\nx\n[Command was interrupted]'],
    ['a person who refuses', dialogue => { dialogue.take({ kind: 'refused', effect: dialogue.effect().id, by: 'person', reason: 'no' }) }, 'User skipped the command.\nno']
  ]
  for (const [what, how, result] of ends) {
    it(`ends a list with ${what}, and says of the rest that it was not run`, () => {
      const dialogue = skill()
      dialogue.end(calling(run('a'), run('b'), finish('done')))
      how(dialogue)
      assert.deepEqual(results(dialogue), [result, END, `${END}\n\n[Step 2 of 100]`])
    })
  }

  it('ends a list with what the operator denies', () => {
    const dialogue = skill()
    dialogue.end(calling(run('rm a'), run('b')))
    assert.deepEqual(results(dialogue), ['The command was not run. denied: rule "rm *"', `${END}\n\n[Step 2 of 100]`])
  })

  it('tells everybody which rule denies a command, and nothing as if it ran', () => {
    const dialogue = skill()
    dialogue.end(calling(run('X=1 rm a')))
    const told = dialogue.log.at(-1)?.notices.flatMap(({ type, data }) => type === 'command' ? [[data['phase'], data['command'], data['reason']]] : [])
    assert.deepEqual(told, [['proposed', 'X=1 rm a', undefined], ['denied', 'X=1 rm a', 'denied: rule "rm *"']])
    assert.deepEqual(dialogue.log.flatMap(messagesOf).filter(({ role }) => role === 'tool').map(({ command, text }) => [command, text]), [['X=1 rm a', 'denied: rule "rm *"']])
  })

  it('ends a list with a question, whose answer is its result', () => {
    const dialogue = skill()
    dialogue.end(calling(ask('why?'), run('b')))
    assert.deepEqual([dialogue.result.reply, dialogue.session.engine.view.stateName], [{ type: 'ASK', content: '[ASK] why?', question: 'why?', required: true }, 'waiting_user'])
    dialogue.say('so')
    assert.deepEqual(results(dialogue), ['User response: so', `${END}\n\n[Step 2 of 100]`])
  })

  it('lets a question that is not required be skipped', () => {
    const dialogue = skill()
    dialogue.end(calling(ask('why?', { required: false })))
    dialogue.act('skip')
    assert.deepEqual(results(dialogue), ['User response: \n\n[Step 2 of 100]'])
  })

  it('ends with finish, and keeps what came before it', () => {
    const dialogue = skill()
    dialogue.end(calling(run('a'), finish('Done.'), run('b')))
    dialogue.end(ran('one'))
    assert.deepEqual([dialogue.session.status, dialogue.result.text, dialogue.skill.messages.map(({ role }) => role)], ['completed', 'Done.', ['user', 'assistant', 'tool']])
  })

  it('ends with finish without words', () => {
    const dialogue = skill()
    dialogue.end(calling(['finish', {}]))
    assert.equal(dialogue.result.text, 'Skill completed')
  })

  it('waits after a message where it is to be told to go on', () => {
    const dialogue = skill({ autoContinue: false })
    dialogue.end(calling(tell('look'), run('a')))
    assert.deepEqual([dialogue.session.engine.view.stateName, dialogue.session.status], ['idle', 'waiting_input'])
    dialogue.act('continue')
    assert.equal(running(dialogue), 'a')
  })

  it('works off ten calls of an answer, and no more', () => {
    const dialogue = skill()
    dialogue.end(calling(...Array.from({ length: 12 }, (_, index) => run(`echo ${index}`))))
    const commands = []
    while (dialogue.effect().kind === 'exec') {
      commands.push(running(dialogue))
      dialogue.end(ran('x'))
    }
    assert.equal(commands.length, 10)
    assert.deepEqual(results(dialogue).slice(9), ['Command output:\nx', 'Not run: at most 10 calls are worked off.', 'Not run: at most 10 calls are worked off.\n\n[Step 2 of 100]'])
  })

  it('shows what the model says beside its calls', () => {
    const dialogue = skill()
    const { choices: [{ message: { tool_calls: calls } }] } = calling(run('a')) as unknown as { choices: [{ message: { tool_calls: Json } }] }
    dialogue.end(answerWith({ content: ' I look. ', tool_calls: calls }))
    assert.deepEqual(dialogue.log.at(-1)?.notices.flatMap(({ type, data }) => type === 'message' ? [data] : []), [{ text: 'I look.' }])
  })

  it('S-42 tells the model what ran in place of its command', () => {
    const dialogue = skill()
    dialogue.end(calling(run('mv a')))
    dialogue.end({ outcome: 'exited', exitCode: 0, stdout: 'x', command: 'ls a' })
    assert.deepEqual(results(dialogue), ['The user ran another command in its place: ls a\nCommand output:\nx\n\n[Step 2 of 100]'])
  })

  it('S-03 lets a command run as long as the skill says', () => {
    const dialogue = skill({ timeout: 600 })
    dialogue.end(calling(run('a')))
    const effect = dialogue.effect()
    assert.equal(effect.kind === 'exec' && effect.timeout, 600_000)
  })

  it('ends when its steps are used up', () => {
    const dialogue = skill({ maxSteps: 1 })
    dialogue.end(calling(run('a')))
    dialogue.end(ran('x'))
    assert.deepEqual([dialogue.session.status, dialogue.result.text], ['completed', 'Maximum steps reached'])
  })
})

const wrong: ReadonlyArray<readonly [what: string, call: readonly [string, JsonObject | string], problem: string]> = [
  ['an unknown function', ['rm', {}], 'there is no function "rm"'],
  ['no function', ['', {}], 'there is no function ""'],
  ['a name that every object has', ['constructor', {}], 'there is no function "constructor"'],
  ['arguments that are no JSON', ['run_command', 'ls'], 'run_command: the arguments are not JSON'],
  ['arguments that are a list', ['run_command', '["ls"]'], 'run_command: the arguments are not a JSON object'],
  ['no command', ['run_command', {}], 'run_command needs command, a string'],
  ['an empty command', ['run_command', { command: ' ' }], 'run_command needs command, which is empty'],
  ['a command that is a list', ['run_command', { command: ['ls'] }], 'run_command needs command, a string'],
  ['a folder that nobody heeds', ['run_command', { command: 'ls', cwd: '/etc' }], 'run_command takes command, and no "cwd"'],
  ['a wrong word', ['ask_user', { question: 'a', required: 'yes' }], 'ask_user needs required, a boolean']
]

describe('An answer of a skill by calls with', () => {
  for (const [what, call, problem] of wrong) {
    it(`${what} is asked for once more, then answered with what is wrong, and never run`, () => {
      const dialogue = skill()
      dialogue.end(calling(call, run('b')))
      const { purpose, messages } = dialogue.request()
      assert.deepEqual([purpose, String(messages.at(-1)?.['content']).includes(problem), dialogue.skill.messages.length, dialogue.result.step], ['repair', true, 1, 1])
      dialogue.end(calling(call, run('b')))
      assert.ok(results(dialogue)[0]?.toString().startsWith(`Not run: ${problem}`), String(results(dialogue)[0]))
      assert.deepEqual([results(dialogue)[1], dialogue.request().purpose], [`${END}\n\n[Step 2 of 100]`, 'model'])
      assert.ok(dialogue.log.every(({ begun }) => begun.every(({ kind }) => kind !== 'exec')))
    })
  }

  it('a wrong call behind a good one does nothing before it was asked for once more', () => {
    const dialogue = skill()
    dialogue.end(calling(run('a'), ['nope', {}]))
    assert.equal(dialogue.request().purpose, 'repair')
    dialogue.end(calling(run('a'), ['nope', {}]))
    assert.equal(running(dialogue), 'a')
  })

  it('words alone is asked for once more, then shown as a question, and never run', () => {
    const dialogue = skill()
    dialogue.end(answerWith({ content: 'rm -rf /' }))
    assert.deepEqual([dialogue.request().purpose, dialogue.request().messages.at(-2)], ['repair', { role: 'assistant', content: 'rm -rf /' }])
    dialogue.end(answerWith({ content: 'rm -rf /' }))
    assert.deepEqual(dialogue.result.reply, { type: 'ASK', content: '[ASK] rm -rf /', question: 'rm -rf /', required: true })
    dialogue.say('no')
    assert.deepEqual(dialogue.request().messages.slice(-2), [{ role: 'assistant', content: 'rm -rf /' }, { role: 'user', content: 'User response: no\n\n[Step 2 of 100]' }])
  })

  it('nothing is asked for once more, and then ends the skill', () => {
    const dialogue = skill()
    dialogue.end(answerWith({ content: null }))
    dialogue.end(answerWith({ content: ' ' }))
    assert.deepEqual([dialogue.session.status, dialogue.result.text], ['failed', 'Empty or invalid AI response'])
  })
})

describe('A skill by calls goes on in texts', () => {
  const SYSTEM = 'Base.\n\n--- Active Skill: walk ---\nWalk on.'

  it('when its provider refuses functions, without losing a step', () => {
    const dialogue = skill()
    dialogue.fail('tools are not supported', 'TOOLS_REFUSED')
    const { messages, fields } = dialogue.request()
    assert.deepEqual([messages, fields, dialogue.result.step], [[{ role: 'system', content: SYSTEM }, { role: 'user', content: 'Execute skill: walk\n\n[Step 1 of 100]' }], { temperature: 0.3, max_tokens: 512 }, 1])
    dialogue.end(answerWith({ content: '[CMD] ls' }))
    assert.equal(running(dialogue), 'ls')
  })

  it('when its model begins an answer with a tag, and sends the past as texts', () => {
    const dialogue = skill()
    dialogue.end(calling(run('a'), tell('b'), run('c'), run('d')))
    dialogue.end(ran('one'))
    dialogue.end(ran('two', 1))
    dialogue.end(answerWith({ content: '[CMD] e' }))
    dialogue.end(ran('three'))
    assert.deepEqual(dialogue.request().messages.map(({ role, content }) => [role, content]), [
      ['system', SYSTEM],
      ['user', 'Execute skill: walk\n\n[Step 1 of 100]'],
      ['assistant', '[CMD] a'], ['user', 'Command output:\none'],
      ['assistant', '[MESSAGE] b'], ['user', 'The user was told.'],
      ['assistant', '[CMD] c'], ['user', 'Command output:\ntwo\n[Exit code: 1]'],
      ['assistant', '[CMD] d'], ['user', `${END}\n\n[Step 2 of 100]`],
      ['assistant', '[CMD] e'], ['user', 'Command output:\nthree\n\n[Step 3 of 100]']
    ])
  })

  it('and never goes back', () => {
    const dialogue = skill()
    dialogue.end(answerWith({ content: '[MESSAGE] hello' }))
    dialogue.end(calling(run('a')))
    assert.deepEqual([dialogue.session.status, dialogue.result.text], ['failed', 'Empty or invalid AI response'])
  })

  it('but not for a tag beside calls', () => {
    const dialogue = skill()
    const { choices: [{ message: { tool_calls: calls } }] } = calling(run('a')) as unknown as { choices: [{ message: { tool_calls: Json } }] }
    dialogue.end(answerWith({ content: '[CMD] b', tool_calls: calls }))
    assert.deepEqual([running(dialogue), dialogue.skill.protocol], ['a', 'tools'])
  })

  it('and is failed by any other refusal', () => {
    const dialogue = skill()
    dialogue.fail('broken', 'LLM_REFUSED')
    assert.equal(dialogue.session.status, 'failed')
  })
})

describe('A command of a skill by calls that was interrupted', () => {
  it('is asked about in the language of the skill', () => {
    const dialogue = skill({ language: 'ru' })
    dialogue.end(calling(run('a'), run('b')))
    dialogue.take({ kind: 'unknown', effect: dialogue.effect().id })
    const { reply } = dialogue.result
    assert.deepEqual(reply?.type === 'ASK' && reply.question, 'Команда "a" прервана. Неизвестно, выполнена ли она. Ответьте "снова", чтобы выполнить её ещё раз, "пропустить", чтобы обойтись без неё, или напишите, что она вывела.')
    dialogue.say(' Снова')
    assert.deepEqual([dialogue.session.status, dialogue.result.pendingCommand], ['waiting_approval', 'a'])
  })

  it('ends the list when its user tells what it printed', () => {
    const dialogue = skill()
    dialogue.end(calling(run('a'), run('b')))
    dialogue.take({ kind: 'unknown', effect: dialogue.effect().id })
    dialogue.say('again')
    const { id: effect } = dialogue.effect()
    dialogue.take({ kind: 'decided', effect, by: 'ann', decision: 'approve', command: 'edited' })
    dialogue.take({ kind: 'unknown', effect })
    dialogue.say('it said x')
    assert.deepEqual(results(dialogue), ['The user ran another command in its place: edited\nCommand output:\nit said x\n[Command was interrupted: this is what the user says of it]', `${END}\n\n[Step 2 of 100]`])
  })
})

describe('What a model is sent of a skill by calls', () => {
  /** After three answers of two calls each. */
  function long (setting: Partial<SkillSetting>): SkillDialogue {
    const dialogue = skill(setting)
    for (let n = 0; n < 3; n++) {
      dialogue.end(calling(run(`a${n}`), run(`b${n}`)))
      dialogue.end(ran(`a${n}`))
      dialogue.end(ran(`b${n}`))
    }
    return dialogue
  }
  const roles = (dialogue: SkillDialogue): unknown[] => dialogue.request().messages.map(({ role }) => role)

  it('is all of it', () => {
    assert.deepEqual(roles(long({ history: 'full' })), ['system', 'user', ...Array.from({ length: 3 }, () => ['assistant', 'tool', 'tool']).flat()])
  })

  it('is the first message and the last ones, with calls and results together', () => {
    for (const historyMax of [1, 2, 3]) assert.deepEqual(roles(long({ history: 'last_n', historyMax })), ['system', 'user', 'assistant', 'tool', 'tool'])
    assert.deepEqual(roles(long({ history: 'last_n', historyMax: 4 })), ['system', 'user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'tool'])
  })

  it('is the first message and the last answer with its results', () => {
    const dialogue = long({ history: 'system_only' })
    assert.deepEqual([roles(dialogue), dialogue.request().messages[1]?.['content']], [['system', 'user', 'assistant', 'tool', 'tool'], 'Execute skill: walk\n\n[Step 1 of 100]'])
  })
})

describe('The system prompts of prompts.json', () => {
  it('of calls names its functions, and no tag', () => {
    const { SKILL_SYSTEM_PROMPT_TOOLS: base = '' } = JSON.parse(readFileSync('prompts.json', 'utf8')) as Readonly<Record<string, string>>
    for (const name of ['run_command', 'ask_user', 'tell_user', 'finish']) assert.ok(base.includes(`\n- ${name}: `), name)
    assert.doesNotMatch(base, /\[(?:CMD|ASK|MESSAGE|DONE)/)
  })
})
