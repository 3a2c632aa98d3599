import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createScratch } from '../plans/scratch.ts'
import { type Reply, type Service, startService } from '../helpers/service.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

/** A service whose operator allows commits in `shop`, and a plan that is applied there. */
async function applied (t: TestContext, { rules = '', commit = true, profile = {} }: { rules?: string, commit?: boolean, profile?: object } = {}) {
  const scratch = await createScratch(t)
  const { STORE_DIR: _store, ...environment } = scratch.environment
  await writeFile(join(dirname(scratch.path), 'operator.yaml'), `workspaces:\n  shop: { path: shop, checks: { test: node --test }, commit: ${commit} }\ntargets:\n  shop: { type: local, workspace: shop, auto: true }\npolicy: [${rules}]\n`)
  const git = (...words: string[]): string => execFileSync('git', ['-C', scratch.path, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.com')
  git('add', '.')
  git('commit', '--quiet', '-m', 'First')
  const service = await startService(t, { 'plans:quick': { confirm: 'deletions', ...profile } }, { ...environment, API_TOKENS: [tokenEntry('ann', 'run'), tokenEntry('judge', 'approve')].join(',') })
  const planned = await service.post('/api/plans', { goal: 'plan: fix the test', workspace: 'shop', profile: 'quick' }, bearer('ann'))
  const id = String(planned.json['id'])
  const done = await act(service, id, 'apply')
  return { service, id, git, done, subjects: () => git('log', '--format=%s').split('\n') }
}

const act = ({ post }: Service, id: string, name: string, body?: unknown, who = 'ann'): Promise<Reply> => post(`/api/plans/${id}/${name}`, body, bearer(who))

const told = ({ status, json }: Reply): unknown[] => [status, json['state'] ?? json['code'], ...json['error_code'] === undefined ? [] : [json['error_code']]]

describe('A commit of a plan over HTTP', () => {
  it('waits for whoever may approve it where no rule speaks of it, also on a target that runs all unasked', async t => {
    const { service, id, subjects } = await applied(t)
    const asked = await act(service, id, 'commit')
    assert.deepEqual([asked.status, asked.json['status'], asked.json['confirm']?.['kind'], asked.json['confirm']?.['paths'], asked.json['confirm']?.['message']], [200, 'waiting_approval', 'commit', ['src/price.js'], 'Mended the comparison in src/price.js. Check: node --test'])
    assert.deepEqual(subjects(), ['First'])
    const digest = asked.json['confirm']?.['digest']
    assert.deepEqual(told(await act(service, id, 'confirm', { digest })), [403, 'ROLE_MISSING'])
    const confirmed = await act(service, id, 'confirm', { digest }, 'judge')
    assert.deepEqual(told(confirmed), [200, 'applied'])
    assert.deepEqual(subjects(), ['Mended the comparison in src/price.js. Check: node --test', 'First'])
  })

  it('is not made when it is rejected', async t => {
    const { service, id, subjects } = await applied(t)
    await act(service, id, 'commit')
    assert.deepEqual(told(await act(service, id, 'reject')), [200, 'applied'])
    assert.deepEqual(subjects(), ['First'])
  })

  it('is made where a rule allows it, and stays when the change is undone', async t => {
    const { service, id, git, subjects } = await applied(t, { rules: '{ on: exec, effect: allow, command: "git commit *" }' })
    const made = await act(service, id, 'commit', { message: 'Mend the price' })
    assert.deepEqual([...told(made), made.json['commit']], [200, 'applied', git('rev-parse', 'HEAD')])
    assert.match(git('log', '-1', '--format=%B'), new RegExp(`^Mend the price\n\nSession: ${id}/\\d+\\.\\d+$`))
    assert.deepEqual(told(await act(service, id, 'undo')), [200, 'undone'])
    assert.deepEqual(subjects(), ['Mend the price', 'First'])
    assert.equal(git('status', '--porcelain'), 'M src/price.js')
  })

  it('is refused with the rule that denies it, and the plan is as it was', async t => {
    const { service, id, subjects } = await applied(t, { rules: '{ on: exec, effect: deny, command: "git commit *" }' })
    const denied = await act(service, id, 'commit')
    assert.deepEqual(told(denied), [409, 'COMMIT_DENIED'])
    assert.match(String(denied.json['message']), /denied: rule "git commit \*"/)
    assert.equal((await service.get(`/api/plans/${id}`, bearer('ann'))).json['state'], 'applied')
    assert.deepEqual(subjects(), ['First'])
  })

  it('is refused where the operator or the profile allows none', async t => {
    for (const given of [{ commit: false }, { profile: { commit: 'never' } }]) {
      const { service, id } = await applied(t, given)
      assert.deepEqual(told(await act(service, id, 'commit')), [409, 'COMMIT_DISABLED'])
      assert.deepEqual(told(await act(service, id, 'undo')), [200, 'undone'])
    }
  })

  it('is made once the checks have passed, where the profile says so', async t => {
    const { done, subjects } = await applied(t, { rules: '{ on: exec, effect: allow, command: git commit }', profile: { commit: 'passed' } })
    assert.deepEqual(told(done), [200, 'applied'])
    assert.equal(subjects().length, 2)
  })
})
