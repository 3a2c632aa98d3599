import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { noPty } from '../../exec/terminal/terminals-of-tests.ts'
import { askingPlace } from '../../helpers/asking-skill.ts'
import { startRedisServer } from '../../helpers/redis-server.ts'
import { connectSocket, type SocketClient } from '../../helpers/socket-client.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'

describe('A terminal of another replica', { skip: noPty }, () => {
  it('is elsewhere, and the error says where', async t => {
    const { here, there } = await pair(t)
    const { terminalId } = await opened(here.client)
    there.client.send({ type: 'terminal_attach', terminalId, cols: 80, rows: 24 })
    assert.deepEqual(await there.client.next('error'), { type: 'error', code: 'TERMINAL_ELSEWHERE', message: `The terminal "${String(terminalId)}" is in another process of this service, at http://here.example`, details: { at: 'http://here.example' } })
    const { terminals } = (await there.service.get('/api/terminals')).json
    assert.deepEqual([terminals?.['0']?.['terminalId'], String(terminals?.['0']?.['at']), terminals?.['0']?.['state']], [terminalId, 'http://here.example', undefined])
  })

  it('runs the commands of a skill that is started and allowed here, within a second', async t => {
    const { here, there } = await pair(t)
    const { terminalId } = await opened(here.client)
    there.client.send({ type: 'skill_invoke', name: 'walk', params: {}, terminalSessionId: terminalId })
    const { digest } = await there.client.next('skill_command')
    const since = performance.now()
    there.client.send({ type: 'skill_approve', digest })
    await waitFor('the output', () => shown(here.client).includes('\none\r\n') || shown(here.client).includes('\rone\r\n'))
    assert.ok(performance.now() - since < 1000)
    for (let n = 0; n < 2; n++) there.client.send({ type: 'skill_approve', digest: (await there.client.next('skill_command'))['digest'] })
    await there.client.next('skill_complete')
  })

  it('ends with a request to this one', async t => {
    const { here, there } = await pair(t)
    const { terminalId } = await opened(here.client)
    const ended = await there.service.app.inject({ method: 'DELETE', url: `/api/terminals/${String(terminalId)}` })
    assert.equal(ended.statusCode, 200)
    await here.client.next('close')
  })

  it('sends no key and no output over Redis', async t => {
    const { here, url } = await pair(t)
    const monitor = connect(Number(new URL(url).port), '127.0.0.1')
    t.after(() => { monitor.destroy() })
    let said = ''
    monitor.on('data', (bytes: Buffer) => { said += bytes.toString() })
    monitor.write('MONITOR\r\n')
    await waitFor('the monitor', () => said.startsWith('+OK'))
    await opened(here.client)
    here.client.send({ type: 'data', data: 'echo c4nary-$((1+1))\r' })
    await waitFor('the output', () => shown(here.client).includes('c4nary-2'))
    await waitFor('word of the session', () => said.includes('terminal/1'))
    assert.doesNotMatch(said, /c4nary/)
  })
})

async function pair (t: TestContext) {
  const { url, stop } = await startRedisServer()
  t.after(stop)
  const state = await createTemporaryFolder()
  t.after(state.remove)
  const place = await askingPlace(t)
  const start = async (name: string) => {
    const service = await place.start({ here: { terminal: true } }, {
      STATE_DIR: `${state.path}/${name}`, SESSION_STORE: url, SESSION_SECRET: 's'.repeat(32), REPLICA_URL: `http://${name}.example`
    })
    return { service, client: await connectSocket(t, await service.listen()) }
  }
  return { url, here: await start('here'), there: await start('there') }
}

async function opened (client: SocketClient) {
  client.send({ type: 'terminal_open', target: 'here' })
  return await client.next('terminal')
}

function shown ({ frames }: SocketClient): string {
  return frames.filter(({ type }) => String(type) === 'data').map(({ data }) => String(data)).join('')
}
