import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NOTICE_KINDS } from '../../../src/config/operator.ts'
import { Notices } from '../../../src/service/notices/notices.ts'
import { type LogEntry, type Status, type StopCause } from '../../../src/session/model.ts'
import { UNSEALED } from '../../../src/session/session-log.ts'
import { createMemorySessionStore } from '../../../src/session/store/memory-session-store.ts'
import { createEgress, SYSTEM_TLS } from '../../../src/tool/egress.ts'
import { appendOf, newId } from '../../session/store/session-appends.ts'
import { quietLog } from '../../helpers/quiet-log.ts'
import { askingPlace } from '../../helpers/asking-skill.ts'
import { type NoticeServer, startNoticeServer } from '../../helpers/notice-receiver.ts'
import { startService } from '../../helpers/service.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const PUBLIC_URL = 'https://prompts.example.com/'
const CONSOLE = `${PUBLIC_URL}console/`

/** Types and what they are about, of those at a path. */
function toldAt (server: NoticeServer, path = '/'): readonly string[] {
  return server.received.filter(each => each.path === path).map(({ body }) => `${String(body['type'])} ${String(body['data']?.['definition'] ?? body['data']?.['key'])}`)
}

async function toldAll (server: NoticeServer, count: number, path = '/') {
  await waitFor(`${count} notices at ${path}`, () => toldAt(server, path).length >= count)
  assert.deepEqual(server.refused, [])
  return server.received.filter(each => each.path === path)
}

describe('what a session tells', () => {
  for (const LOG_VALUES of ['false', 'true']) {
    it(`is what waits, where to decide about it, and its end; with LOG_VALUES=${LOG_VALUES} ${LOG_VALUES === 'true' ? 'with' : 'without'} what was said`, async t => {
      const server = await startNoticeServer(t)
      const { start } = await askingPlace(t)
      const service = await start({ notices: { ops: { url: server.url, secretFile: 'secret' } } }, { PUBLIC_URL, LOG_VALUES })
      const { id, waiting } = await service.walk()
      for (let step = 0; step < 3; step++) {
        const approval = await waitFor('an approval', async () => await waiting())
        await service.post(`/api/approvals/${String(approval['id'])}`, { decision: 'approve', digest: approval['digest'] })
      }
      const told = await toldAll(server, 4)
      assert.deepEqual(told.map(({ body }) => body['type']), ['approval.waiting', 'approval.waiting', 'approval.waiting', 'session.ended'])
      const [asked, ended] = [told[0]?.body['data'] ?? {}, told[3]?.body['data'] ?? {}]
      const approval = String(asked['approval'])
      assert.match(approval, new RegExp(`^${id}:`))
      assert.deepEqual([asked['session'], asked['definition'], asked['kind'], asked['on'], asked['link']], [id, 'skills/walk', 'exec', 'here', `${CONSOLE}approvals?at=${encodeURIComponent(approval)}`])
      assert.deepEqual([ended['session'], ended['status'], ended['link']], [id, 'completed', `${CONSOLE}sessions/${id}`])
      assert.equal(asked['command'], LOG_VALUES === 'true' ? 'echo one' : undefined)
      assert.equal(/echo one|Walk\./.test(told.map(({ text }) => text).join()), LOG_VALUES === 'true')
      assert.equal(new Set(told.map(each => each.id)).size, 4)
    })
  }

  it('is told only for the owners and definitions that a receiver is for', async t => {
    const server = await startNoticeServer(t)
    const { start } = await askingPlace(t, [tokenEntry('ci', 'run+approve'), tokenEntry('me', 'run+approve')])
    const to = (path: string, rest: object) => ({ url: `${server.url}${path}`, secretFile: 'secret', kinds: ['approval.waiting', 'session.ended'], ...rest })
    const service = await start({
      notices: {
        all: to('/all', {}),
        ci: to('/ci', { owners: ['ci'] }),
        agents: to('/agents', { definitions: ['agents.*'] }),
        walk: to('/walk', { definitions: ['skills.walk'], owners: ['me'], kinds: ['session.ended'] })
      }
    }, { PUBLIC_URL })
    for (const name of ['ci', 'me']) {
      const { id } = await service.walk(bearer(name))
      await service.post(`/api/sessions/${id}/cancel`, {}, bearer(name))
    }
    await toldAll(server, 4, '/all')
    await toldAll(server, 2, '/ci')
    await toldAll(server, 1, '/walk')
    assert.deepEqual([toldAt(server, '/walk'), toldAt(server, '/agents')], [['session.ended skills/walk'], []])
    assert.ok((await toldAll(server, 2, '/ci')).every(({ body }) => String(body['data']?.['owner']) === 'ci'))
  })
})

describe('the end of a session', () => {
  const ends: ReadonlyArray<readonly [what: string, status: Status, by: StopCause, wasAsking: boolean, told: readonly string[]]> = [
    ['nobody decided in time', 'expired', 'expiry', true, ['approval.expired', 'session.ended']],
    ['nobody said anything in time', 'expired', 'expiry', false, ['session.ended']],
    ['somebody cancelled while it asked', 'cancelled', 'cancel', true, ['session.ended']],
    ['something was wrong', 'failed', 'fault', false, ['session.failed']]
  ]
  for (const [what, status, by, isAsking, told] of ends) {
    it(`is told as ${told.join(' and ')} when ${what}`, async t => {
      const server = await startNoticeServer(t)
      const store = createMemorySessionStore({ keep: 60_000 })
      const receiver = { name: 'ops', url: server.url, format: 'standard' as const, secrets: [Buffer.alloc(32, 7)], kinds: NOTICE_KINDS, owners: undefined, definitions: undefined, files: [] }
      const notices = new Notices({
        config: { PUBLIC_URL, LOG_VALUES: false, SESSION_STORE: '' },
        receivers: [receiver],
        store,
        operator: { egress: createEgress({ mode: 'internal', allow: [] }), tls: SYSTEM_TLS },
        metrics: undefined,
        isTrue: async () => undefined,
        log: quietLog(),
        seals: UNSEALED
      })
      t.after(() => notices.close())
      notices.open({ generation: { prompts: new Map() }, onPublished: () => () => {}, onRead: () => () => {}, problems: () => [] }, { onLevel () {} })
      const last = appendOf(newId(), { seq: 3, token: 'before' }, { status })
      const transition: LogEntry = { ...last.transition, fact: { kind: 'stopped', by, reason: 'said something' }, notices: [{ type: 'done', data: { status } }] }
      const append = { ...last, transition, head: { ...last.head, title: 'My words', problem: { code: 'X', message: 'my reason' } } }
      const refused = { ...append, transition: { ...transition, token: 'another writer was first' } }
      assert.deepEqual(await notices.around(refused, async () => ({ top: undefined }), async () => ({ isAsking })), { top: undefined })
      assert.equal(await notices.around(append, async () => 'ok', async () => ({ isAsking })), 'ok')
      const got = await toldAll(server, told.length)
      assert.deepEqual(got.map(({ body }) => body['type']), told)
      assert.deepEqual(got.map(({ body }) => body['data']?.['code']), told.map(() => 'X'))
      assert.ok(!/My words|my reason|said something/.test(got.map(({ text }) => text).join()))
    })
  }
})

describe('what else is told', () => {
  it('is moves of labels and entries that cannot be used, by the way of the console', async t => {
    const server = await startNoticeServer(t)
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('slack', `${server.url}/slack`)
    await folder.write('operator.yaml', `notices:\n  chat: { urlFile: slack, format: slack, kinds: [label.moved, entry.unusable] }\n  none: { url: "${server.url}/none", format: slack, definitions: [other.*], kinds: [label.moved] }`)
    const service = await startService(t, { 'templates:team:greet': 'Hello', 'templates:bad': '{{#if' }, { OPERATOR_FILE: `${folder.path}/operator.yaml`, PUBLIC_URL, VERSIONS: 'http' })
    for (const version of ['"latest"', '1']) {
      const { statusCode } = await service.app.inject({ method: 'PUT', url: '/api/prompts/team.greet/labels/production', headers: { 'content-type': 'application/json' }, payload: `{"version":${version}}` })
      assert.equal(statusCode, 200)
    }
    const told = await toldAll(server, 2, '/slack')
    assert.deepEqual(told.map(({ body }) => String(body['text'])).toSorted(), [
      `The label production of team.greet means 1, and meant nothing before; moved by anyone <${CONSOLE}prompts/team.greet|Open>`,
      `prompts/bad cannot be used as it is stored <${CONSOLE}problems|Open>`
    ])
    assert.equal(toldAt(server, '/none').length, 0)
    const { json } = await service.get('/api/notices')
    assert.deepEqual(json, { notices: [] })
    assert.deepEqual((await service.post('/api/notices/receivers/chat/test')).json['status'], 204)
  })

  it('needs to know where the console is, and an address that egress allows', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('operator.yaml', 'notices:\n  chat: { url: "https://169.254.169.254/", format: slack }')
    const environment = { OPERATOR_FILE: `${folder.path}/operator.yaml` }
    await assert.rejects(startService(t, {}, environment), { name: 'ConfigError', message: 'PUBLIC_URL: expected the address at which people reach the console, since OPERATOR_FILE has notices' })
    await assert.rejects(startService(t, {}, { ...environment, PUBLIC_URL }), { name: 'ConfigError', message: 'OPERATOR_FILE: notices.chat: it leads to 169.254.169.254 (linkLocal), which the egress policy refuses' })
  })
})
