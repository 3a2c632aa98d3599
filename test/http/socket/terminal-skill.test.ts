import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { noPty } from '../../exec/terminal/terminals-of-tests.ts'
import { askingPlace, type AskingService } from '../../helpers/asking-skill.ts'
import { type JsonView } from '../../helpers/service.ts'
import { connectSocket, type SocketClient } from '../../helpers/socket-client.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { waitFor } from '../../helpers/wait-for.ts'

describe('A skill in a terminal', { skip: noPty }, () => {
  it('runs its commands in the shell of the person, who sees them', async t => {
    const { client } = await begun(t)
    await approve(client)
    assert.deepEqual(await client.next('skill_output'), { type: 'skill_output', chunk: 'one\n' })
    assert.match(shown(client), /\$ echo one\r\none\r\n/)
    await approve(client)
    await approve(client)
    assert.equal(String((await client.next('skill_complete'))['text']), 'Walked.')
  })

  it('is the terminal of the socket where the frame names none, and that which it names', async t => {
    const { client, service, terminalId } = await begun(t)
    const { sessionId } = await client.next('skill_session')
    const { data } = (await service.get(`/api/skills/${String(sessionId)}`)).json
    assert.deepEqual([data?.['terminalSessionId'], data?.['serverId']], [terminalId, 'here'])
    const started = await service.post('/api/skills/start', { terminalSessionId: terminalId, skillId: 'walk' })
    assert.equal(String(started.json['data']?.['approval']?.['effect']?.['terminal']), String(terminalId))
  })

  it('waits while the line of the person is half typed, and says so', async t => {
    const { client } = await begun(t)
    client.send({ type: 'data', data: 'echo half' })
    await waitFor('the half line', () => states(client).at(-1) === 'typing')
    await approve(client)
    assert.deepEqual(await client.next('skill_info'), { type: 'skill_info', text: 'The command waits until your line in the terminal is empty.', isWaiting: true })
    assert.doesNotMatch(shown(client), /\none\r\n/)
    client.send({ type: 'data', data: '\r' })
    await client.next('skill_output')
    assert.match(shown(client), /half\r\n[^]*echo one\r\none\r\n/)
  })

  it('asks anew when the folder has changed since the command was shown', async t => {
    const { client } = await begun(t)
    const first = await client.next('skill_command')
    client.send({ type: 'data', data: 'mkdir -p deep; cd deep\r' })
    await waitFor('the other folder', () => shown(client).includes('/deep$ '))
    client.send({ type: 'skill_approve', digest: first['digest'] })
    assert.equal(String((await client.next('skill_error'))['code']), 'APPROVAL_OUTDATED')
    const second = await client.next('skill_command')
    assert.equal(String(second['folder']), `${String(first['folder'])}/deep`)
    client.send({ type: 'skill_approve', digest: second['digest'] })
    await client.next('skill_output')
  })

  it('goes on without a terminal that is gone, says so once, and asks for the command anew', async t => {
    const { client } = await begun(t)
    client.send({ type: 'data', data: 'exit\r' })
    await client.next('close')
    await approve(client)
    assert.equal(String((await client.next('skill_info'))['text']), 'The terminal is gone; commands run without it.')
    const again = await client.next('skill_command')
    const asked = again['digest'] === undefined ? await client.next('skill_command') : again
    assert.deepEqual([String(asked['command']), asked['terminal']], ['echo one', undefined])
    client.send({ type: 'skill_approve', digest: asked['digest'] })
    await approve(client)
    await approve(client)
    await client.next('skill_complete')
    assert.equal(client.frames.filter(({ type, text }) => String(type) === 'skill_info' && String(text).startsWith('The terminal')).length, 1)
  })

  it('takes what the terminal has shown last for the output of a command that its user has run', async t => {
    const { client, service, terminalId } = await begun(t)
    client.send({ type: 'data', data: 'echo one\r' })
    await waitFor('the next prompt', () => states(client).join(' ').endsWith('busy prompt'))
    const { json } = await service.post('/api/skills/start', { terminalSessionId: terminalId, skillId: 'walk', execution: 'manual' })
    const id = String(json['data']?.['skillSessionId'])
    await service.post(`/api/skills/${id}/command-result`, { stdout: '', exitCode: 0 })
    assert.equal(String((await service.get(`/api/skills/${id}/output`)).json['data']?.['lastOutput']), 'one')
  })

  it('tells nothing of its terminal to a token that has lost the role', async t => {
    const { client, service, terminalId } = await begun(t, 'run+approve+terminal')
    client.send({ type: 'data', data: 'echo one\r' })
    await waitFor('the next prompt', () => states(client).join(' ').endsWith('busy prompt'))
    const { json } = await service.post('/api/skills/start', { terminalSessionId: terminalId, skillId: 'walk', execution: 'manual' }, bearer('ann'))
    const id = String(json['data']?.['skillSessionId'])
    await service.setTokens([tokenEntry('ann', 'run')])
    const { status, json: refused } = await service.post(`/api/skills/${id}/command-result`, { stdout: '', exitCode: 0 }, bearer('ann'))
    assert.deepEqual([status, refused['code'] as unknown], [403, 'ROLE_MISSING'])
    const output = (await service.get(`/api/skills/${id}/output`, bearer('ann'))).json['data']?.['lastOutput']
    assert.equal(String(output), '')
  })

  for (const [what, id, status, error] of [['that is not there', '0'.repeat(32), 404, 'Terminal session not found'], ['that is no terminal', undefined, 404, 'Terminal session not found']] as const) {
    it(`is refused in a terminal ${what}`, async t => {
      const { client, service } = await begun(t)
      const { sessionId } = await client.next('skill_session')
      const { status: given, json } = await service.post('/api/skills/start', { terminalSessionId: id ?? sessionId, skillId: 'walk' })
      assert.deepEqual([given, String(json['error'])], [status, error])
    })
  }

  it('is refused in a terminal that has ended', async t => {
    const { client, service, terminalId } = await begun(t)
    client.send({ type: 'close' })
    await client.next('close')
    const { status, json } = await service.post('/api/skills/start', { terminalSessionId: terminalId, skillId: 'walk' })
    assert.deepEqual([status, String(json['code'])], [409, 'TERMINAL_GONE'])
  })
})

/** A client in front of a terminal, over which the skill has been started. */
async function begun (t: TestContext, roles?: string): Promise<{ readonly client: SocketClient, readonly service: AskingService, readonly terminalId: JsonView }> {
  const state = await createTemporaryFolder()
  t.after(state.remove)
  const service = await (await askingPlace(t, roles === undefined ? undefined : [tokenEntry('ann', roles)])).start({ here: { terminal: true } }, { STATE_DIR: state.path })
  const client = await connectSocket(t, await service.listen(), { headers: roles === undefined ? {} : bearer('ann') })
  client.send({ type: 'terminal_open', target: 'here' })
  await waitFor('the terminal', () => states(client).length > 0)
  const terminalId = client.frames[0]?.['terminalId'] as JsonView
  client.send({ type: 'skill_invoke', name: 'walk', params: {} })
  await client.next('skill_step')
  await waitFor('the command', () => client.frames.some(({ type }) => String(type) === 'skill_command'))
  return { client, service, terminalId }
}

async function approve (client: SocketClient): Promise<void> {
  const { digest } = await client.next('skill_command')
  client.send({ type: 'skill_approve', digest })
}

function states ({ frames }: SocketClient): string[] {
  return frames.filter(({ type }) => String(type) === 'terminal').map(({ state }) => String(state))
}

function shown ({ frames }: SocketClient): string {
  return frames.filter(({ type }) => String(type) === 'data').map(({ data }) => String(data)).join('')
}
