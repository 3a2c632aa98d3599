import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type Service, startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048, publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs1', format: 'pem' } })

const SKILL = '---\nname: deploy\ndescription: Deploys.\nparams: [{ name: version, required: true }]\n---\nDeploy.'

/** A service whose operator offers a folder with a skill, another one, and a machine. */
async function start (t: AtEnd, tokens = '', environment: Readonly<Record<string, string>> = {}): Promise<Service> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('shop/.kosmos-panel/skills/ops/deploy/SKILL.md', SKILL)
  await folder.write('shop/.agents/skills/mute/SKILL.md', '---\nname: mute\n---\nDo.')
  await folder.write('docs/a.txt', 'a')
  await folder.write('key', privateKey)
  await folder.write('operator.json', JSON.stringify({
    workspaces: { shop: { path: 'shop', skills: true, checks: { test: 'npm test' }, logs: { app: 'logs/app.log' } }, docs: { path: 'docs' } },
    targets: {
      shop: { type: 'local', workspace: 'shop', sandbox: 'off', auto: true },
      web: { type: 'ssh', host: 'web.example', user: 'deploy', hostKey: `SHA256:${'a'.repeat(43)}` },
      gone: { type: 'ssh', host: '127.0.0.1', port: 1, user: 'deploy', hostKey: `SHA256:${'a'.repeat(43)}`, keyFile: 'key', skills: true }
    }
  }))
  return await startService(t, { 'skills:walk': '---\ndescription: Walks.\n---\nWalk.' }, {
    LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: 'examples/demo/replies.yaml', LOG_LEVEL: 'silent', OPERATOR_FILE: join(folder.path, 'operator.json'), ...(tokens === '' ? {} : { API_TOKENS: tokens }), ...environment
  })
}

const startedOpen = shared(suite => start(suite))

describe('What the operator offers', () => {
  const shop = { name: 'shop', type: 'local', auto: true, skills: true, terminal: false, workspace: 'shop', sandbox: 'off', network: false }

  it('is listed without paths, and with the machine for whoever approves', async t => {
    const { get } = await start(t, [tokenEntry('ann', 'run'), tokenEntry('bob', 'run+approve'), tokenEntry('eve', 'read')].join(','))
    const web = { name: 'web', type: 'ssh', auto: false, skills: false, terminal: false }
    const gone = { name: 'gone', type: 'ssh', auto: false, skills: true, terminal: false }
    assert.deepEqual((await get('/api/targets', bearer('ann'))).json, [shop, web, gone])
    assert.deepEqual((await get('/api/targets', bearer('bob'))).json, [shop, { ...web, host: 'web.example', port: 22, user: 'deploy' }, { ...gone, host: '127.0.0.1', port: 1, user: 'deploy' }])
    assert.deepEqual((await get('/api/workspaces', bearer('ann'))).json, [{ name: 'shop', skills: true, checks: ['test'], logs: ['app'] }, { name: 'docs', skills: false, checks: [], logs: [] }])
    for (const url of ['/api/targets', '/api/workspaces', '/api/targets/shop/skills']) assert.deepEqual([(await get(url, bearer('eve'))).status, (await get(url)).status], [403, 401])
  })

  it('is told at the start when it runs no commands, because the service is root', { skip: process.getuid?.() !== 0 && 'only root is told' }, async t => {
    const told = async (allowed: string) => (await start(t, '', { ALLOW_ROOT: allowed, LOG_LEVEL: 'warn' })).log.filter(({ msg }) => String(msg).startsWith('this service runs as root')).length
    assert.deepEqual([await told('false'), await told('true')], [1, 0])
  })

  it('is what the patterns of a token allow', async t => {
    const { get } = await start(t, tokenEntry('ann', 'run:targets=shop'))
    assert.deepEqual([(await get('/api/targets', bearer('ann'))).json, (await get('/api/workspaces', bearer('ann'))).json['length']], [[shop], 1])
    assert.equal((await get('/api/targets/web/skills', bearer('ann'))).json['code'], 'TARGET_NOT_FOUND')
  })

  it('is nothing without an operator\'s file', async t => {
    const { get } = await startService(t, {})
    assert.deepEqual([(await get('/api/targets')).json, (await get('/api/workspaces')).json], [[], []])
  })

  it('S-44 has the skills that stand on a target, and why others are not offered', async () => {
    const { get } = await startedOpen()
    assert.deepEqual((await get('/api/targets/shop/skills')).json, {
      skills: [{ id: 'ops/deploy', name: 'deploy', description: 'Deploys.', params: [{ name: 'version', description: '', required: true }], path: '.kosmos-panel/skills/ops/deploy/SKILL.md', source: 'project', target: 'shop' }],
      problems: [{ target: 'shop', path: '.agents/skills/mute/SKILL.md', source: 'project', reason: 'needs "description", a text' }]
    })
    assert.deepEqual((await get('/api/targets/web/skills')).json, { skills: [], problems: [] })
    assert.equal((await get('/api/targets/shp/skills')).status, 404)
  })

  it('is told to be out of reach, and which machine that is only to whoever approves', async t => {
    const { get } = await start(t, [tokenEntry('ann', 'run'), tokenEntry('bob', 'run+approve')].join(','))
    const reasonFor = async (name: string) => (await get('/api/targets/gone/skills', bearer(name))).json['problems']?.['0']?.['reason']
    assert.equal(await reasonFor('ann'), 'target "gone" cannot be reached')
    assert.match(String(await reasonFor('bob')), /^target "gone" at 127\.0\.0\.1:1 cannot be reached: /)
  })
})

describe('A skill that stands on a target', () => {
  const started = { terminalSessionId: 'shop', skillId: 'deploy', params: { version: '1' } }

  it('S-36 is started by its path', async () => {
    const { post, get } = await startedOpen()
    const { status, json } = await post('/api/skills/start', { ...started, skillPath: '/.kosmos-panel/skills/ops/deploy/SKILL.md', skillSource: 'project' })
    assert.deepEqual([status, json['data']?.['skillName'], json['data']?.['skillDescription']], [200, 'deploy', 'Deploys.'])
    assert.equal((await get(`/api/sessions/${String(json['data']?.['skillSessionId'])}`)).json['definition'], 'skills/project.ops.deploy')
  })

  it('is started by its folder, and a registered one by its id as the path', async () => {
    const { post } = await startedOpen()
    for (const body of [{ ...started, skillId: 'ops/deploy', skillSource: 'project' }, { ...started, skillId: 'x', skillPath: 'walk' }, { ...started, skillId: undefined, skillPath: '.kosmos-panel/skills/ops/deploy/SKILL.md' }, { ...started, skillId: undefined, skillPath: 'walk' }]) assert.equal((await post('/api/skills/start', body)).status, 200)
  })

  it('is not started elsewhere, by another path, or where it cannot be used', async () => {
    const { post } = await startedOpen()
    const refused = async (wishes: object): Promise<unknown[]> => {
      const { status, json } = await post('/api/skills/start', { ...started, ...wishes })
      return [status, json['error']]
    }
    assert.deepEqual(await refused({ terminalSessionId: 'web', skillPath: '.kosmos-panel/skills/ops/deploy/SKILL.md' }), [404, 'Skill ".kosmos-panel/skills/ops/deploy/SKILL.md" not found'])
    assert.deepEqual(await refused({ skillPath: '/etc/passwd' }), [404, 'Skill "/etc/passwd" not found'])
    assert.deepEqual(await refused({ skillPath: '.agents/skills/mute' }), [404, 'Skill "mute" not found: needs "description", a text'])
  })
})

describe('Definitions', () => {
  it('are read by whoever may run them, within runs=', async t => {
    const { get } = await start(t, [tokenEntry('ann', 'run'), tokenEntry('bob', 'run:runs=agents.*'), tokenEntry('eve', 'render')].join(','))
    assert.deepEqual((await get('/api/skills', bearer('ann'))).json, ['walk'])
    assert.equal((await get('/api/skills/definitions/walk', bearer('ann'))).json['description'], 'Walks.')
    assert.deepEqual([(await get('/api/skills', bearer('bob'))).json, (await get('/api/skills/definitions/walk', bearer('bob'))).status], [[], 404])
    for (const url of ['/api/skills', '/api/skills/definitions/walk', '/api/agents', '/api/plans']) assert.equal((await get(url, bearer('eve'))).status, 403)
    for (const url of ['/api/agents', '/api/plans']) assert.equal((await get(url, bearer('ann'))).status, 200)
    assert.equal((await get('/api/prompts', bearer('ann'))).status, 403)
  })
})
