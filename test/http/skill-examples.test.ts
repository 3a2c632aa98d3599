import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type JsonView, type Service, startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const skillOf = (name: string): string => readFileSync(`examples/skills/${name}/SKILL.md`, 'utf8')

const REGISTERED = { 'skills:git-quick-commit': skillOf('git-quick-commit'), 'skills:release-notes': skillOf('release-notes'), 'skills:disk-cleanup-report': skillOf('disk-cleanup-report') }

const start = (t: AtEnd, environment: Readonly<Record<string, string>> = {}): Promise<Service> =>
  startService(t, REGISTERED, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: 'examples/demo/replies.yaml', LOG_LEVEL: 'silent', ...environment })

/** Goes through a run: a path and a body each; gives what the model said, and the state at the end. */
async function walk ({ post }: Service, body: object, steps: ReadonlyArray<readonly [path: string, body: object]>): Promise<{ said: string[], state: string }> {
  let { json } = await post('/api/skills/start', { terminalSessionId: 'manual', autoContinue: true, ...body })
  const url = `/api/skills/${String(json['data']?.['skillSessionId'])}`
  const said = [contentOf(json)]
  for (const [path, sent] of steps) {
    const digest = json['data']?.['approval']?.['digest']
    json = (await post(`${url}/${path}`, path === 'approve' ? { digest } : sent)).json
    said.push(contentOf(json))
  }
  return { said, state: String(json['data']?.['state']) }
}

function contentOf (json: JsonView): string {
  assert.equal(json['success'], true, JSON.stringify(json))
  return String(json['data']?.['aiResponse']?.['content']).split('\n', 1)[0] ?? ''
}

const printed = (stdout: string) => ['command-result', { stdout }] as const

const started = shared(suite => start(suite))

describe('The examples of skills', () => {
  it('are read without a warning', async () => {
    const { get } = await started()
    for (const key of Object.keys(REGISTERED)) assert.deepEqual((await get(`/api/skills/definitions/${key.slice('skills:'.length)}`)).json['diagnostics'], [])
  })

  it('commit, by hand', async () => {
    const walked = await walk(await started(), { skillId: 'git-quick-commit' }, [printed(' M a.txt\n'), ['message', { userMessage: 'fix: a' }], printed('[main abc1234] fix: a')])
    assert.deepEqual(walked, { said: ['[CMD] git status --porcelain', '[ASK] Введи сообщение коммита:', '[CMD] git add . && git commit -m "fix: update skills API"', '[DONE] Коммит успешно создан.'], state: 'done' })
  })

  it('have nothing to commit', async () => {
    assert.deepEqual((await walk(await started(), { skillId: 'git-quick-commit' }, [printed('')])).said.at(-1), '[DONE] Нет изменений для коммита.')
  })

  it('commit in a repository of the operator\'s, after an approval of each command', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('shop/a.txt', 'a')
    await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } } }))
    const git = (...words: string[]) => execFileSync('git', words, { cwd: join(folder.path, 'shop'), encoding: 'utf8' })
    git('init', '-q')
    git('config', 'user.name', 'Ann')
    git('config', 'user.email', 'ann@example.com')
    const service = await start(t, { OPERATOR_FILE: join(folder.path, 'operator.json') })
    const { state } = await walk(service, { skillId: 'git-quick-commit', terminalSessionId: 'here' }, [['approve', {}], ['message', { userMessage: 'fix: a' }], ['approve', {}]])
    assert.equal(state, 'done')
    assert.equal(git('log', '--format=%s'), 'fix: update skills API\n')
  })

  it('draft notes of a release', async () => {
    const { said, state } = await walk(await started(), { skillId: 'release-notes', params: { version: '1.4.0' } }, [printed('v1.3.0'), printed('abc1234 feat: skills'), ['message', { userMessage: '' }]])
    assert.deepEqual([said.length, said.at(-1)?.slice(0, 6), state], [4, '[DONE]', 'done'])
  })

  it('report what fills a disk', async () => {
    const { said, state } = await walk(await started(), { skillId: 'disk-cleanup-report' }, [printed('50% /'), printed('1G ./a')])
    assert.deepEqual([said[0], said.at(-1)?.slice(0, 6), state], ['[CMD] df -h .', '[DONE]', 'done'])
  })
})
