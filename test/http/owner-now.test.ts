import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AskingService, askingPlace, type OperatorWishes } from '../helpers/asking-skill.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

const BOB = tokenEntry('bob', 'approve')

async function start (t: Parameters<typeof askingPlace>[0], environment: Readonly<Record<string, string>> = {}): Promise<AskingService> {
  return await (await askingPlace(t, [tokenEntry('ann', 'run'), BOB])).start({}, environment)
}

/** How a session ended, and why, out of its log. */
async function end (service: AskingService, id: string): Promise<string> {
  await waitFor('its end', async () => String((await service.get(`/api/sessions/${id}`, bearer('ann'))).json['status']) === 'failed')
  return (await service.app.inject({ url: `/api/sessions/${id}/audit`, headers: bearer('ann') })).body
}

describe('A session acts as its owner is now', () => {
  for (const [what, narrowed, message] of [
    ['the target', 'run:targets=other', /may not use \\"here\\" any more/],
    ['the skill', 'run:runs=skills.other', /may not run skills\/walk any more/],
    ['all but some prompts', 'run:prompts=team.*', /may not run skills\/walk any more/],
    ['all but some variables', 'run:environs=team.*', /may not run skills\/walk any more/],
    ['the role', 'read', /may not run sessions any more/]
  ] as const) {
    it(`and runs no command that waited when its token lost ${what}`, async t => {
      const service = await start(t)
      const { id, approval } = await service.walk(bearer('ann'))
      await service.setTokens([tokenEntry('ann', narrowed), BOB])
      assert.equal((await service.post(`/api/approvals/${String(approval['id'])}`, { decision: 'approve', digest: approval['digest'] }, bearer('bob'))).status, 200)
      await service.setTokens([tokenEntry('ann', 'run'), BOB])
      const log = await end(service, id)
      assert.match(log, /"code":"OWNER_MAY_NOT"/)
      assert.match(log, message)
      assert.doesNotMatch(log, /"exitCode"/)
    })
  }

  for (const [narrowed, code] of [
    ['run:targets=other', 'TARGET_NOT_FOUND'],
    ['run:runs=skills.other', 'DEFINITION_NOT_FOUND'],
    ['run:prompts=team.*', 'DEFINITION_NOT_FOUND'],
    ['run:environs=team.*', 'DEFINITION_NOT_FOUND']
  ] as const) {
    it(`and takes no input and no fork from a token with ${narrowed}, which may still cancel it`, async t => {
      const service = await start(t)
      const { id } = await service.walk(bearer('ann'))
      await service.setTokens([tokenEntry('ann', narrowed), BOB])
      for (const path of ['input', 'fork']) assert.equal((await service.post(`/api/sessions/${id}/${path}`, path === 'input' ? { text: 'x' } : {}, bearer('ann'))).json['code'], code)
      assert.equal((await service.post(`/api/sessions/${id}/cancel`, {}, bearer('ann'))).json['status'], 'cancelled')
    })
  }
})

describe('A session that an earlier process began', () => {
  const changes: ReadonlyArray<readonly [string, OperatorWishes, OperatorWishes, object]> = [
    ['with "auto" on asks when it is off', { auto: true, policy: [{ effect: 'ask', on: 'exec', command: 'echo two' }] }, {}, { execution: 'auto' }],
    ['under an allow rule asks when the rule says so', { policy: [{ effect: 'allow', on: 'exec', command: 'echo one' }] }, { policy: [{ effect: 'ask', on: 'exec', command: 'echo one' }] }, {}]
  ]
  for (const [what, before, after, wishes] of changes) {
    it(what, async t => {
      const folder = await createTemporaryFolder()
      t.after(folder.remove)
      const place = await askingPlace(t)
      const first = await place.start(before, { SESSION_STORE: folder.path })
      const { id, approval } = await first.walk({}, wishes)
      assert.equal(String(approval['effect']?.['command']), 'echo two', 'the first command ran unasked')
      await first.app.close()
      const second = await place.start(after, { SESSION_STORE: folder.path })
      const { json } = await second.post(`/api/skills/${id}/approve`, { digest: approval['digest'] })
      assert.deepEqual([json['data']?.['approval']?.['effect']?.['command'], json['data']?.['state']], ['echo one', 'waiting_cmd'])
    })
  }

  it('is denied what the operator denies by now, though a person allows it', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const place = await askingPlace(t)
    const first = await place.start({}, { SESSION_STORE: folder.path })
    const { id, approval } = await first.walk()
    await first.app.close()
    const second = await place.start({ policy: [{ effect: 'deny', on: 'exec', command: 'echo one' }] }, { SESSION_STORE: folder.path })
    await second.post(`/api/skills/${id}/approve`, { digest: approval['digest'] })
    assert.match((await second.app.inject(`/api/sessions/${id}/audit`)).body, /"denied":\[\{"id":"[^"]+","by":"policy","reason":"denied: rule \\"echo one\\""/)
  })
})
