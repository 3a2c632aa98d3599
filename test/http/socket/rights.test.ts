import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { askingPlace } from '../../helpers/asking-skill.ts'
import { connectSocket, type SocketClient } from '../../helpers/socket-client.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const CREATE = { type: 'skill_create', name: 'mine', content: '---\nname: mine\ndescription: d\n---\nDo it.' }

/** A socket of ann's that has begun the skill, and what its command asks. */
async function walking (t: TestContext, roles = 'run+approve') {
  const others = [tokenEntry('bob', 'run+approve')]
  const service = await (await askingPlace(t, [tokenEntry('ann', roles), ...others])).start()
  const client = await connectSocket(t, await service.listen(), { headers: bearer('ann') })
  client.send({ type: 'skill_invoke', name: 'walk', target: 'here' })
  const command = await client.next('skill_command')
  return { service, client, command, ann: async (rest: string) => { await service.setTokens([tokenEntry('ann', rest), ...others]) }, nobody: async () => { await service.setTokens(others) } }
}

async function code (client: SocketClient, frame: object): Promise<string> {
  client.send(frame)
  return String((await client.next('skill_error'))['code'])
}

describe('A command over /ws', () => {
  it('is shown whole, with its target, its folder and its digest', async t => {
    const { command, service } = await walking(t)
    const asked = (await service.get('/api/approvals', bearer('bob'))).json['approvals']?.['0']
    const { expiresAt, ...rest } = command
    const { kind: _kind, ...content } = asked?.['effect'] as unknown as { kind: string }
    assert.deepEqual(rest, { type: 'skill_command', step: 1, approvalId: asked?.['id'], digest: asked?.['digest'], rule: asked?.['rule'], ...content })
    assert.ok(Date.parse(String(expiresAt)) > Date.now())
  })

  for (const type of ['skill_approve', 'skill_reject', 'skill_skip']) {
    it(`is decided by ${type} only with its approval or digest, and an old one is answered with what waits now`, async t => {
      const { client, command } = await walking(t)
      assert.equal(await code(client, { type }), 'REQUEST_INVALID')
      client.send({ type, digest: 'other' })
      const error = await client.next('skill_error')
      assert.deepEqual([error['code'], error['details']?.['next']?.['id']], ['APPROVAL_OUTDATED', command['approvalId']])
      client.send({ type, approvalId: command['approvalId'] })
      assert.equal(String((await client.next('skill_command'))['command']), 'echo two')
    })
  }

  it('is run once by a double click, and the one after it waits', async t => {
    const { client, command, service } = await walking(t)
    for (let click = 0; click < 2; click++) client.send({ type: 'skill_approve', digest: command['digest'] })
    const next = await client.next('skill_command')
    assert.equal(await code(client, { type: 'skill_approve', digest: command['digest'], command: 'echo other' }), 'APPROVAL_DECIDED')
    const waiting = (await service.get('/api/approvals', bearer('bob'))).json['approvals']?.['0']
    assert.deepEqual([String(next['command']), waiting?.['id']], ['echo two', next['approvalId']])
  })

  it('that was typed away is the one that was shown', async t => {
    const { client } = await walking(t)
    client.send({ type: 'skill_user_input', text: 'skill:skip' })
    assert.equal(String((await client.next('skill_command'))['command']), 'echo two')
  })
})

describe('A socket', () => {
  it('closes with 4401 as soon as its token is gone, though nothing happens on it', async t => {
    const { client, nobody } = await walking(t)
    const closed = once(client.socket, 'close') as Promise<[number]>
    await nobody()
    assert.equal((await closed)[0], 4401)
  })

  it('tells nothing more of a session to a token that is gone', async t => {
    const { client, nobody, service, command } = await walking(t)
    const closed = once(client.socket, 'close')
    await nobody()
    await service.post(`/api/approvals/${String(command['approvalId'])}`, { decision: 'approve', digest: command['digest'] }, bearer('bob'))
    await closed
    assert.deepEqual(client.frames.filter(({ type }) => String(type) === 'skill_output'), [])
  })

  it('approves nothing, and publishes nothing, when its token has lost the role', async t => {
    const { client, command, ann, service } = await walking(t, 'run+approve+write')
    await ann('run')
    assert.equal(await code(client, { type: 'skill_approve', digest: command['digest'] }), 'ROLE_MISSING')
    assert.equal(await code(client, CREATE), 'ROLE_MISSING')
    assert.equal((await service.get('/api/approvals', bearer('bob'))).json['approvals']?.['0']?.['id'], command['approvalId'])
  })

  it('does nothing at all when its token has lost the role to run', async t => {
    const { client, ann } = await walking(t)
    await ann('read+approve')
    assert.equal(await code(client, { type: 'skill_cancel' }), 'ROLE_MISSING')
  })

  it('follows the sessions of others no longer than it may', async t => {
    const { client, ann, service } = await walking(t, 'admin')
    const other = await service.walk(bearer('bob'))
    client.send({ type: 'subscribe', sessionId: other.id })
    await client.next('event')
    await ann('run')
    await service.post(`/api/sessions/${other.id}/cancel`, {}, bearer('bob'))
    assert.equal(String((await client.next('error'))['code']), 'SESSION_NOT_FOUND')
    assert.deepEqual(client.frames.filter(({ event }) => String(event) === 'done'), [])
  })

  it('sees what was registered after it was opened, and shows skills to those who may read', async t => {
    const { client, ann } = await walking(t, 'run+write+read')
    client.send(CREATE)
    await client.next('skill_create_result')
    client.send({ type: 'skill_get_content', name: 'mine' })
    assert.match(String((await client.next('skill_content'))['content']), /Do it/)
    await ann('run')
    assert.equal(await code(client, { type: 'skill_get_content', name: 'mine' }), 'ROLE_MISSING')
  })
})

describe('An event stream', () => {
  it('ends when its token is gone, though nothing happens in its session', async t => {
    const { command, nobody, service } = await walking(t)
    const session = String(command['approvalId']).split(':')[0] ?? ''
    const stream = await fetch(`http://127.0.0.1:${(service.app.server.address() as { port: number }).port}/api/sessions/${session}/events`, { headers: bearer('ann') })
    await nobody()
    assert.match(await stream.text(), /event: error\ndata: .*TOKEN_UNKNOWN/)
  })

  it('ends when its token is gone, before it tells anything more', async t => {
    const { command, nobody, service } = await walking(t)
    const session = String(command['approvalId']).split(':')[0] ?? ''
    const stream = await fetch(`http://127.0.0.1:${(service.app.server.address() as { port: number }).port}/api/sessions/${session}/events`, { headers: bearer('ann') })
    await nobody()
    await service.post(`/api/approvals/${String(command['approvalId'])}`, { decision: 'reject' }, bearer('bob'))
    const read = await stream.text().catch(() => '')
    assert.doesNotMatch(read, /"decision"/)
    assert.match(read, /event: error\ndata: .*TOKEN_UNKNOWN/)
  })
})
