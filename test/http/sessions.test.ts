import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { assertDocumented } from '../helpers/log-lines.ts'
import { type JsonView, type Service, startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const AGENT = {
  mode: 'steps',
  onError: 'end',
  repairs: 0,
  help: 'Ask me about owners.',
  classify: { prompt: 'classifier', answers: 'exact', unclear: 'error' },
  select: { prompt: 'selector' },
  ask: ['erase'],
  tools: [
    { name: 'find', tool: 'not.there', failed: 'It failed.' },
    { name: 'erase', tool: 'no.such', failed: 'Not erased.' }
  ]
}

const REPLIES = `
- { system: classifier, user: weather, reply: no }
- { system: classifier, user: silence, reply: perhaps }
- { system: classifier, reply: yes }
- { user: erase, offers: erase, calls: [{ name: erase }] }
- { user: owner, offers: find, calls: [{ name: find }] }
`.replaceAll('reply: no', 'reply: "no"').replaceAll('reply: yes', 'reply: "yes"')

async function start (t: AtEnd, environment: Readonly<Record<string, string>> = {}): Promise<Service> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('replies.yaml', REPLIES)
  return await startService(t, { 'agents:helper': AGENT }, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), SESSION_STORE: 'memory', LOG_LEVEL: 'silent', ...environment })
}

const idOf = (json: JsonView): string => String(json['id'])

async function dialogue (service: Service): Promise<{ readonly id: string, say (text: string): Promise<JsonView> }> {
  const id = idOf((await service.post('/api/agents/helper/sessions')).json)
  return { id, say: async text => (await service.post(`/api/agents/sessions/${id}/message`, { text })).json }
}

/** The events of a session that has ended, or of one that is followed until something is said. */
async function eventsOf ({ app }: Service, id: string, headers: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { body } = await app.inject({ url: `/api/sessions/${id}/events`, headers })
  return body.split('\n\n').filter(event => event !== '')
}

/** An event as its stream has it. */
function parsed (text: string): { readonly event: string, readonly data: Readonly<Record<string, unknown>> } {
  const { event = '', data = '' } = /^(?:id: \S+\n)?event: (?<event>.+)\ndata: (?<data>.+)$/.exec(text)?.groups ?? {}
  return { event, data: JSON.parse(data) as Record<string, unknown> }
}

const started = shared(suite => start(suite))

describe('A turn that is streamed', () => {
  const events = { accept: 'text/event-stream' }
  const send = async ({ app }: Service, url: string, payload?: object, accept = events) => {
    const { body, statusCode, headers } = await app.inject({ method: 'POST', url, headers: accept, ...(payload === undefined ? {} : { payload }) })
    return { statusCode, headers, told: body.split('\n\n').filter(event => event !== '') }
  }

  it('gives its events, and last what it came to', async () => {
    const service = await started()
    const begun = await send(service, '/api/agents/helper/sessions')
    const id = String(parsed(begun.told.at(-1) ?? '').data['id'])
    assert.deepEqual([begun.statusCode, begun.headers.location, begun.headers['content-type']], [201, `/api/sessions/${id}`, 'text/event-stream; charset=utf-8'])
    const { statusCode, told } = await send(service, `/api/agents/sessions/${id}/message`, { text: 'the owner?' })
    const turn = parsed(told.at(-1) ?? '')
    assert.deepEqual([statusCode, parsed(told[0] ?? '').event, turn.event, turn.data['status'], (turn.data['stdout'] as string[]).at(-1)], [200, 'input', 'turn', 'waiting_input', 'It failed.'])
    assert.ok(told.every((event, index) => event.startsWith('id: ') || index === told.length - 1))
  })

  it('gives events of any session, by its common route', async () => {
    const service = await started()
    const { id } = await dialogue(service)
    const { told } = await send(service, `/api/sessions/${id}/input`, { text: 'exit' })
    assert.deepEqual([parsed(told.at(-2) ?? '').event, parsed(told.at(-1) ?? '').data['word']], ['done', 'ended'])
  })

  it('is JSON for whoever takes that as well', async () => {
    const service = await started()
    const { headers } = await send(service, '/api/agents/helper/sessions', undefined, { accept: 'application/json, text/event-stream' })
    assert.match(String(headers['content-type']), /^application\/json/)
  })

  it('is an error as any other, where nothing was begun', async () => {
    const { statusCode, headers } = await send(await started(), '/api/agents/nobody/sessions')
    assert.deepEqual([statusCode, String(headers['content-type']).split(';')[0]], [404, 'application/json'])
  })
})

describe('A dialogue over HTTP', () => {
  it('begins with the help, and waits', async () => {
    const { post } = await started()
    const { status, json } = await post('/api/agents/helper/sessions')
    assert.deepEqual([status, json['stdout'], json['status'], json['state']], [201, ['Ask me about owners.'], 'waiting_input', 'await_input'])
  })

  it('starts with no agent that the token does not name', async t => {
    const { app } = await start(t, { API_TOKENS: [tokenEntry('ann', 'run+read:runs=agents.helper:prompts=team.*'), tokenEntry('bob', 'run+read:runs=skills.*'), tokenEntry('eve', 'run+read:prompts=team.*')].join(',') })
    const begin = async (name: string) => (await app.inject({ method: 'POST', url: '/api/agents/helper/sessions', headers: bearer(name) })).statusCode
    const list = async (name: string) => (await app.inject({ url: '/api/agents', headers: bearer(name) })).json() as readonly string[]
    assert.deepEqual([await begin('ann'), await begin('bob'), await begin('eve')], [201, 404, 404])
    assert.deepEqual([await list('ann'), await list('bob'), await list('eve')], [['helper'], [], []])
  })

  it('is the last of a thousand that one caller may have open, forks too', async t => {
    const { post } = await start(t)
    const started = await Promise.all(Array.from({ length: 1000 }, () => post('/api/agents/helper/sessions')))
    const id = idOf((started[0] as { json: JsonView }).json)
    for (const path of ['/api/agents/helper/sessions', `/api/sessions/${id}/fork`]) {
      const { status, json } = await post(path)
      assert.deepEqual([status, json['code']], [429, 'TOO_MANY_SESSIONS'])
    }
    await post(`/api/sessions/${id}/cancel`)
    assert.equal((await post('/api/agents/helper/sessions')).status, 201)
  })

  it('answers a turn with its lines and codes', async () => {
    const { say } = await dialogue(await started())
    const { stdout, result } = await say('the owner?')
    assert.equal((stdout as unknown as string[]).at(-1), 'It failed.')
    assert.deepEqual(result?.['codes'], { classify: 100, select: 200, validate: 300, execute: 401 })
  })

  it('ends with an exit command, and takes no more', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    assert.equal((await say('exit'))['status'], 'completed')
    const { status, json } = await service.post(`/api/agents/sessions/${id}/message`, { text: 'hello' })
    assert.deepEqual([status, json['code']], [409, 'SESSION_ENDED'])
  })

  it('fails when the model cannot be understood', async () => {
    const { say } = await dialogue(await started())
    assert.equal((await say('silence'))['status'], 'failed')
  })

  it('is started once for one Idempotency-Key, and hears a message once', async () => {
    const service = await started()
    const headers = { 'idempotency-key': 'one' }
    const [id, again] = [idOf((await service.post('/api/agents/helper/sessions', undefined, headers)).json), idOf((await service.post('/api/agents/helper/sessions', undefined, headers)).json)]
    assert.equal(id, again)
    for (let count = 0; count < 2; count++) await service.post(`/api/agents/sessions/${id}/message`, { text: 'weather' }, headers)
    const { json } = await service.get(`/api/sessions/${id}/audit`)
    assert.equal((json as unknown as Array<{ fact: { kind: string } }>).filter(({ fact }) => fact.kind === 'input').length, 1)
  })

  it('is not spoken to by its route of agents when it is of another kind', async t => {
    const registered = { 'skills:walk': '---\nname: walk\ndescription: Walks.\n---\nWalk.' }
    const service = await startService(t, registered, { LLM_BASE_URL: 'builtin:echo', LOG_LEVEL: 'silent' })
    const { json } = await service.post('/api/skills/start', { terminalSessionId: 'manual', skillId: 'walk' })
    const id = String(json['data']?.['skillSessionId'])
    const before = (await service.get(`/api/sessions/${id}`)).json
    assert.equal(before['status'], 'waiting_input')
    const message = await service.post(`/api/agents/sessions/${id}/message`, { text: 'x' })
    assert.deepEqual([message.status, message.json['code']], [404, 'SESSION_NOT_FOUND'])
    assert.deepEqual((await service.get(`/api/sessions/${id}`)).json, before, 'nothing was written')
  })

  it('is not started with an agent that is not there', async () => {
    const { status, json } = await (await started()).post('/api/agents/helpr/sessions')
    assert.deepEqual([status, json['message']], [404, 'There is no agent "helpr"; near matches: "helper"'])
  })
})

describe('A session over HTTP', () => {
  it('is listed and shown', async () => {
    const service = await started()
    const { id } = await dialogue(service)
    const { json: { sessions } } = await service.get('/api/sessions?definition=agents/helper&status=waiting_input')
    assert.deepEqual([sessions?.['0']?.['id'], sessions?.['0']?.['definition']], [id, 'agents/helper'])
    const { json } = await service.get(`/api/sessions/${id}`)
    assert.deepEqual([json['word'], json['seq'], json['used']], ['await_input', 1, { steps: 0, tokens: 0 }])
  })

  it('has the first words said as its title, and why it failed, in the list and by itself', async t => {
    const service = await start(t)
    const { id, say } = await dialogue(service)
    assert.equal((await service.get(`/api/sessions/${id}`)).json['title'], undefined)
    await say('weather, with sk-123')
    await say('silence')
    const { title, problem } = (await service.get(`/api/sessions/${id}`)).json
    assert.deepEqual([title, problem?.['code']], ['weather, with __REDACTED_API_KEY__', 'MODEL_UNREADABLE'])
    const row = (await service.get('/api/sessions')).json['sessions']?.['0']
    assert.deepEqual([row?.['title'], row?.['problem'], row?.['word']], [title, problem, 'ended'])
    const cancelled = await dialogue(service)
    assert.deepEqual((await service.post(`/api/sessions/${cancelled.id}/cancel`)).json['problem'], { code: 'cancel', message: 'cancelled by its user' })
  })

  it('is found by its words, state, kind and time', async t => {
    const service = await start(t)
    const { id, say } = await dialogue(service)
    await say('Weather in Rome')
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    const count = async (query: string): Promise<number> => ((await service.get(`/api/sessions?${query}`)).json['sessions'] as unknown as readonly unknown[]).length
    for (const query of ['q=rome+WEATHER', `q=${id.slice(3, 15)}`, 'q=helper', 'status=waiting', 'status=open', 'kind=agents', `until=${tomorrow}`]) assert.equal(await count(query), 1, query)
    for (const query of ['q=rome+snow', 'status=ended', 'status=failed', 'kind=plans', 'owner=nobody', `since=${tomorrow}`]) assert.equal(await count(query), 0, query)
    assert.equal((await service.get('/api/sessions?since=yesterday')).json['code'], 'REQUEST_INVALID')
  })

  it('gives its events, those behind Last-Event-ID only', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    await say('exit')
    const all = await eventsOf(service, id)
    assert.match(all[0] ?? '', /^id: 1\.0\nevent: stdout\ndata: \{"text":"Ask me about owners\.","at":"2\d{3}-[\d:.T-]+Z"\}$/)
    assert.match(all.at(-1) ?? '', /event: done\ndata: \{"status":"completed","at":"[^"]+"\}$/)
    for (const [index, event] of all.entries()) {
      const [, last = ''] = /^id: (\S+)/.exec(event) ?? []
      assert.deepEqual(await eventsOf(service, id, { 'last-event-id': last }), all.slice(index + 1))
    }
  })

  it('tells what its user said, and how each call of a tool went', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    await say('the owner?')
    await say('exit')
    const told = (await eventsOf(service, id)).map(parsed)
    assert.deepEqual(told.filter(({ event }) => event === 'input').map(({ data }) => data['text']), ['the owner?', 'exit'])
    const [called, ended] = told.filter(({ event }) => event === 'tool').map(({ data }) => data)
    assert.deepEqual([called?.['phase'], called?.['name'], called?.['tool'], called?.['arguments']], ['called', 'find', 'not.there', {}])
    assert.deepEqual([ended?.['effect'], ended?.['phase'], ended?.['outcome'], ended?.['code'], typeof ended?.['durationMs']], [called?.['effect'], 'ended', 'failed', 'TOOL_NOT_FOUND', 'number'])
    assert.ok(told.every(({ data }) => typeof data['at'] === 'string'))
  })

  it('gives what was said, in pages', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    await say('the owner?')
    const { json: { messages: all } } = await service.get(`/api/sessions/${id}/messages`)
    const texts = (all as unknown as ReadonlyArray<{ role: string, text: string, tool?: string }>).map(({ role, text, tool = '' }) => `${role} ${tool}: ${text}`)
    assert.deepEqual([texts[0], texts[1], texts.at(-1)], ['service : Ask me about owners.', 'user : the owner?', 'service : It failed.'])
    assert.ok(texts.some(text => text.startsWith('tool find: failed: there is no tool "not.there"')))
    const { json: first } = await service.get(`/api/sessions/${id}/messages?limit=3`)
    const { json: rest } = await service.get(`/api/sessions/${id}/messages?after=${String(first['next'])}`)
    assert.deepEqual([...first['messages'] as unknown as unknown[], ...rest['messages'] as unknown as unknown[]], all)
  })

  it('gives the end of what was said, and says whether more was said before', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    await say('the owner?')
    const { json: { messages } } = await service.get(`/api/sessions/${id}/messages`)
    const all = messages as unknown as unknown[]
    const { json: end } = await service.get(`/api/sessions/${id}/messages?last=true&limit=2`)
    assert.deepEqual([end['messages'], end['hasEarlier']], [all.slice(-2), true])
    const { json: whole } = await service.get(`/api/sessions/${id}/messages?last=true&limit=500`)
    assert.deepEqual([whole['messages'], whole['hasEarlier']], [all, false])
  })

  it('tells what it has used, how often, and how much of it has failed', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    await say('the owner?')
    const { json } = await service.get(`/api/sessions/${id}/uses`)
    const uses = json['uses'] as unknown as ReadonlyArray<Readonly<Record<string, unknown>>>
    assert.deepEqual(uses.map(({ kind, name, calls, failures }) => [kind, name, calls, failures]), [['llm', 'classify', 1, 0], ['llm', 'select', 1, 0], ['tool', 'not.there', 1, 1]])
    assert.deepEqual([json['definition'], json['current']], ['agents/helper', json['revision']])
  })

  it('tells that its definition has changed since it began, or is gone', async t => {
    const service = await start(t)
    const { id } = await dialogue(service)
    const currentIs = (what: string, isSo: (json: JsonView) => boolean): Promise<unknown> => waitFor(what, async () => isSo((await service.get(`/api/sessions/${id}/uses`)).json))
    service.store.set('shenma:agents:helper', JSON.stringify({ ...AGENT, help: 'Other help.' }))
    await currentIs('another revision', ({ current, revision }) => current !== undefined && current !== revision)
    service.store.delete('shenma:agents:helper')
    await currentIs('none', ({ current }) => current === undefined)
  })

  it('gives its audit in parts, with what each effect is about', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    await say('the owner?')
    const { json } = await service.get(`/api/sessions/${id}/audit?after=1&limit=3`)
    const page = json as unknown as ReadonlyArray<{ readonly seq: number, readonly begun: ReadonlyArray<{ readonly kind: string, readonly subject?: unknown }>, readonly notices: ReadonlyArray<{ readonly type: string, readonly data: JsonView }> }>
    assert.deepEqual(page.map(({ seq, begun }) => [seq, ...begun.map(({ subject }) => subject)]), [[2, { purpose: 'classify' }], [3, { purpose: 'select' }], [4, { tool: 'not.there' }]])
    assert.deepEqual(page[2]?.notices.filter(({ type }) => type === 'tool').map(({ data }) => [data['phase'], data['tool']]), [['called', 'not.there']])
  })

  it('is cancelled', async () => {
    const service = await started()
    const { id } = await dialogue(service)
    assert.equal((await service.post(`/api/sessions/${id}/cancel`)).json['status'], 'cancelled')
    assert.match((await eventsOf(service, id)).at(-1) ?? '', /"cancelled"/)
  })

  it('is forked, and both go their own way', async () => {
    const service = await started()
    const { id, say } = await dialogue(service)
    await say('weather')
    const { status, json } = await service.post(`/api/sessions/${id}/fork`, {})
    assert.deepEqual([status, json['status'], json['forkOf']?.['session']], [201, 'waiting_input', id])
    await service.post(`/api/sessions/${idOf(json)}/input`, { text: 'exit' })
    assert.equal((await service.get(`/api/sessions/${id}`)).json['status'], 'waiting_input')
    assert.equal((await service.get(`/api/sessions/${idOf(json)}`)).json['status'], 'completed')
  })

  it('waits for an approval of what its agent asks for', async t => {
    const service = await start(t)
    const { id, say } = await dialogue(service)
    assert.equal((await say('erase'))['status'], 'waiting_approval')
    const asked = (await service.get('/api/approvals')).json['approvals']?.['0']
    assert.deepEqual([asked?.['session'], asked?.['effect']?.['tool'], asked?.['effect']?.['arguments']], [id, 'no.such', {}])
    assert.equal((await service.post(`/api/agents/sessions/${id}/message`, { text: 'hello' })).json['code'], 'SESSION_BUSY')
    const decided = await service.post(`/api/approvals/${String(asked?.['id'])}`, { decision: 'reject', reason: 'no' })
    assert.equal(decided.json['status'], 'waiting_input')
    assert.deepEqual((await service.get('/api/approvals')).json, { approvals: [] })
    const metrics = (await service.app.inject('/metrics')).body
    assert.match(metrics, /prompt_shell_session_tool_held_total\{tool="no\.such"\} 1/)
    assert.match(metrics, /prompt_shell_session_tool_refused_total\{tool="no\.such",by="person"\} 1/)
  })

  it('belongs to its token; an admin sees all', async t => {
    const environment = { API_TOKENS: [tokenEntry('ann', 'run+read'), tokenEntry('bob', 'run+read'), tokenEntry('boss', 'admin'), tokenEntry('judge', 'approve')].join(',') }
    const { post, get } = await start(t, environment)
    const id = idOf((await post('/api/agents/helper/sessions', undefined, bearer('ann'))).json)
    assert.equal((await get(`/api/sessions/${id}`, bearer('ann'))).status, 200)
    assert.equal((await get(`/api/sessions/${id}`, bearer('boss'))).status, 200)
    for (const path of ['', '/events', '/audit']) assert.equal((await get(`/api/sessions/${id}${path}`, bearer('bob'))).json['code'], 'SESSION_NOT_FOUND')
    for (const path of ['/cancel', '/fork']) assert.equal((await post(`/api/sessions/${id}${path}`, {}, bearer('bob'))).json['code'], 'SESSION_NOT_FOUND')
    for (const query of ['', '?owner=ann', '?q=helper']) assert.deepEqual((await get(`/api/sessions${query}`, bearer('bob'))).json['sessions'], [])
    for (const [owner, ids] of [['ann', [id]], ['bob', []]] as const) assert.deepEqual(((await get(`/api/sessions?owner=${owner}`, bearer('boss'))).json['sessions'] as unknown as readonly JsonView[]).map(idOf), ids)
    assert.equal((await get('/api/sessions', bearer('judge'))).json['code'], 'ROLE_MISSING')
    assert.equal((await get('/api/approvals', bearer('ann'))).json['code'], 'ROLE_MISSING')
  })

  it('is counted when it ends, with what it has begun', async t => {
    const service = await start(t)
    await (await dialogue(service)).say('weather')
    await (await dialogue(service)).say('exit')
    const metrics = (await service.app.inject('/metrics')).body
    assert.match(metrics, /prompt_shell_sessions_ended_total\{engine="agent\/1",status="completed"\} 1/)
    assert.match(metrics, /prompt_shell_session_effect_duration_seconds_count\{kind="llm",outcome="ok"\} 1/)
  })
})

describe('The log of the service', () => {
  it('has every line of a dialogue once, by session and prefix', async t => {
    const service = await start(t, { LOG_LEVEL: 'debug' })
    const { id, say } = await dialogue(service)
    await say('weather')
    const lines = service.log.filter(({ prefix }) => prefix !== undefined)
    assert.deepEqual(lines.map(({ msg }) => msg), ['[main] AgentStart', '[cls] AgentClassify', '[cls] classify_intent // Irrelevant query', '[main] AgentRestart'])
    assert.deepEqual([...new Set(lines.map(({ session }) => session))], [id])
    assertDocumented(lines)
  })
})

describe('Sessions that cannot be kept', () => {
  it('are refused, and the rest of the service goes on', async t => {
    const { post, get } = await start(t, { SESSION_STORE: '/dev/null/sessions' })
    const { status, json } = await post('/api/agents/helper/sessions')
    assert.deepEqual([status, json['code']], [503, 'SESSIONS_UNAVAILABLE'])
    assert.equal((await get('/api/agents')).status, 200)
  })
})
