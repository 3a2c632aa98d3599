import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type JsonView, type Reply, type RequestHeaders, type Service, startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

const SKILL = '---\nname: walk\ndescription: Walks.\nprotocol: text\nexecution: auto\n---\nWalk.'

const TOP = {
  system: 'You are top.',
  tools: [
    { name: 'research', agent: 'web.search', description: 'Looks something up' },
    { name: 'walk', skill: 'walk', target: 'here' },
    { name: 'fix', plan: 'default', workspace: 'shop' },
    { name: 'again', agent: 'top' },
    { name: 'rich', agent: 'web.search', budget: { steps: 5000 } },
    { name: 'gone', agent: 'not.there' }
  ]
}

const WEB = { system: 'You are web.', tools: [], returns: { type: 'object', properties: { owner: { type: 'string' } }, required: ['owner'] } }

/** What the model says, by the agent that asks and what it was told last. */
const REPLIES = `
- { system: You are top., last: '{"owner":"ann"}', reply: Ann owns it. }
- { system: You are top., last: Walked., reply: It has walked. }
- { system: You are top., last: '{"state":"applied"', reply: It is mended. }
- { system: You are top., last: '{"error":', reply: I could not. }
- { system: You are top., last: look it up, calls: [{ name: research, arguments: { task: who owns it } }] }
- { system: You are top., last: twice, calls: [{ name: walk }, { name: walk }] }
- { system: You are top., last: walk, calls: [{ name: walk }] }
- { system: You are top., last: mend, calls: [{ name: fix, arguments: { task: fix the price } }] }
- { system: You are top., last: deeper, calls: [{ name: again, arguments: { task: deeper } }] }
- { system: You are top., last: rich, calls: [{ name: rich, arguments: { task: x } }] }
- { system: You are top., last: gone, calls: [{ name: gone, arguments: { task: x } }] }
- { system: You are top., last: I could not, reply: Nor I. }
- { system: You are top., last: Nor I, reply: Nor I. }
- { system: You are web., last: who owns it, reply: '{"owner":"ann"}' }
- { system: mode apply, last: 'FILE[a.md]', reply: '{ "actions": [{ "kind": "EDIT_FILE", "path": "a.md", "edits": [{ "search": "price 1", "replace": "price 2" }] }], "summary": "Mended.", "context_requests": [], "memory_patch": {} }' }
- { system: mode apply, reply: '{ "actions": [], "context_requests": [{ "type": "read_file", "path": "a.md" }], "summary": "Reading.", "memory_patch": {} }' }
- { last: Step 1 of, reply: '[CMD] echo one' }
- { last: Step 2 of, reply: '[ASK] How far?' }
- { last: Step, reply: '[DONE] Walked.' }
`

const TOKENS = [tokenEntry('ann', 'run'), tokenEntry('bob', 'approve'), tokenEntry('eve', 'run'), tokenEntry('far', 'approve:targets=far'), tokenEntry('skills', 'approve:runs=agents.top')]

interface Place extends Service {
  readonly at: (name: string) => string
  /** Starts a dialogue with an agent and says something. */
  ask (text: string, headers?: RequestHeaders): Promise<Reply & { readonly id: string }>
}

async function start (t: AtEnd, { tokens, agents = {}, prices }: { readonly tokens?: readonly string[], readonly agents?: object, readonly prices?: object } = {}): Promise<Place> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('shop/a.md', 'price 1\n')
  await folder.write('replies.yaml', REPLIES)
  await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop', confirm: 'none' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off', auto: true } } }))
  if (prices !== undefined) await folder.write('prices.json', JSON.stringify({ date: '2026-01-31', models: prices }))
  if (tokens !== undefined) await folder.write('tokens', tokens.join('\n'))
  const at = (name: string): string => join(folder.path, name)
  const service = await startService(t, { 'agents:top': TOP, 'agents:web:search': WEB, 'skills:walk': SKILL, ...agents }, {
    LLM_BASE_URL: 'builtin:script',
    LLM_SCRIPT_FILE: at('replies.yaml'),
    OPERATOR_FILE: at('operator.json'),
    STATE_DIR: at('state'),
    LOG_LEVEL: 'silent',
    ...(tokens === undefined ? {} : { API_TOKENS_FILE: at('tokens') }),
    ...(prices === undefined ? {} : { PRICES_FILE: at('prices.json') })
  })
  return {
    ...service,
    at,
    async ask (text, headers) {
      const { json } = await service.post('/api/agents/top/sessions', {}, headers)
      const id = String(json['id'])
      return { id, ...await service.post(`/api/agents/sessions/${id}/message`, { text }, headers) }
    }
  }
}

const listOf = (view: JsonView | undefined): readonly JsonView[] => view as unknown as readonly JsonView[] ?? []

/** What waits for a person below a session. */
async function approvalsBelow ({ get }: Service, root: string, headers?: RequestHeaders): Promise<readonly JsonView[]> {
  return listOf((await get(`/api/approvals?root=${root}`, headers)).json['approvals'])
}

const allow = ({ post }: Service, { id, digest }: JsonView, headers?: RequestHeaders): Promise<Reply> => post(`/api/approvals/${String(id)}`, { decision: 'approve', digest }, headers)

const answered = async ({ get }: Service, id: string, headers?: RequestHeaders): Promise<JsonView> => await waitFor('the answer', async () => {
  const { json } = await get(`/api/sessions/${id}`, headers)
  return json['status'] as unknown === 'waiting_input' ? json : undefined
})

const lastMessage = async ({ get }: Service, id: string): Promise<unknown> => listOf((await get(`/api/sessions/${id}/messages`)).json['messages']).filter(({ role }) => role as unknown === 'assistant').at(-1)?.['text']

const started = shared(suite => start(suite))

describe('An agent in an agent over HTTP', () => {
  it('gives the value that it returns to the model of the other one', async () => {
    const { json, status } = await (await started()).ask('look it up')
    assert.deepEqual([status, json['answer'], json['children']], [200, 'Ann owns it.', []])
  })

  it('is a session of its own, of which the one above tells', async () => {
    const service = await started()
    const { id } = await service.ask('look it up')
    const { json } = await service.get(`/api/sessions/${id}`)
    const [child] = listOf(json['children'])
    assert.deepEqual([child?.['definition'], child?.['status'], child?.['parent'], child?.['root']], ['agents/web.search', 'completed', id, id])
    const own = await service.get(`/api/sessions/${String(child?.['id'])}`)
    assert.deepEqual([own.json['status'], own.json['parent']], ['completed', id])
  })

  it('costs no append but what a call of a tool does, and two of its own', async t => {
    const service = await started()
    const { id } = await service.ask('look it up')
    const { json } = await service.get(`/api/sessions/${id}`)
    const child = await service.get(`/api/sessions/${String(listOf(json['children'])[0]?.['id'])}`)
    // Start, message, the answer that calls, the result, the answer; of the child: start, answer.
    t.diagnostic(`${String(json['seq'])} appends above, ${String(child.json['seq'])} of the child`)
    assert.deepEqual([json['seq'], child.json['seq']], [5, 2])
  })

  it('counts in what the one above has used', async () => {
    const service = await started()
    const { id } = await service.ask('look it up')
    // Two questions, the call, and the question of the child.
    assert.equal((await service.get(`/api/sessions/${id}`)).json['used']?.['steps'], 4)
  })

  it('costs what the one above tells, call by call and as a whole, with those whose price nobody knows', async t => {
    const service = await start(t, { agents: { 'agents:top': { ...TOP, model: 'priced' } }, prices: { priced: { input: 1000, output: 1000 } } })
    const { id } = await service.ask('look it up')
    const { json: { used } } = await service.get(`/api/sessions/${id}`)
    const audit = listOf((await service.get(`/api/sessions/${id}/audit`)).json)
    const usages = audit.flatMap(step => step['fact']?.['usage'] ?? []) as unknown as Array<Record<'input' | 'output' | 'usd', number>>
    assert.equal(usages.length, 2)
    for (const { input, output, usd } of usages) assert.equal(usd, (input + output) / 1000)
    const [spent] = audit.flatMap(step => step['fact']?.['spent'] ?? []) as unknown as Array<Record<string, unknown>>
    assert.deepEqual([spent?.['steps'], spent?.['usd'], spent?.['unpriced']], [1, undefined, 1])
    const own = usages.reduce((sum, { usd }) => sum + usd, 0)
    assert.deepEqual([used?.['costUsd'], used?.['unpricedCalls']], [Math.round(own * 1e9) / 1e9, 1])
    const uses = async (of: string) => listOf((await service.get(`/api/sessions/${of}/uses`)).json['uses']).filter(({ kind }) => kind as unknown === 'llm')
    assert.deepEqual((await uses(id)).map(({ costUsd, unpricedCalls }) => [costUsd, unpricedCalls]), [[used?.['costUsd'], undefined]])
    const [child] = listOf((await service.get(`/api/sessions/${id}`)).json['children'])
    assert.deepEqual((await uses(String(child?.['id']))).map(({ costUsd, unpricedCalls }) => [costUsd, unpricedCalls]), [[undefined, 1]])
  })

  it('is left out of lists, unless what is above it is named', async t => {
    const service = await start(t)
    const { id } = await service.ask('look it up')
    const ids = async (query: string): Promise<unknown[]> => listOf((await service.get(`/api/sessions${query}`)).json['sessions']).map(each => each['definition'])
    assert.deepEqual([await ids(''), await ids(`?root=${id}`), await ids(`?parent=${id}`), await ids(`?root=${'0'.repeat(32)}`), await ids('?root=x')], [['agents/top'], ['agents/web.search'], ['agents/web.search'], [], []])
  })

  it('cannot be forked', async () => {
    const service = await started()
    const { id } = await service.ask('look it up')
    const [child] = listOf((await service.get(`/api/sessions/${id}`)).json['children'])
    const { status, json } = await service.post(`/api/sessions/${String(child?.['id'])}/fork`)
    assert.deepEqual([status, json['code']], [409, 'FORK_IMPOSSIBLE'])
  })

  it('calls itself until three are above, and reads then that there is an end', async () => {
    const service = await started()
    const { id, json } = await service.ask('deeper')
    assert.equal(json['answer'], 'Nor I.')
    const tree = (await service.get(`/api/sessions/${id}/tree`)).json
    const depths = (node: JsonView): number => 1 + Math.max(0, ...listOf(node['children']).map(depths))
    assert.equal(depths(tree), 4)
  })

  it('that wants more than is left is refused, and the dialogue goes on', async () => {
    assert.deepEqual((await (await started()).ask('rich')).json['answer'], 'I could not.')
  })

  it('that is not registered is not offered', async () => {
    assert.deepEqual((await (await started()).ask('gone')).json['answer'], 'I could not.')
  })

  it('is what it was when the dialogue began', async t => {
    const service = await start(t)
    const { id } = await service.ask('hello')
    service.store.set('shenma:agents:web:search', JSON.stringify({ ...WEB, system: 'You are another.' }))
    await service.post('/api/status/reload')
    assert.equal((await service.post(`/api/agents/sessions/${id}/message`, { text: 'look it up' })).json['answer'], 'Ann owns it.')
  })

  it('makes a start fail with too many others within reach', async t => {
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`agents:a${n}`, { tools: [{ agent: `a${n + 1}` }] }]))
    const service = await start(t, { agents: { ...many, 'agents:a17': { tools: [] } } })
    const { status, json } = await service.post('/api/agents/a0/sessions')
    assert.deepEqual([status, json['code'], json['details']?.['definitions'], json['details']?.['most']], [409, 'DEFINITIONS_TOO_MANY', 17, 16])
  })

  it('makes a start fail with too long ones within reach', async t => {
    const service = await start(t, { agents: { 'agents:web:search': { ...WEB, system: 'x'.repeat(524_288) } } })
    const { status, json } = await service.post('/api/agents/top/sessions')
    assert.deepEqual([status, json['code'], json['details']?.['definitions'], Number(json['details']?.['bytes']) > 524_288], [409, 'DEFINITIONS_TOO_MANY', 4, true])
  })
})

describe('A person below an agent', () => {
  it('is waited for at once, and told of in the turn', { timeout: 29_000 }, async () => {
    const service = await started()
    const { status, json, id } = await service.ask('walk')
    const [child] = listOf(json['children'])
    assert.deepEqual([status, json['status'], child?.['definition'], child?.['status']], [202, 'running', 'skills/walk', 'waiting_approval'])
    const row = listOf((await service.get('/api/sessions')).json['sessions']).find(each => String(each['id']) === id)
    assert.deepEqual([row?.['id'], row?.['waitsFor'], row?.['childrenWaiting']], [id, 'approval', 1])
  })

  it('decides at the session below, whatever it says of running unasked', async () => {
    const service = await started()
    const { id } = await service.ask('walk')
    const [approval] = await approvalsBelow(service, id)
    assert.deepEqual([approval?.['root'], approval?.['path'], approval?.['effect']?.['command']], [id, ['agents/top', 'skills/walk'], 'echo one'])
    assert.equal((await allow(service, approval as JsonView)).status, 200)
    const child = String(approval?.['session'])
    await waitFor('the question', async () => (await service.get(`/api/sessions/${child}`)).json['status'] as unknown === 'waiting_input')
    const row = listOf((await service.get('/api/sessions')).json['sessions']).find(each => String(each['id']) === id)
    assert.deepEqual([row?.['waitsFor'], row?.['childrenWaiting']], ['input', 1])
    await service.post(`/api/sessions/${child}/input`, { text: 'a mile' })
    await answered(service, id)
    assert.equal(await lastMessage(service, id), 'It has walked.')
  })

  it('is asked for each of two that work side by side', async t => {
    const service = await start(t)
    const { id, json } = await service.ask('twice')
    assert.equal(listOf(json['children']).length, 2)
    assert.equal((await approvalsBelow(service, id)).length, 2)
    assert.equal(listOf((await service.get('/api/approvals')).json['approvals']).length, 2)
  })

  it('allows that one begins, where the agent asks for that', async t => {
    const service = await start(t, { agents: { 'agents:top': { ...TOP, ask: ['research'] } } })
    const { id, json } = await service.ask('look it up')
    const [approval] = await approvalsBelow(service, id)
    assert.deepEqual([json['status'], approval?.['rule'], approval?.['effect']?.['definition'], approval?.['effect']?.['input']], ['waiting_approval', 'calls of agents/web.search are approved one by one', 'agents/web.search', { text: 'who owns it' }])
    await allow(service, approval as JsonView)
    await answered(service, id)
    assert.equal(await lastMessage(service, id), 'Ann owns it.')
  })

  it('agrees to the diff of a plan, though the operator would not ask', async () => {
    const service = await started()
    const { id, status, json } = await service.ask('mend')
    const [child] = listOf(json['children'])
    assert.deepEqual([status, child?.['definition'], child?.['status']], [202, 'plans/default', 'waiting_input'])
    await service.post(`/api/sessions/${String(child?.['id'])}/input`, { text: 'ok' })
    await answered(service, id)
    assert.equal(await lastMessage(service, id), 'It is mended.')
  })

  it('hears of it in the stream of the session above', async () => {
    const service = await started()
    const { id } = await service.ask('hello')
    const { body } = await service.app.inject({ method: 'POST', url: `/api/agents/sessions/${id}/message`, headers: { accept: 'text/event-stream' }, payload: { text: 'walk' } })
    const live = body.split('\n\n').filter(event => event.startsWith('event: live')).map(event => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as JsonView).filter(({ type }) => type as unknown === 'child')
    const [told] = live
    assert.deepEqual([told?.['definition'], told?.['path'], told?.['status'], listOf(told?.['ask']?.['approvals'])[0]?.['effect']?.['command']], ['skills/walk', ['agents/top', 'skills/walk'], 'waiting_approval', 'echo one'])
  })

  it('hears of it, too, who begins to follow later', async () => {
    const service = await started()
    const { id } = await service.ask('walk')
    const { body } = await fetch(`${await service.listen()}/api/sessions/${id}/events`)
    let read = ''
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      read += part
      if (read.includes('event: live')) break
    }
    assert.match(read, /^event: live\ndata: \{"type":"child",.*"ask":\{"approvals":\[\{"id":/m)
  })

  it('ends all below a session with it', async () => {
    const service = await started()
    const { id } = await service.ask('twice')
    await service.post(`/api/sessions/${id}/cancel`)
    const tree = (await service.get(`/api/sessions/${id}/tree`)).json
    assert.deepEqual([tree['status'], listOf(tree['children']).map(({ status }) => status)], ['cancelled', ['cancelled', 'cancelled']])
    assert.deepEqual(await approvalsBelow(service, id), [])
  })

  it('ends one below alone, and the session above reads it', async () => {
    const service = await started()
    const { id, json } = await service.ask('walk')
    await service.post(`/api/sessions/${String(listOf(json['children'])[0]?.['id'])}/cancel`)
    await answered(service, id)
    assert.equal(await lastMessage(service, id), 'I could not.')
  })
})

describe('The rights of who has started an agent', () => {
  it('hold for all below it: who may approve decides, who may run answers what is his', async t => {
    const service = await start(t, { tokens: TOKENS })
    const { id } = await service.ask('walk', bearer('ann'))
    const [approval] = await approvalsBelow(service, id, bearer('bob'))
    const child = String(approval?.['session'])
    assert.equal((await allow(service, approval as JsonView, bearer('ann'))).status, 403)
    assert.equal((await allow(service, approval as JsonView, bearer('bob'))).status, 200)
    await waitFor('the question', async () => (await service.get(`/api/sessions/${child}`, bearer('ann'))).json['status'] as unknown === 'waiting_input')
    assert.equal((await service.post(`/api/sessions/${child}/input`, { text: 'x' }, bearer('eve'))).status, 404)
    assert.equal((await service.get(`/api/sessions/${id}/tree`, bearer('eve'))).status, 404)
    assert.deepEqual((await service.get(`/api/sessions?root=${id}`, bearer('eve'))).json['sessions'], [])
    assert.equal((await service.post(`/api/sessions/${child}/input`, { text: 'x' }, bearer('ann'))).status, 200)
  })

  for (const [what, said, ask, targets] of [
    ['a plan', 'mend', 'fix', {}],
    ['a skill', 'walk', 'walk', {}],
    ['a skill that names its target itself', 'walk', 'walk', { 'skills:walk': SKILL.replace('protocol', 'target: here\nprotocol'), 'agents:top': { ...TOP, tools: [{ name: 'walk', skill: 'walk' }], ask: ['walk'] } }]
  ] as const) {
    it(`hold for the start of ${what}: it is decided by nobody whose token does not name its place, or its definition`, async t => {
      const service = await start(t, { tokens: TOKENS, agents: { 'agents:top': { ...TOP, ask: [ask] }, ...targets } })
      const { id } = await service.ask(said, bearer('ann'))
      const [approval] = await approvalsBelow(service, id, bearer('bob'))
      assert.equal(String(approval?.['effect']?.['kind']), 'child')
      for (const who of ['far', 'skills']) {
        assert.deepEqual(await approvalsBelow(service, id, bearer(who)), [])
        assert.equal((await service.get(`/api/approvals/${String(approval?.['id'])}`, bearer(who))).status, 404)
        for (const decision of ['approve', 'reject']) {
          const { status, json } = await service.post(`/api/approvals/${String(approval?.['id'])}`, { decision, digest: approval?.['digest'] }, bearer(who))
          assert.deepEqual([status, String(json['code'])], [404, 'APPROVAL_NOT_FOUND'])
        }
      }
      assert.equal((await allow(service, approval as JsonView, bearer('bob'))).status, 200)
    })
  }

  it('are asked for at every start: what the token does not name is not run', async t => {
    const limited = tokenEntry('ann', 'run:runs=agents.top')
    const service = await start(t, { tokens: [limited] })
    assert.equal((await service.ask('look it up', bearer('ann'))).json['answer'], 'I could not.')
  })

  it('are asked for at every start: a target that the token does not name is not used', async t => {
    const limited = tokenEntry('ann', 'run:targets=there')
    const service = await start(t, { tokens: [limited] })
    assert.equal((await service.ask('walk', bearer('ann'))).json['answer'], 'I could not.')
  })
})
