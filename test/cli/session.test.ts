import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const AGENT = { mode: 'steps', help: 'Help', classify: { prompt: 'a' }, select: { prompt: 'b' }, tools: [] }

/** A service with three sessions of ann that wait for words, and the command line of some token. */
async function open (t: TestContext) {
  const tokens = [tokenEntry('ann', 'run+read'), tokenEntry('boss', 'admin+run+read')]
  const service = await startService(t, { 'agents:helper': AGENT }, { LLM_BASE_URL: 'builtin:echo', SESSION_STORE: 'memory', LOG_LEVEL: 'silent', API_TOKENS: tokens.join(',') })
  const url = await service.listen()
  const ids = []
  for (let each = 0; each < 3; each++) {
    const response = await fetch(`${url}/api/agents/helper/sessions`, { method: 'POST', headers: { ...bearer('ann'), 'content-type': 'application/json' }, body: '{}' })
    ids.push((await response.json() as { id: string }).id)
  }
  const aps = async (who: string, args: string) => await runApsHere(['session', ...args.split(' '), '--url', url], { APS_TOKEN: `${who}-token` })
  return { ids, aps }
}

describe('aps session', () => {
  it('ends all sessions that the options name, and says how many', async t => {
    const { ids: [first = '', ...rest], aps } = await open(t)
    assert.equal((await aps('boss', 'cancel')).code, 2)
    assert.match((await aps('boss', 'cancel --all')).stderr, /expected --yes where nobody can be asked/)
    assert.match((await aps('boss', `cancel ${first} --kind agents`)).stderr, /expected --all/)
    for (const filter of ['--kind plans', '--of bob', '--older 1h', '--definition agents/none']) {
      assert.match((await aps('boss', `cancel --all --yes ${filter}`)).stderr, /^0 sessions are cancelled$/m, filter)
    }
    assert.match((await aps('boss', 'cancel --all --yes --older soon')).stderr, /--older: expected a time as 30s/)
    assert.match((await aps('ann', `cancel ${first}`)).stderr, /is cancelled/)
    const { stdout } = await aps('boss', 'cancel --all --yes --kind agents --of ann --older 0s --json')
    assert.deepEqual(JSON.parse(stdout), { cancelled: rest.reverse(), failed: [] })
  })

  it('lets an admin redrive sessions, and names those that have ended', async t => {
    const { ids: [first = '', second = '', third = ''], aps } = await open(t)
    await aps('ann', `cancel ${third}`)
    const { code, stderr } = await aps('boss', `redrive ${first} ${third} ${second}`)
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`^2 sessions are redriven$[\\s\\S]*1 of 3 not: ${third}: .*cancelled`, 'm'))
    assert.match((await aps('boss', `show ${first}`)).stdout, /^status: waiting_input$/m)
    assert.deepEqual([(await aps('ann', `redrive ${first}`)).code, (await aps('ann', `show ${first}`)).code], [4, 0])
  })

  it('lists as stuck what runs and is old, and nothing that waits for a person', async t => {
    const { ids, aps } = await open(t)
    assert.deepEqual((await aps('boss', 'list --stuck --older 0s')).stdout, '')
    assert.deepEqual((await aps('boss', 'list --older 0s --kind agents --of ann')).stdout.trim().split('\n').map(line => line.slice(0, 32)), ids.reverse())
    assert.equal((await aps('boss', 'list --stuck --status open')).code, 2)
  })
})
