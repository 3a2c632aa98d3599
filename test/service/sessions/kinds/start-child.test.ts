import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../../../src/access/caller.ts'
import { type ResolvedDefinitions } from '../../../../src/engine/dialogue.ts'
import { agentSessions } from '../../../../src/service/sessions/agent-sessions.ts'
import { type SessionKinds, startOfChild } from '../../../../src/service/sessions/kind-table.ts'
import { type ChildEffect, type Start } from '../../../../src/session/model.ts'
import { type Session } from '../../../../src/session/session.ts'
import { registered } from '../../../helpers/registered.ts'

const AGENTS = {
  'tools:pay': { url: 'http://127.0.0.1:1/pay' },
  'tools:erase': { url: 'http://127.0.0.1:1/erase' },
  'agents:top': { ask: ['pay'], tools: [{ tool: 'pay' }, { agent: 'web' }], handoffs: ['desk'] },
  'agents:web': { ask: ['erase'], budget: { steps: 3 }, tools: [{ tool: 'erase' }, { agent: 'deep' }] },
  'agents:deep': { tools: [{ agent: 'web' }] },
  'agents:desk': { ask: ['erase'], tools: [{ tool: 'erase' }] },
  'agents:aside': { tools: [] }
}

/** A dialogue with top that calls web. */
async function calling (t: TestContext) {
  const { registry: { generation } } = await registered(t, AGENTS)
  const kind = agentSessions({ DEFAULT_LANGUAGE: 'en' })
  const made = await kind.start({ id: 'top' }, { caller: ANYONE, generation, session: 'a', requestId: 'r' })
  const start: Start = { ...made, owner: 'ann' }
  const effect: ChildEffect = { id: '4.0', kind: 'child', name: 'web', definition: 'agents/web', input: { text: 'Who?' } }
  const parent = { id: 'a', start, open: new Map([['4.0', { effect, phase: 'begun', reserved: { steps: 40, tokens: 900 } }]]) } as unknown as Session
  const child = async (): Promise<Start> => await startOfChild({} as SessionKinds, generation, { caller: ANYONE, parent, effect, id: 'b' })
  return { start, child }
}

const reached = ({ setting }: Start): string[] => Object.keys((setting as { readonly definitions?: ResolvedDefinitions }).definitions ?? {})

describe('What a session starts with that an agent starts', () => {
  it('is asked for whatever is asked for above, and for its own', async t => {
    const { start, child } = await calling(t)
    // A dialogue may be handed over: what the other agent asks for waits too.
    assert.deepEqual([start.ask, (await child()).ask], [['pay', 'erase'], ['pay', 'erase']])
  })

  it('is what was set aside, or less where its definition says so', async t => {
    const { child } = await calling(t)
    assert.deepEqual((await child()).budget, { steps: 3, tokens: 900, idle: 1440 * 60_000 })
  })

  it('belongs to whoever has started the first, and names all above', async t => {
    const { child } = await calling(t)
    const { owner, parent, input } = await child()
    assert.deepEqual([owner, parent, input], ['ann', { session: 'a', effect: '4.0', root: 'a', depth: 1, line: [{ session: 'a', definition: 'agents/top' }] }, { task: 'Who?' }])
  })

  it('has what is within its own reach, and a circle has itself', async t => {
    const { start, child } = await calling(t)
    assert.deepEqual([reached(start), reached(await child())], [['agents/web', 'agents/desk', 'agents/deep'], ['agents/web', 'agents/deep']])
  })
})
