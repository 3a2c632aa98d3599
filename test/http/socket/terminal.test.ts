import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { noPty } from '../../exec/terminal/terminals-of-tests.ts'
import { askingPlace, type AskingService } from '../../helpers/asking-skill.ts'
import { connectSocket, type SocketClient } from '../../helpers/socket-client.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const ANN = tokenEntry('ann', 'run+approve+terminal')

describe('A terminal over /ws', { skip: noPty }, () => {
  it('is opened, typed into and closed', async t => {
    const { client } = await openedBy(t)
    const { terminalId, target, state } = await client.next('terminal')
    assert.match(String(terminalId), /^[0-9a-f]{32}$/)
    assert.deepEqual([String(target), String(state)], ['here', 'prompt'])
    client.send({ type: 'data', data: 'echo $((6*7))\r' })
    await shows(client, '42\r\n')
    client.send({ type: 'resize', cols: 100, rows: 40 })
    client.send({ type: 'data', data: 'stty size\r' })
    await shows(client, '40 100')
    client.send({ type: 'close' })
    assert.equal(String((await client.next('close'))['reason']), 'closed by its user')
  })

  it('tells each change of its state', async t => {
    const { client } = await openedBy(t)
    client.send({ type: 'data', data: 'ech' })
    client.send({ type: 'data', data: 'o one\r' })
    await waitFor('the states', () => states(client).length >= 4)
    assert.deepEqual(states(client).slice(0, 4), ['prompt', 'typing', 'busy', 'prompt'])
  })

  it('stays open when its socket is gone, and shows the next one what it has shown', async t => {
    const { client, origin } = await openedBy(t)
    const { terminalId } = await client.next('terminal')
    client.send({ type: 'data', data: 'echo kept-$((1+1))\r' })
    await shows(client, 'kept-2')
    client.socket.terminate()
    const second = await connectSocket(t, origin)
    second.send({ type: 'terminal_attach', terminalId, cols: 80, rows: 24 })
    assert.match(String((await second.next('data'))['data']), /kept-2/)
  })

  it('is one socket\'s at a time: a second one takes over', async t => {
    const { client, origin } = await openedBy(t)
    const { terminalId } = await client.next('terminal')
    const second = await connectSocket(t, origin)
    second.send({ type: 'terminal_attach', terminalId, cols: 80, rows: 24 })
    await second.next('terminal')
    assert.equal(String((await client.next('close'))['reason']), 'attached elsewhere')
    client.send({ type: 'data', data: 'echo never\r' })
    assert.equal(String((await client.next('error'))['code']), 'REQUEST_INVALID')
  })

  it('ends with its shell, and tells the code', async t => {
    const { client, service } = await openedBy(t)
    const { terminalId } = await client.next('terminal')
    client.send({ type: 'data', data: 'exit 5\r' })
    assert.equal(String((await client.next('close'))['reason']), 'the shell has ended with code 5')
    await waitFor('the session to be completed', async () => String((await service.get(`/api/sessions/${String(terminalId)}`)).json['status']) === 'completed')
    client.send({ type: 'terminal_attach', terminalId, cols: 80, rows: 24 })
    const { code, details } = await client.next('error')
    assert.deepEqual([code, details], ['TERMINAL_GONE', { reason: 'the shell has ended with code 5' }])
  })

  for (const [what, frame, message] of [
    ['keys without a terminal', { type: 'data', data: 'x' }, /there is no terminal/],
    ['a size that is none', { type: 'terminal_open', target: 'here', cols: 501, rows: 24 }, /frame: cols must be <= 500, not 501/],
    ['half a column', { type: 'terminal_open', target: 'here', cols: 1.5, rows: 24 }, /frame: cols must be an integer, not 1.5/],
    ['a target that is not offered', { type: 'terminal_open', target: 'nowhere' }, /nowhere/],
    ['a terminal that is not there', { type: 'terminal_attach', terminalId: '0'.repeat(32), cols: 80, rows: 24 }, /no terminal/],
    ['a seat without a size', { type: 'terminal_attach', terminalId: '0'.repeat(32) }, /frame needs "cols"/]
  ] as const) {
    it(`answers ${what} with an error, and the socket stays`, async t => {
      const { service } = await place(t)
      const client = await connectSocket(t, await service.listen())
      client.send(frame)
      assert.match(String((await client.next('error'))['message']), message)
      client.send({ type: 'terminal_open', target: 'here' })
      await client.next('terminal')
    })
  }

  it('keeps its size, and who sits there, where a frame has no size', async t => {
    const { client, origin } = await openedBy(t)
    const { terminalId } = await client.next('terminal')
    client.send({ type: 'resize', cols: 100, rows: 40 })
    const second = await connectSocket(t, origin)
    for (const [sender, frame] of [[client, { type: 'resize' }], [client, { type: 'resize', cols: 90 }], [second, { type: 'terminal_attach', terminalId }], [second, { type: 'terminal_attach', terminalId, rows: 30 }]] as const) {
      sender.send(frame)
      assert.match(String((await sender.next('error'))['message']), /^frame needs "(?:cols|rows)"$/)
    }
    client.send({ type: 'data', data: 'stty size\r' })
    await shows(client, '40 100')
  })

  it('takes no second terminal over one socket', async t => {
    const { client } = await openedBy(t)
    client.send({ type: 'terminal_open', target: 'here' })
    assert.match(String((await client.next('error'))['message']), /one terminal at a time/)
  })

  it('types nothing of a frame that is too large', async t => {
    const { client } = await openedBy(t)
    client.send({ type: 'data', data: 'x'.repeat(64 * 1024 + 1) })
    assert.match(String((await client.next('error'))['message']), /at most 65536 bytes/)
    client.send({ type: 'data', data: 'echo still-$((1+1))\r' })
    await shows(client, 'still-2')
  })

  it('takes keys for no requests', async t => {
    const { service } = await place(t, [`${tokenEntry('ann', 'run+terminal:requests=20')}`])
    const client = await connectSocket(t, await service.listen(), { headers: bearer('ann') })
    client.send({ type: 'terminal_open', target: 'here' })
    await client.next('terminal')
    for (let n = 0; n < 150; n++) client.send({ type: 'data', data: 'x' })
    client.send({ type: 'data', data: '\x15echo $((6*7))\r' })
    await shows(client, '42\r\n')
  })
})

describe('Whoever wants a terminal', { skip: noPty }, () => {
  it('needs the role, which an admin does not have', async t => {
    const { service } = await place(t, [tokenEntry('root', 'admin'), ANN])
    const { status, json } = await service.post('/api/terminals', { target: 'here' }, bearer('root'))
    assert.deepEqual([status, String(json['code'])], [403, 'ROLE_MISSING'])
  })

  it('needs no other role', async t => {
    const { service } = await place(t, [tokenEntry('typist', 'terminal')])
    const client = await connectSocket(t, await service.listen(), { headers: bearer('typist') })
    client.send({ type: 'terminal_open', target: 'here' })
    await client.next('terminal')
    client.send({ type: 'skills_list' })
    assert.equal(String((await client.next('skill_error'))['code']), 'ROLE_MISSING')
  })

  it('gets to no terminal of somebody else, as an admin neither', async t => {
    const { service } = await place(t, [ANN, tokenEntry('root', 'admin+terminal')])
    const { json: { terminalId } } = await service.post('/api/terminals', { target: 'here' }, bearer('ann'))
    const client = await connectSocket(t, await service.listen(), { headers: bearer('root') })
    client.send({ type: 'terminal_attach', terminalId, cols: 80, rows: 24 })
    assert.equal(String((await client.next('error'))['code']), 'TERMINAL_NOT_FOUND')
    const deleted = await service.app.inject({ method: 'DELETE', url: `/api/terminals/${String(terminalId)}`, headers: bearer('root') })
    assert.equal(deleted.statusCode, 404)
    assert.deepEqual((await service.get('/api/terminals', bearer('root'))).json['terminals'], [])
  })

  it('sees a target that its token does not name as none', async t => {
    const { service } = await place(t, [tokenEntry('ann', 'terminal:targets=other')])
    const { status, json } = await service.post('/api/terminals', { target: 'here' }, bearer('ann'))
    assert.deepEqual([status, String(json['code'])], [404, 'TARGET_NOT_FOUND'])
  })

  it('gets none where the operator does not say so', async t => {
    const service = await (await askingPlace(t)).start()
    const { status, json } = await service.post('/api/terminals', { target: 'here' })
    assert.deepEqual([status, String(json['code'])], [409, 'TERMINAL_UNSUPPORTED'])
  })

  it('has four at most', async t => {
    const { service } = await place(t, [ANN])
    for (let n = 0; n < 4; n++) assert.equal((await service.post('/api/terminals', { target: 'here' }, bearer('ann'))).status, 201)
    const { status, json } = await service.post('/api/terminals', { target: 'here' }, bearer('ann'))
    assert.deepEqual([status, String(json['code'])], [429, 'TOO_MANY_TERMINALS'])
    const { terminals } = (await service.get('/api/terminals', bearer('ann'))).json as unknown as { readonly terminals: ReadonlyArray<{ readonly terminalId: string }> }
    assert.equal(terminals.length, 4)
    const ended = await service.app.inject({ method: 'DELETE', url: `/api/terminals/${terminals[0]?.terminalId ?? ''}`, headers: bearer('ann') })
    assert.equal(ended.statusCode, 200)
    assert.equal((await service.post('/api/terminals', { target: 'here' }, bearer('ann'))).status, 201)
  })

  for (const [what, entry, reason] of [
    ['the role', tokenEntry('ann', 'run'), /may not use terminals any more/],
    ['the target', tokenEntry('ann', 'run+terminal:targets=other'), /may not use "here" any more/]
  ] as const) {
    it(`loses its shell when ${what} is taken away`, async t => {
      const { service } = await place(t, [ANN])
      const client = await connectSocket(t, await service.listen(), { headers: bearer('ann') })
      client.send({ type: 'terminal_open', target: 'here' })
      const { terminalId } = await client.next('terminal')
      await service.setTokens([entry, tokenEntry('root', 'admin')])
      client.send({ type: 'data', data: 'touch typed\r' })
      assert.match(String((await client.next('close'))['reason']), reason)
      await waitFor('the session to be cancelled', async () => String((await service.get(`/api/sessions/${String(terminalId)}`, bearer('root'))).json['status']) === 'cancelled')
      assert.deepEqual((await readdir(service.shop)).filter(name => name === 'typed'), [])
    })
  }

  for (const [what, entries] of [
    ['all its roles are taken away', [tokenEntry('ann', 'read')]],
    ['its token is gone', []]
  ] as const) {
    it(`loses its shell when ${what}, though it types nothing`, async t => {
      const { service } = await place(t, [ANN])
      const client = await connectSocket(t, await service.listen(), { headers: bearer('ann') })
      client.send({ type: 'terminal_open', target: 'here' })
      const { terminalId } = await client.next('terminal')
      await service.setTokens([...entries, tokenEntry('root', 'admin')])
      await waitFor('the session to be cancelled', async () => String((await service.get(`/api/sessions/${String(terminalId)}`, bearer('root'))).json['status']) === 'cancelled')
    })
  }

  for (const [what, entries, reason] of [
    ['the role is taken away', [tokenEntry('ann', 'run')], /may not use terminals any more/],
    ['the target is taken away', [tokenEntry('ann', 'terminal:targets=other')], /may not use \\"here\\" any more/],
    ['its token is gone', [], /there is no token \\"ann\\" any more/]
  ] as const) {
    it(`loses its shell when ${what}, with all that runs in it, though nobody is attached`, async t => {
      const { service } = await place(t, [ANN])
      const client = await connectSocket(t, await service.listen(), { headers: bearer('ann') })
      client.send({ type: 'terminal_open', target: 'here' })
      const { terminalId } = await client.next('terminal')
      client.send({ type: 'data', data: 'echo $$ > pid; sleep 600\r' })
      const pid = Number(await waitFor('the shell\'s id', async () => await readFile(join(service.shop, 'pid'), 'utf8').catch(() => '')))
      client.socket.terminate()
      await service.setTokens([...entries, tokenEntry('root', 'admin')])
      await waitFor('the shell to end', () => !isAlive(pid))
      const audit = await waitFor('the session to be cancelled', async () => {
        const { json } = await service.get(`/api/sessions/${String(terminalId)}`, bearer('root'))
        return String(json['status']) === 'cancelled' && (await service.app.inject({ url: `/api/sessions/${String(terminalId)}/audit`, headers: bearer('root') })).body
      })
      assert.match(audit, reason)
    })
  }

  it('is cut off with 4401 when its token is gone, and its shell ends', async t => {
    const { service } = await place(t, [ANN])
    const client = await connectSocket(t, await service.listen(), { headers: bearer('ann') })
    client.send({ type: 'terminal_open', target: 'here' })
    const { terminalId } = await client.next('terminal')
    const closed = new Promise<number>(resolve => { client.socket.once('close', resolve) })
    await service.setTokens([tokenEntry('root', 'admin')])
    client.send({ type: 'data', data: 'x' })
    assert.equal(await closed, 4401)
    await waitFor('the session to be cancelled', async () => String((await service.get(`/api/sessions/${String(terminalId)}`, bearer('root'))).json['status']) === 'cancelled')
  })
})

describe('What is typed into a terminal', { skip: noPty }, () => {
  it('is in no log, no session, no recording and no file of the service', async t => {
    const state = await createTemporaryFolder()
    t.after(state.remove)
    const { service } = await place(t, undefined, { STATE_DIR: state.path, SESSION_STORE: join(state.path, 'sessions'), LOG_LEVEL: 'trace', LOG_VALUES: 'true' }, { record: true })
    const client = await connectSocket(t, await service.listen())
    client.send({ type: 'terminal_open', target: 'here' })
    const { terminalId } = await client.next('terminal')
    client.send({ type: 'data', data: 'stty -echo; printf "word%s" "? "; read -r word; stty echo; echo shown-$((1+1))\r' })
    await shows(client, 'word? ')
    client.send({ type: 'data', data: 'c4nary-passw0rd\r' })
    await shows(client, 'shown-2')
    client.send({ type: 'data', data: 'exit\r' })
    await client.next('close')
    const recording = join(state.path, 'terminals', `${String(terminalId)}.cast`)
    await waitFor('the recording', async () => (await readFile(recording, 'utf8')).includes('shown-2'))
    const audit = await service.app.inject({ method: 'GET', url: `/api/sessions/${String(terminalId)}/audit` })
    const metrics = await service.app.inject({ method: 'GET', url: '/metrics' })
    // The log of a session that has ended moves to another folder: for a moment it is in neither list.
    const files = await waitFor('the recording and the log', async () => {
      const texts = await textsBelow(state.path)
      return texts.length > 1 && texts
    })
    for (const text of [JSON.stringify(service.log), audit.body, metrics.body, ...files]) assert.doesNotMatch(text, /c4nary/)
    assert.match(await readFile(recording, 'utf8'), /^\{"version":2,"width":80,"height":24,"timestamp":\d+\}\n\[/)
  })
})

interface PlaceOfTest { readonly service: AskingService & { readonly shop: string } }

async function place (t: TestContext, tokens?: readonly string[], environment: Readonly<Record<string, string>> = {}, here: object = {}): Promise<PlaceOfTest> {
  const asking = await askingPlace(t, tokens)
  const state = await createTemporaryFolder()
  t.after(state.remove)
  const service = await asking.start({ here: { terminal: true, ...here } }, { STATE_DIR: state.path, ...environment })
  return { service: { ...service, shop: asking.shop } }
}

async function openedBy (t: TestContext): Promise<{ readonly client: SocketClient, readonly service: AskingService, readonly origin: string }> {
  const { service } = await place(t)
  const origin = await service.listen()
  const client = await connectSocket(t, origin)
  client.send({ type: 'terminal_open', target: 'here', cols: 80, rows: 24 })
  await waitFor('the terminal', () => states(client).length > 0)
  return { client, service, origin }
}

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function states ({ frames }: SocketClient): string[] {
  return frames.filter(({ type }) => String(type) === 'terminal').map(({ state }) => String(state))
}

/** Waits until a terminal has shown something. */
async function shows (client: SocketClient, what: string): Promise<void> {
  const shown = (): string => client.frames.filter(({ type }) => String(type) === 'data').map(({ data }) => String(data)).join('')
  await waitFor(`${JSON.stringify(what)} to be shown`, () => shown().includes(what)).catch((error: Error) => { throw new Error(`${error.message}; shown was ${JSON.stringify(shown())}`) })
}

async function textsBelow (folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return await Promise.all(entries.filter(entry => entry.isFile()).map(entry => readFile(join(entry.parentPath, entry.name), 'utf8')))
}
