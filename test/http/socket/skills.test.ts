import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { skillFrames } from '../../../src/http/socket/socket-skill.ts'
import { type LogEntry } from '../../../src/session/model.ts'
import { scratchRepository } from '../../helpers/scratch-repository.ts'
import { type Service, startService } from '../../helpers/service.ts'
import { type AtEnd, shared } from '../../helpers/shared.ts'
import { connectSocket, type SocketClient } from '../../helpers/socket-client.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const SKILLS = Object.fromEntries(['git-quick-commit', 'disk-cleanup-report'].map(name => [`skills:${name}`, readFileSync(`examples/skills/${name}/SKILL.md`, 'utf8')]))

async function start (t: AtEnd, environment: Readonly<Record<string, string>> = {}): Promise<Service & { readonly origin: string, log (): string[], write (path: string, text: string): Promise<void> }> {
  const repository = await scratchRepository(t)
  const service = await startService(t, SKILLS, { ...repository.environment, LOG_LEVEL: 'silent', ...environment })
  return Object.assign({}, service, { origin: await service.listen(), log: repository.log, write: repository.write })
}

async function invoke (client: SocketClient, wishes: object = {}): Promise<void> {
  client.send({ type: 'skill_invoke', name: 'git-quick-commit', source: 'project', params: {}, target: 'here', ...wishes })
}

const started = shared(suite => start(suite))

describe('A skill over /ws', () => {
  it('is carried out in the frames of the protocol: a question, an approval, and the end', async t => {
    const { origin, log } = await start(t)
    const client = await connectSocket(t, origin)
    await invoke(client)
    assert.deepEqual(await client.next('skill_step'), { type: 'skill_step', step: 1, max: 100 })
    assert.deepEqual(await client.next('skill_command'), { type: 'skill_command', command: 'git status --porcelain', step: 1 })
    assert.deepEqual(await client.next('skill_output'), { type: 'skill_output', chunk: '?? new.txt\n' })
    assert.deepEqual(await client.next('skill_message'), { type: 'skill_message', text: 'Введи сообщение коммита:', required: true })
    client.send({ type: 'skill_user_input', text: 'words' })
    const command = await client.next('skill_command')
    assert.match(String(command['approvalId']), /^[0-9a-f]{32}:\d+\.\d+$/)
    assert.deepEqual(log(), [])
    client.send({ type: 'skill_approve', digest: command['digest'] })
    assert.deepEqual(await client.next('skill_complete'), { type: 'skill_complete', text: 'Коммит успешно создан.' })
    assert.deepEqual([await client.next('skill_end'), log()], [{ type: 'skill_end', status: 'completed' }, ['fix: update skills API']])
  })

  it('shows a command that a rule denies as denied, and never as if it ran', () => {
    const reason = 'denied: rule "rm *"'
    const transition = { denied: [{ id: '2.0', by: 'policy', reason }], held: [], begun: [], notices: [{ type: 'command', data: { phase: 'proposed', command: 'rm x', step: 2 } }, { type: 'command', data: { phase: 'denied', command: 'rm x', step: 2, effect: '2.0', reason } }] } as unknown as LogEntry
    assert.deepEqual(skillFrames.of(transition), [{ type: 'skill_command', command: 'rm x', step: 2, denied: reason }, { type: 'skill_info', text: reason }])
  })

  it('goes on over another socket', async t => {
    const { origin } = await started()
    const first = await connectSocket(t, origin)
    await invoke(first)
    const { sessionId } = await first.next('skill_session')
    await first.next('skill_message')
    first.socket.terminate()
    const second = await connectSocket(t, origin)
    second.send({ type: 'skill_resume', sessionId })
    await second.next('skill_message')
    second.send({ type: 'skill_user_input', text: 'words' })
    await second.next('skill_step')
    assert.match(String((await second.next('skill_command'))['command']), /git/)
  })

  it('leaves commands to the client where no target is named', async t => {
    const { origin } = await started()
    const client = await connectSocket(t, origin)
    await invoke(client, { name: 'disk-cleanup-report', target: 'manual' })
    await client.next('skill_info')
    assert.equal(Boolean((await client.next('skill_command'))['manual']), true)
    client.send({ type: 'skill_command_result', stdout: 'a', exitCode: 0 })
    await client.next('skill_command')
    client.send({ type: 'skill_user_input', text: 'skill:skip' })
    await client.next('skill_complete')
  })

  for (const [what, frame, complete] of [['a frame', { type: 'skill_cancel' }, 'Cancelled by user'], ['words', { type: 'skill_user_input', text: 'skill:cancel' }, 'Cancelled by user']] as const) {
    it(`is cancelled by ${what}`, async t => {
      const { origin } = await started()
      const client = await connectSocket(t, origin)
      await invoke(client)
      await client.next('skill_message')
      client.send(frame)
      assert.equal(String((await client.next('skill_complete'))['text']), complete)
    })
  }

  it('is one at a time', async t => {
    const { origin } = await started()
    const client = await connectSocket(t, origin)
    await invoke(client)
    await client.next('skill_message')
    await invoke(client)
    assert.equal(String((await client.next('skill_error'))['code']), 'SESSION_BUSY')
  })

  it('that is unknown is refused in the words of the protocol', async t => {
    const { origin } = await started()
    const client = await connectSocket(t, origin)
    await invoke(client, { name: 'nope' })
    assert.equal(String((await client.next('skill_error'))['error']), 'Skill "nope" not found')
  })

  it('runs no command that a token without the role approve lets run, and skips it for its owner', async t => {
    const { origin, log } = await start(t, { API_TOKENS: tokenEntry('ann', 'run') })
    const client = await connectSocket(t, origin, { headers: bearer('ann') })
    await invoke(client)
    await client.next('skill_message')
    client.send({ type: 'skill_user_input', text: 'words' })
    await client.next('skill_step')
    let command = await client.next('skill_command')
    while (!('approvalId' in command)) command = await client.next('skill_command')
    const { approvalId } = command
    client.send({ type: 'skill_approve', approvalId })
    assert.equal(String((await client.next('skill_error'))['code']), 'ROLE_MISSING')
    client.send({ type: 'skill_skip', approvalId })
    assert.deepEqual([String((await client.next('skill_complete'))['text']), log()], ['Коммит не создан.', []])
  })
})

describe('The skills of a service over /ws', () => {
  it('are listed, and shown', async t => {
    const { origin } = await started()
    const client = await connectSocket(t, origin)
    client.send({ type: 'skills_list' })
    const { skills } = await client.next('skills_list')
    assert.deepEqual((skills as unknown as Array<{ id: string }>).map(({ id }) => id).sort(), ['disk-cleanup-report', 'git-quick-commit'])
    client.send({ type: 'skill_get_content', name: 'git-quick-commit' })
    assert.equal(String((await client.next('skill_content'))['content']), SKILLS['skills:git-quick-commit'], 'S-33 the whole file')
  })

  it('S-31 S-44 that stand in the project of a target are listed, shown whole and started by their paths', async t => {
    const { origin, write } = await start(t)
    const text = '---\nname: near\ndescription: Is near.\n---\nGo.'
    await write('.agents/skills/a/near/SKILL.md', text)
    await write('.agents/skills/mute/SKILL.md', 'Go.')
    const client = await connectSocket(t, origin)
    client.send({ type: 'skills_list' })
    const { skills, problems } = await client.next('skills_list')
    const place = { path: '.agents/skills/a/near/SKILL.md', source: 'project', target: 'here' }
    assert.deepEqual((skills as unknown as unknown[]).at(-1), { id: 'a/near', name: 'near', description: 'Is near.', params: [], ...place })
    assert.deepEqual(problems, [{ target: 'here', path: '.agents/skills/mute/SKILL.md', source: 'project', reason: 'there is no front matter' }])
    client.send({ type: 'skill_get_content', name: 'near', ...place })
    assert.deepEqual(await client.next('skill_content'), { type: 'skill_content', name: 'near', content: text })
    // As a client of the protocol sends it back, which knows no targets.
    client.send({ type: 'skill_invoke', name: 'near', path: place.path, source: 'project', params: {}, prompt: '' })
    await client.next('skill_session')
    assert.deepEqual(await client.next('skill_step'), { type: 'skill_step', step: 1, max: 100 })
  })

  it('have no path where a frame has an empty one', async t => {
    const { origin } = await start(t)
    const client = await connectSocket(t, origin)
    client.send({ type: 'skill_get_content', name: 'git-quick-commit', path: '' })
    assert.equal(String((await client.next('skill_content'))['content']), SKILLS['skills:git-quick-commit'])
    client.send({ type: 'skill_create', name: 'mine', path: '', content: '---\nname: mine\ndescription: d\n---\nDo it.' })
    assert.deepEqual(await client.next('skill_create_result'), { type: 'skill_create_result', success: true })
    client.send({ type: 'skill_invoke', name: '', path: '' })
    assert.equal(String((await client.next('skill_error'))['error']), 'frame needs "name" or "path"')
    await invoke(client, { path: '' })
    await client.next('skill_session')
  })

  it('get another one from whoever may write', async t => {
    const { origin } = await start(t, { API_TOKENS: [tokenEntry('ann', 'run+write'), tokenEntry('bob', 'run')].join(',') })
    const [ann, bob] = [await connectSocket(t, origin, { headers: bearer('ann') }), await connectSocket(t, origin, { headers: bearer('bob') })]
    const create = { type: 'skill_create', name: 'mine', content: '---\nname: mine\ndescription: d\n---\nDo it.' }
    ann.send({ ...create, content: ' ' })
    assert.deepEqual(await ann.next('skill_create_result'), { type: 'skill_create_result', success: false, error: 'Имя и содержимое обязательны' })
    bob.send(create)
    assert.equal(String((await bob.next('skill_error'))['code']), 'ROLE_MISSING')
    ann.send(create)
    assert.deepEqual(await ann.next('skill_create_result'), { type: 'skill_create_result', success: true })
  })

  it('say of a fault of the service only that there is one', async t => {
    const { origin, store } = await start(t)
    const client = await connectSocket(t, origin)
    store.write = () => Promise.reject(new Error('at redis://:c4nary@10.0.0.1'))
    client.send({ type: 'skill_create', name: 'mine', content: '---\nname: mine\ndescription: d\n---\nDo it.' })
    assert.deepEqual(await client.next('skill_create_result'), { type: 'skill_create_result', success: false, error: 'Something went wrong' })
  })
})
