import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runApsHere } from '../helpers/aps.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

const TOP = { help: 'Ask me.', system: 'You are top.', tools: [{ name: 'walk', skill: 'walk', target: 'here' }] }

const SKILL = '---\nname: walk\ndescription: Walks.\nprotocol: text\n---\nWalk.'

const REPLIES = `
- { system: You are top., last: Walked., reply: It has walked. }
- { system: You are top., last: '{"error":', reply: It has not. }
- { system: You are top., last: walk, calls: [{ name: walk }] }
- { last: Step 1 of, reply: '[CMD] echo one' }
- { last: Step 2 of, reply: '[ASK] How far?' }
- { last: Step 3 of, reply: '[DONE] Walked.' }
`

/** Both ways to use it, with what is registered in a folder and in a service. */
const bothPlaces = shared(async t => {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('shop/a.md', 'a')
  await folder.write('store/agents/top.json', JSON.stringify(TOP))
  await folder.write('store/skills/walk/SKILL.md', SKILL)
  await folder.write('replies.yaml', REPLIES)
  await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } } }))
  const at = (name: string): string => join(folder.path, name)
  const common = { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml'), OPERATOR_FILE: at('operator.json'), STATE_DIR: at('state') }
  const service = await startService(t, { 'agents:top': TOP, 'skills:walk': SKILL }, common)
  return { here: { ...common, STORE_DIR: at('store'), SESSION_STORE: at('sessions') }, there: { APS_URL: await service.listen() } }
})

const sessionIn = (stderr: string): string => /^session (\w{32})$/m.exec(stderr)?.[1] ?? assert.fail(stderr)

describe('aps agent with an agent that calls a skill', () => {
  for (const where of ['here', 'there'] as const) {
    it(`shows what is asked below, and sends the answers there, ${where === 'here' ? 'in this process' : 'of a service'}`, async () => {
      const { [where]: environment } = await bothPlaces()
      const { code, stdout, stderr } = await runApsHere(['agent', 'top'], environment, 'walk\ny\na mile\n/exit\n')
      assert.deepEqual([code, stdout.split('\n').filter(line => line !== '').slice(0, 3)], [0, ['Ask me.', 'How far?', 'It has walked.']], stderr)
      assert.match(stderr, /^agents\/top > skills\/walk \(session \w{32}\) waits for you:$/m)
      assert.match(stderr, /echo one/)
    })
  }

  it('shows it again to whoever goes on with the dialogue', async () => {
    const { there } = await bothPlaces()
    const left = await runApsHere(['agent', 'top'], there, 'walk\n')
    assert.equal(left.code, 1)
    const { code, stdout, stderr } = await runApsHere(['agent', 'top', '--resume', sessionIn(left.stderr)], there, 's\nfar\n/exit\n')
    assert.equal(code, 0, stderr)
    assert.match(stdout, /How far\?\nIt has walked\./)
  })

  it('has the sessions below in a tree', async () => {
    const { there } = await bothPlaces()
    const { stderr } = await runApsHere(['agent', 'top'], there, 'walk\n')
    const { stdout } = await runApsHere(['session', 'tree', sessionIn(stderr)], there)
    assert.deepEqual(stdout.trim().split('\n').map(line => line.split('\t').slice(1)), [['running', 'agents/top'], ['waiting_approval', '> skills/walk']])
    const shown = await runApsHere(['session', 'show', sessionIn(stderr)], there)
    assert.match(shown.stdout, /children:\n {2}- id: \w{32}\n {4}definition: skills\/walk/)
  })
})
