import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { type JsonView, type Reply, type Service, startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { hashToken } from '../../src/access/token-table.ts'

const LABELS = `labels:
  production: { tests: pass, approvals: 1 }
  audited: { approvals: 2 }
  tested: { tests: pass }
`

const TOKENS = [
  tokenEntry('ann', 'write+read+approve+run:labels=production'),
  // A second token of the same person.
  `ann:write+approve:${hashToken('ann-second-token')}:labels=production`,
  tokenEntry('ben', 'approve+read'),
  tokenEntry('cid', 'approve'),
  tokenEntry('dan', 'approve:prompts=other.*'),
  tokenEntry('ci', 'write:labels=production'),
  tokenEntry('root', 'admin')
].join('\n')

describe('Labels of which others look at each move', () => {
  const open = shared(async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', LABELS)
    return await startService(t, {}, { VERSIONS: 'http', API_TOKENS: TOKENS, OPERATOR_FILE: join(folder.path, 'operator.yaml'), LOG_LEVEL: 'info' })
  })
  let service: Service
  let count = 0
  before(async () => { service = await open() })

  const send = async (name: string, method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, payload?: object, headers = {}): Promise<Reply> => {
    const { statusCode, headers: told, body } = await service.app.inject({ method, url, headers: { ...bearer(name), ...headers }, ...(payload === undefined ? {} : { payload }) })
    return { status: statusCode, headers: told, json: body === '' ? {} : JSON.parse(body) as JsonView }
  }

  /** A prompt with three versions, of which `production` means the first, and a test that passes with the first two. */
  async function prompt (label = 'production', tests: object = [{ description: 'is polite', assert: [{ type: 'contains', value: 'please' }] }]) {
    const id = `team.p${count++}`
    for (const text of ['please, one', 'please, two', 'three']) assert.equal((await send('ann', 'PUT', `/api/prompts/${id}`, { userPrompt: text })).status < 300, true)
    if (tests !== undefined) await send('ann', 'PUT', `/api/prompts/${id}/tests`, tests)
    assert.equal((await send('root', 'PUT', `/api/prompts/${id}/labels/${label}`, { version: 1, override: 'the first' })).status, 200)
    return {
      id,
      label: async () => (await send('ben', 'GET', `/api/prompts/${id}/versions`)).json['labels']?.[label],
      moves: async () => (await send('ben', 'GET', `/api/prompts/${id}/versions`)).json['moves'] as unknown as readonly JsonView[],
      ask: (version: unknown, name = 'ann', more: object = {}) => send(name, 'PUT', `/api/prompts/${id}/labels/${label}`, { version, ...more }),
      requests: async () => (await send('ben', 'GET', `/api/prompts/${id}/requests`)).json as unknown as readonly JsonView[]
    }
  }

  async function settled (reply: Reply, word: string): Promise<JsonView> {
    const { id } = reply.json
    assert.equal(reply.status, 202, JSON.stringify(reply.json))
    return await waitFor<JsonView | undefined>(word, async () => {
      const { json } = await send('root', 'GET', `/api/sessions/${String(id)}`)
      const [now, status] = [String(json['word']), String(json['status'])]
      if (now !== word && !['running', 'waiting_approval'].includes(status)) throw new Error(`${now}: ${JSON.stringify(json['problem'])}`)
      return now === word ? json : undefined
    })
  }

  async function waiting (reply: Reply): Promise<JsonView> {
    const session = await settled(reply, 'waiting')
    return (session['approvals'] as unknown as readonly JsonView[])[0] as JsonView
  }

  const decide = async (name: string, approval: JsonView, decision = 'approve') =>
    await send(name, 'POST', `/api/approvals/${String(approval['id'])}`, { decision, digest: approval['digest'] })

  it('are moved when the tests pass and somebody else agrees, with both in the record', async () => {
    const { id, label, moves, ask, requests } = await prompt()
    const asked = await ask(2, 'ann', { note: 'kinder' })
    assert.equal(asked.status, 202)
    assert.equal(asked.headers['location'], `/api/sessions/${String(asked.json['id'])}`)
    const approval = await waiting(asked)
    assert.equal(await label(), 1)
    assert.deepEqual([approval['effect']?.['from'], approval['effect']?.['to'], approval['effect']?.['tests']?.['passed'], approval['effect']?.['note']], [1, 2, 1, 'kinder'])
    assert.match(String(approval['effect']?.['diff']), /-userPrompt: please, one\n\+userPrompt: please, two/)
    const queue = await send('ben', 'GET', '/api/approvals')
    assert.ok((queue.json['approvals'] as unknown as readonly JsonView[]).some(each => each['id'] === approval['id']))
    const decided = await decide('ben', approval)
    assert.deepEqual([decided.status, decided.json['status'], decided.json['word']], [200, 'completed', 'moved'])
    assert.equal(await label(), 2)
    const { by, approvedBy, request, note, from, to } = (await moves())[0] as JsonView
    assert.deepEqual({ by, approvedBy, request, note, from, to }, { by: 'ann', approvedBy: ['ben'], request: asked.json['id'], note: 'kinder', from: 1, to: 2 })
    const [row] = await requests()
    assert.deepEqual([row?.['status'], row?.['by'], row?.['approvedBy'], row?.['label']], ['completed', 'ann', ['ben'], 'production'])
    assert.ok(service.log.some(line => String(line['action']) === 'move label' && line['id'] as unknown === id && JSON.stringify(line['approvedBy']) === '["ben"]'), 'it is audited')
  })

  it('are not moved by the author, who approves by whichever token, and not by one who may not see the prompt', async () => {
    const { label, ask } = await prompt()
    const approval = await waiting(await ask(2))
    for (const name of ['ann', 'ann-second']) {
      const { status, json } = await decide(name, approval)
      assert.deepEqual([status, json['code']], [403, 'APPROVER_REFUSED'], name)
    }
    assert.equal((await decide('dan', approval)).status, 404)
    assert.equal((await decide('ci', approval)).status, 403)
    assert.equal(await label(), 1)
    assert.equal((await decide('cid', approval)).json['status'], 'completed')
    assert.equal(await label(), 2)
  })

  it('are not moved by the author as an admin either', async () => {
    const { label, ask } = await prompt()
    const approval = await waiting(await ask(2, 'root'))
    assert.equal((await decide('root', approval)).json['code'], 'APPROVER_REFUSED')
    assert.equal((await send('root', 'POST', `/api/sessions/${String(approval['session'])}/fork`)).json['code'], 'FORK_IMPOSSIBLE')
    assert.equal(await label(), 1)
  })

  it('are not moved where a test fails, which is named', async () => {
    const { label, ask } = await prompt()
    const session = await settled(await ask(3), 'refused')
    assert.equal(session['status'], 'failed')
    assert.equal(session['problem']?.['code'], 'TESTS_FAILED')
    assert.match(String(session['problem']?.['message']), /1 of 1 tests failed: is polite: contains: expected .*please/)
    assert.equal(await label(), 1)
  })

  it('are not moved where there is no test, and where a test needs a role that its author has not', async () => {
    const without = await prompt('production', [])
    assert.match(String((await settled(await without.ask(2), 'refused'))['problem']?.['message']), /has no test, and production wants them to pass/)
    const chatting = await prompt('production', [{ run: 'chat', assert: [{ type: 'contains', value: 'please' }] }])
    assert.match(String((await settled(await chatting.ask(2), 'refused'))['problem']?.['message']), /this call needs the role chat/)
  })

  it('need as many others as the operator wants, each once', async () => {
    const { label, ask, moves } = await prompt('audited')
    const asked = await ask(3)
    const first = await waiting(asked)
    const seen = await decide('ben', first)
    assert.equal(seen.json['status'], 'waiting_approval')
    assert.equal(await label(), 1)
    const second = await waiting(asked)
    assert.notEqual(second['digest'], first['digest'])
    assert.equal((await decide('ben', second)).json['code'], 'APPROVER_REFUSED')
    assert.equal((await decide('cid', second)).json['status'], 'completed')
    assert.equal(await label(), 3)
    assert.deepEqual((await moves())[0]?.['approvedBy'], ['ben', 'cid'])
  })

  it('with tests alone are moved when these pass', async () => {
    const { label, ask } = await prompt('tested')
    await settled(await ask(2), 'moved')
    assert.equal(await label(), 2)
  })

  it('are not moved when somebody else says no', async () => {
    const { label, ask } = await prompt()
    const decided = await decide('ben', await waiting(await ask(2)), 'reject')
    assert.deepEqual([decided.json['status'], decided.json['word'], decided.json['problem']?.['code']], ['failed', 'refused', 'REFUSED'])
    assert.equal(await label(), 1)
  })

  const OUTDATED: ReadonlyArray<readonly [string, RegExp, (id: string) => Promise<unknown>]> = [
    ['its label was moved in the store', /^production means version 3 now, and meant version 1/, id => edit(id, record => ({ ...record, labels: { production: 3 } }))],
    ['its label went and came back', /^production was moved since, and means version 1 now/, id => edit(id, record => {
      const facts = { label: 'production', at: new Date().toISOString(), by: 'store' }
      return { ...record, moves: [{ ...facts, from: 3, to: 1 }, { ...facts, from: 1, to: 3 }, ...record['moves'] as readonly object[]] }
    })],
    ['its label was split', /^production means version 1 \(50 %\), 2 \(50 %\) now/, id => edit(id, record => ({ ...record, labels: { production: [{ version: 1, weight: 50 }, { version: 2, weight: 50 }] } }))],
    ['the version has another text', /^version 2 has another content/, async id => { service.store.set(`shenma:versions:${id.replace('.', ':')}:2`, JSON.stringify({ entry: { userPrompt: 'stolen' } })) }],
    ['the tests are others', /^the tests of .* are others than those that were run/, id => send('ann', 'PUT', `/api/prompts/${id}/tests`, [{ assert: [{ type: 'contains', value: 'p' }] }])]
  ]
  for (const [title, words, change] of OUTDATED) {
    it(`are not moved when ${title} since, whoever agrees`, async () => {
      const { id, label, ask } = await prompt()
      const approval = await waiting(await ask(2))
      await change(id)
      const before = await label()
      const decided = await decide('ben', approval)
      assert.deepEqual([decided.json['word'], decided.json['problem']?.['code']], ['outdated', 'RELEASE_OUTDATED'])
      assert.match(String(decided.json['problem']?.['message']), words)
      assert.deepEqual(await label(), before)
    })
  }

  /** As a publisher does that writes the store. */
  async function edit (id: string, change: (record: Record<string, unknown>) => object): Promise<void> {
    const key = `shenma:releases:${id.replace('.', ':')}`
    const [stored] = await service.store.read([key])
    service.store.set(key, JSON.stringify(change(JSON.parse(stored?.kind === 'text' ? stored.text : '{}') as Record<string, unknown>)))
  }

  it('end what waits when they are moved otherwise, also there and back', async () => {
    const { label, ask } = await prompt()
    const [asked, other] = [await ask(2), await ask([{ version: 1, weight: 90 }, { version: 2, weight: 10 }])]
    await waiting(asked)
    await decide('ben', await waiting(other))
    assert.equal((await settled(asked, 'outdated'))['problem']?.['code'], 'RELEASE_OUTDATED')
    const again = await ask(2)
    const approval = await waiting(again)
    assert.equal((await ask(3, 'root', { override: 'an emergency' })).status, 200)
    assert.equal((await settled(again, 'outdated'))['status'], 'failed')
    assert.equal((await decide('ben', approval)).json['code'], 'SESSION_ENDED')
    assert.equal(await label(), 3)
  })

  it('are moved at once by an admin with a reason, which is kept, and by nobody else', async () => {
    const { id, label, ask, moves } = await prompt()
    assert.deepEqual([(await ask(2, 'ann', { override: 'now' })).json['code'], (await ask(2, 'root', { override: '  ' })).json['code']], ['ROLE_MISSING', 'REQUEST_INVALID'])
    assert.equal(await label(), 1)
    assert.equal((await ask(3, 'root', { override: 'customers wait' })).status, 200)
    assert.equal((await moves())[0]?.['override'], 'customers wait')
    assert.ok(service.log.some(line => line['override'] as unknown === 'customers wait' && line['id'] as unknown === id), 'it is audited')
  })

  it('are looked at when they are removed, made and split, too', async () => {
    const { id, label, ask } = await prompt()
    const removal = await send('ann', 'DELETE', `/api/prompts/${id}/labels/production`)
    assert.equal(removal.status, 202)
    assert.equal((await decide('ben', await waiting(removal))).json['word'], 'moved')
    assert.equal(await label(), undefined)
    assert.equal((await decide('ben', await waiting(await ask(1)))).json['word'], 'moved')
    const split = [{ version: 2, weight: 5 }, { version: 1, weight: 95 }]
    assert.equal((await decide('ben', await waiting(await ask(split)))).json['word'], 'moved')
    assert.deepEqual(await label(), split)
    assert.equal((await send('root', 'DELETE', `/api/prompts/${id}/labels/production?override=gone`)).status, 204)
  })

  it('are asked for by whoever may move a label, who sees how it goes and can take it back', async () => {
    const { id, label, ask } = await prompt()
    const asked = await ask(2, 'ci')
    await waiting(asked)
    assert.equal((await send('ci', 'GET', `/api/sessions/${String(asked.json['id'])}`)).json['status'], 'waiting_approval')
    assert.equal((await send('ci', 'POST', `/api/sessions/${String(asked.json['id'])}/cancel`)).json['status'], 'cancelled')
    assert.equal((await ask(2, 'cid')).status, 403)
    assert.equal((await send('dan', 'GET', `/api/prompts/${id}/requests`)).status, 403)
    assert.equal(await label(), 1)
  })

  it('begin nothing where nothing would change, where the version cannot run, or somebody has moved them since', async () => {
    const { id, ask, requests } = await prompt()
    assert.equal((await ask(1)).status, 200)
    assert.equal((await ask(9)).json['code'], 'VERSION_NOT_FOUND')
    assert.equal((await send('ann', 'PUT', `/api/prompts/${id}/labels/production`, { version: 2 }, { 'if-match': '"old"' })).status, 412)
    assert.deepEqual(await requests(), [])
  })
})
