import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { askingPlace } from '../helpers/asking-skill.ts'
import { type JsonView, type Reply } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const TOKENS = [tokenEntry('ann', 'run'), tokenEntry('bob', 'approve'), tokenEntry('eve', 'approve')]

const told = ({ status, json }: Reply): unknown[] => [status, json['code']]

/** An approval as one request after another meets it. */
async function asked (t: Parameters<typeof askingPlace>[0]) {
  const place = await askingPlace(t, TOKENS)
  const service = await place.start()
  const walk = await service.walk(bearer('ann'))
  const url = `/api/approvals/${String(walk.approval['id'])}`
  const decide = (body: object, who = 'bob', at = url): Promise<Reply> => service.post(at, body, bearer(who))
  return { ...walk, place, service, url, decide, digest: String(walk.approval['digest']) }
}

describe('An approval', () => {
  it('shows the whole command, its target and folder, who asked for it, and until when', async t => {
    const { service, id, approval, url, place } = await asked(t)
    const { json } = await service.get(url, bearer('bob'))
    const { askedAt, expiresAt, digest, ...rest } = json
    assert.deepEqual(rest, {
      id: `${id}:${String(approval['id']).split(':')[1]}`,
      session: id,
      root: id,
      path: ['skills/walk'],
      definition: 'skills/walk',
      owner: 'ann',
      title: 'walk',
      rule: 'commands are approved one by one',
      effect: { kind: 'exec', target: 'here', folder: place.shop, command: 'echo one', origin: 'model', timeoutMs: 120_000, sandbox: 'off', network: false },
      step: 1,
      maxSteps: 100
    })
    assert.deepEqual([json, digest], [approval, approval['digest']])
    assert.equal(Date.parse(String(expiresAt)) - Date.parse(String(askedAt)), 30 * 60_000)
  })

  it('is not given without the digest of what was shown', async t => {
    const { decide, waiting, id } = await asked(t)
    assert.deepEqual(told(await decide({ decision: 'approve' })), [400, 'REQUEST_INVALID'])
    assert.equal((await waiting())?.['session'], id)
  })

  it('of something else is 409 with what waits now, and nothing is decided', async t => {
    const { decide, approval, waiting } = await asked(t)
    const { status, json } = await decide({ decision: 'approve', digest: 'f'.repeat(64) })
    assert.deepEqual([status, json['code'], json['details']?.['next']], [409, 'APPROVAL_OUTDATED', approval])
    assert.deepEqual(await waiting(), approval)
  })

  it('that is sent twice at once runs its command once, and nothing of what comes next', async t => {
    const { decide, digest, service, id, waiting } = await asked(t)
    const replies = await Promise.all([decide({ decision: 'approve', digest }), decide({ decision: 'approve', digest })])
    assert.deepEqual(replies.map(({ status, json }) => [status, json['decided']?.['decision'], json['decided']?.['by']]), [[200, 'approve', 'bob'], [200, 'approve', 'bob']])
    await service.get(`/api/sessions/${id}/audit`, bearer('ann'))
    const again = await decide({ decision: 'approve', digest })
    assert.deepEqual([again.status, again.json['decided']], [200, replies[0]?.json['decided']])
    await service.post(`/api/skills/${id}/message`, { userMessage: '' }, bearer('ann'))
    const facts = (await service.app.inject({ url: `/api/sessions/${id}/audit`, headers: bearer('ann') })).body
    assert.equal(facts.split('"kind":"decided"').length - 1, 1)
    assert.notEqual((await waiting())?.['digest'], digest)
  })

  it('was decided by the first, and the second is told by whom, and what waits now', async t => {
    const { decide, digest, url, service } = await asked(t)
    await decide({ decision: 'reject', reason: 'no' })
    const { status, json } = await decide({ decision: 'approve', digest }, 'eve')
    assert.deepEqual([status, json['code'], json['details']?.['decision'], json['details']?.['by']], [409, 'APPROVAL_DECIDED', 'reject', 'bob'])
    const { at, ...decided } = (await service.get(url, bearer('eve'))).json['decided'] ?? {}
    assert.deepEqual([decided, at], [{ decision: 'reject', by: 'bob', reason: 'no' }, json['details']?.['at']])
  })

  it('that never was is 404, whatever its id', async t => {
    const { decide, id, service, digest } = await asked(t)
    for (const unknown of [`${id}:99.0`, `${'0'.repeat(32)}:1.0`, 'nothing', `${id}:4.0:1`]) {
      assert.deepEqual(told(await decide({ decision: 'approve', digest }, 'bob', `/api/approvals/${unknown}`)), [404, 'APPROVAL_NOT_FOUND'], unknown)
      assert.deepEqual(told(await service.get(`/api/approvals/${unknown}`, bearer('bob'))), [404, 'APPROVAL_NOT_FOUND'])
    }
  })

  it('that nobody gave before its session ended is 409', async t => {
    const { decide, id, service, digest } = await asked(t)
    await service.post(`/api/sessions/${id}/cancel`, {}, bearer('ann'))
    assert.deepEqual(told(await decide({ decision: 'approve', digest })), [409, 'SESSION_ENDED'])
  })

  for (const [what, command] of [['a NUL', 'echo \0'], ['more than 96 KiB', `echo ${'é'.repeat(49_152)}`], ['nothing but spaces', '  ']] as const) {
    it(`of a command with ${what} in place of the one shown is 400, and nothing is decided`, async t => {
      const { decide, digest, service, id, approval, waiting } = await asked(t)
      assert.deepEqual(told(await decide({ decision: 'approve', digest, command })), [400, 'REQUEST_INVALID'])
      assert.equal((await service.post(`/api/skills/${id}/approve`, { digest, command }, bearer('bob'))).status, 400)
      assert.deepEqual(await waiting(), approval)
    })
  }

  it('of an edited command is told to whoever follows, with its reason', async t => {
    const { decide, digest, service, id } = await asked(t)
    await decide({ decision: 'approve', digest, command: 'echo three', reason: 'better' })
    await service.post(`/api/sessions/${id}/cancel`, {}, bearer('ann'))
    const events = (await service.app.inject({ url: `/api/sessions/${id}/events`, headers: bearer('ann') })).body
    const approvals = [...events.matchAll(/event: approval\ndata: (.*)\n/g)].map(([, data]) => JSON.parse(String(data)) as JsonView)
    assert.deepEqual([approvals[0]?.['digest'], String(approvals[0]?.['command'])], [digest, 'echo one'])
    const { at: _at, ...decided } = approvals[1] ?? {}
    assert.deepEqual(decided, { effect: approvals[0]?.['effect'], id: approvals[0]?.['id'], decision: 'approve', by: 'bob', command: 'echo three', reason: 'better' })
  })
})

describe('The digest of an approval', () => {
  it('is of one step: the same command later has another', async t => {
    const { service, id, digest, waiting } = await asked(t)
    const digests = new Set([digest])
    for (let step = 1; step <= 2; step++) {
      const { digest: shown } = await waiting() as { digest: JsonView }
      await service.post(`/api/approvals/${String((await waiting())?.['id'])}`, { decision: 'reject', digest: shown }, bearer('bob'))
      await service.post(`/api/skills/${id}/message`, { userMessage: '' }, bearer('ann'))
      digests.add(String((await waiting())?.['digest']))
    }
    assert.equal(digests.size, 3)
  })

  it('is of the target as it is now: after a restart with another one, the old one allows nothing', async t => {
    const state = await createTemporaryFolder()
    t.after(state.remove)
    const place = await askingPlace(t)
    const first = await place.start({}, { SESSION_STORE: state.path })
    const { approval } = await first.walk()
    await first.app.close()
    const second = await place.start({ here: { network: true } }, { SESSION_STORE: state.path })
    const url = `/api/approvals/${String(approval['id'])}`
    const { status, json } = await second.post(url, { decision: 'approve', digest: approval['digest'] })
    assert.deepEqual([status, json['code'], json['details']?.['next']?.['effect']?.['network']], [409, 'APPROVAL_OUTDATED', true])
    const next = json['details']?.['next']?.['digest']
    const { id, session } = approval as unknown as { id: string, session: string }
    const { approvals } = (await second.get(`/api/sessions/${session}`)).json
    assert.deepEqual([approvals?.['0']?.['id'], approvals?.['0']?.['digest']], [id, next], 'everybody is told')
    assert.equal((await second.post(url, { decision: 'approve', digest: next })).status, 200)
  })
})

describe('The approvals of a service', () => {
  it('come in rounds, in pages: no token hides what another one waits for', async t => {
    const tokens = [tokenEntry('ann', 'run'), tokenEntry('zed', 'run'), tokenEntry('bob', 'approve')]
    const service = await (await askingPlace(t, tokens)).start({}, { LOG_LEVEL: 'silent' })
    const own: string[] = []
    for (let count = 0; count < 5; count++) own.push((await service.walk(bearer('ann'))).id)
    const { id } = await service.walk(bearer('zed'))
    const seen: string[] = []
    let after = ''
    do {
      const { json } = await service.get(`/api/approvals?limit=2${after}`, bearer('bob'))
      seen.push(...(json['approvals'] as unknown as Array<{ session: string }>).map(({ session }) => session))
      after = json['next'] === undefined ? '' : `&after=${encodeURIComponent(String(json['next']))}`
    } while (after !== '')
    assert.deepEqual(seen, [own[0], id, ...own.slice(1)])
    assert.deepEqual(told(await service.get('/api/approvals?after=x', bearer('bob'))), [400, 'REQUEST_INVALID'])
  })

  it('are those of one session, of an approver\'s own part, and of nobody whose token is gone', async t => {
    const tokens = [tokenEntry('ann', 'run'), tokenEntry('bob', 'approve'), tokenEntry('web', 'approve:targets=web'), tokenEntry('agents', 'approve:runs=agents.*')]
    const service = await (await askingPlace(t, tokens)).start()
    const [{ id, approval }] = [await service.walk(bearer('ann')), await service.walk(bearer('ann'))]
    const sessions = async (who: string, query = ''): Promise<unknown[]> => ((await service.get(`/api/approvals${query}`, bearer(who))).json['approvals'] as unknown as Array<{ session: string }>).map(({ session }) => session)
    assert.deepEqual([await sessions('bob', `?session=${id}`), (await sessions('bob')).length, await sessions('bob', '?session=x')], [[id], 2, []])
    for (const who of ['web', 'agents']) {
      assert.deepEqual(await sessions(who), [])
      assert.deepEqual(told(await service.post(`/api/approvals/${String(approval['id'])}`, { decision: 'approve', digest: approval['digest'] }, bearer(who))), [404, 'APPROVAL_NOT_FOUND'])
    }
    await service.setTokens(tokens.slice(1))
    assert.deepEqual(await sessions('bob'), [])
  })
})

describe('POST /api/skills/{id}/approve', () => {
  it('needs the id or the digest of what was shown', async t => {
    const { service, id, approval, digest } = await asked(t)
    const approve = async (body: object): Promise<Reply> => await service.post(`/api/skills/${id}/approve`, body, bearer('bob'))
    assert.equal((await approve({})).status, 400)
    const other = await approve({ digest: 'other' })
    assert.deepEqual([other.status, other.json['details']?.['next']], [409, approval])
    assert.deepEqual([(await approve({ approvalId: approval['id'] })).status, (await approve({ digest })).status], [200, 200])
  })

  it('that comes twice allows nothing of the next command', async t => {
    const place = await askingPlace(t)
    const service = await place.start()
    const { id, approval, waiting } = await service.walk()
    const body = { digest: approval['digest'] }
    const first = await service.post(`/api/skills/${id}/approve`, body)
    assert.equal(String(first.json['data']?.['approval']?.['effect']?.['command']), 'echo two')
    const again = await service.post(`/api/skills/${id}/approve`, body)
    assert.deepEqual([again.status, (await waiting())?.['effect']?.['command']], [200, 'echo two'])
    assert.equal((await service.post(`/api/skills/${id}/skip`, { approvalId: approval['id'] })).status, 409)
    assert.deepEqual((await waiting())?.['effect']?.['command'], 'echo two')
  })
})
