import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../helpers/service.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

interface KindCase {
  /** In keys, listings, statuses and metrics. */
  readonly kind: string
  readonly noun: string
  /** Of one entry. */
  readonly path: string
  readonly type: string
  readonly value: Readonly<Record<string, unknown>>
  /** What is taken with a warning; none for a kind that is strict. */
  readonly odd: unknown
  readonly bad: unknown
  readonly reason: RegExp
}

const CASES: readonly KindCase[] = [
  {
    kind: 'agents',
    noun: 'agent',
    path: 'agents',
    type: 'agent',
    value: { description: 'Helps', mode: 'tools', tools: [{ tool: 'rag.search' }] },
    odd: { mode: 'tools', tools: [{ tool: 'rag.search', parameters: {} }], select: { prompt: 'x' } },
    bad: { mode: 'tools', tools: [], maxTurns: 0 },
    reason: /maxTurns must be at least 1, not 0/
  },
  {
    kind: 'skills',
    noun: 'skill',
    path: 'skills/definitions',
    type: 'skill',
    value: { description: 'Greets.', body: 'Say {{hello}}.' },
    odd: '---\ndescription: Greets.\nlicence: MIT\n---\nSay hello.',
    bad: { description: 'Greets.' },
    reason: /needs "body"/
  },
  {
    kind: 'plans',
    noun: 'plan profile',
    path: 'plans/profiles',
    type: 'plan',
    value: { description: 'With tests', checks: ['test'], limits: { max_actions: 5 } },
    odd: undefined,
    // Whoever registers a profile chooses no command.
    bad: { checks: [{ name: 'test', command: 'npm test' }] },
    reason: /checks\.0 must be a (?:text|string), not an object/
  }
]

for (const { kind, noun, path, type, value, odd, bad, reason } of CASES) {
  describe(`The kind ${kind}`, () => {
    it('is listed and read', async t => {
      const { get } = await startService(t, { [`${kind}:team:one`]: value })
      assert.deepEqual((await get(`/api/${kind}`)).json, ['team.one'])
      const one = await get(`/api/${path}/team.one`)
      assert.deepEqual(one.json, { ...value, id: 'team.one', origin: 'direct', diagnostics: [] })
      assert.deepEqual((await get(`/api/${kind}?detail=true`)).json, [{ id: 'team.one', origin: 'direct', description: value['description'], etag: one.headers['etag'] }])
    })

    it('is not found with near matches', async t => {
      const { get } = await startService(t, { [`${kind}:hello`]: value })
      const { status, json } = await get(`/api/${path}/helo`)
      assert.deepEqual([status, json['message']], [404, `There is no ${noun} "helo"; near matches: "hello"`])
    })

    it('is not found with the reason for which it cannot be used, for callers who may know of it', async t => {
      const environment = { API_TOKENS: [tokenEntry('all', 'read'), tokenEntry('part', 'read:runs=other.*')].join(',') }
      const { get } = await startService(t, { [`${kind}:team:bad`]: bad }, environment)
      const { json } = await get(`/api/${path}/team.bad`, bearer('all'))
      assert.match(String(json['message']), new RegExp(`^There is no ${noun} "team\\.bad" that can be used; of shenma:${kind}:team:bad: .*${reason.source}`))
      assert.deepEqual([json['code'], json['details']?.['place' as never]], ['DEFINITION_NOT_FOUND', `shenma:${kind}:team:bad`])
      assert.equal((await get(`/api/${path}/team.bad`, bearer('part'))).json['message'], `There is no ${noun} "team.bad"`)
    })

    for (const extensionType of [type, 'bundle']) {
      it(`is brought by an extension of the type ${extensionType}, which brings prompts too`, async t => {
        const contributes = { [kind]: [{ ...value, name: 'one' }, { ...value, name: 'two' }], prompts: [{ name: 'p', userPrompt: 'Hello' }] }
        const { get, post } = await startService(t, { 'extensions:team': { name: 'team', version: '1.0.0', extensionType, contributes }, [`${kind}:team:one`]: value })
        assert.equal((await get('/api/extensions/team')).json['state'], 'active')
        assert.deepEqual((await get(`/api/${kind}`)).json, ['team.one', 'team.two'])
        assert.deepEqual([(await get(`/api/${path}/team.one`)).json['origin'], (await get(`/api/${path}/team.two`)).json['origin']], ['direct', 'extension'])
        assert.equal((await post('/api/render/prompts/team.p', {})).json['rendered_prompt'], 'Hello')
      })
    }

    it('is left out of an extension where it cannot be used, with the reason', async t => {
      const contributes = { [kind]: [{ ...bad as object, name: 'bad' }, { ...value, name: 'good' }] }
      const { get } = await startService(t, { 'extensions:team': { name: 'team', version: '1.0.0', extensionType: type, contributes } })
      assert.deepEqual((await get(`/api/${kind}`)).json, ['team.good'])
      assert.match(String((await get('/api/extensions/team')).json['diagnostics']?.['0']?.['message']), reason)
    })

    it('is published, refused where it is wrong, and withdrawn', async t => {
      const { app, get } = await startService(t, {})
      const put = (body: unknown) => app.inject({ method: 'PUT', url: `/api/${path}/new`, payload: body as object })
      assert.equal((await put(value)).statusCode, 201)
      assert.deepEqual((await get(`/api/${kind}`)).json, ['new'])
      const refused = await put(bad)
      assert.equal(refused.statusCode, 400)
      assert.match(refused.json<{ message: string }>().message, reason)
      assert.equal((await app.inject({ method: 'DELETE', url: `/api/${path}/new` })).statusCode, 204)
      assert.deepEqual((await get(`/api/${kind}`)).json, [])
    })

    it('is hidden from callers with patterns', async t => {
      const environment = { API_TOKENS: [tokenEntry('all', 'read'), tokenEntry('part', 'read:prompts=team.*')].join(',') }
      const { get } = await startService(t, { [`${kind}:team:one`]: value, [`${kind}:team:bad`]: bad }, environment)
      assert.deepEqual((await get(`/api/${kind}`, bearer('all'))).json, ['team.one'])
      assert.deepEqual((await get(`/api/${kind}`, bearer('part'))).json, [])
      assert.equal((await get(`/api/${path}/team.one`, bearer('part'))).status, 404)
      assert.deepEqual((await get('/api/status/entries', bearer('part'))).json, [])
    })

    it('is counted in readiness and metrics, and reported', async t => {
      const { app, get } = await startService(t, { [`${kind}:one`]: value, [`${kind}:bad`]: bad, [`${kind}:odd`]: odd ?? value })
      assert.equal((await get('/readyz')).json['kinds']?.[kind]?.['entries'], 2)
      const metrics = (await app.inject('/metrics')).body
      assert.match(metrics, new RegExp(`prompt_shell_registry_entries\\{kind="${kind}"\\} 2`))
      assert.match(metrics, new RegExp(`prompt_shell_registry_rejected_entries\\{kind="${kind}"\\} 1`))
      const { json } = await get('/api/status/entries')
      assert.deepEqual([json['0']?.['key'], json['0']?.['state'], json['1']?.['cursor']], [`shenma:${kind}:bad`, 'rejected', odd === undefined ? undefined : `${kind}/odd`])
      assert.match(String(json['0']?.['diagnostics']?.['0']?.['message']), reason)
    })
  })
}
