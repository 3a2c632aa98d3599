import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { ANYONE, type Caller, NamePatterns } from '../../../src/access/caller.ts'
import { RightsWatch } from '../../../src/access/rights.ts'
import { createPerformer, type Performers } from '../../../src/service/sessions/performer.ts'
import { refusalOf } from '../../../src/service/sessions/session-rights.ts'
import { type Effect } from '../../../src/session/model.ts'
import { type ActiveEffect, type Outcome } from '../../../src/session/effects.ts'
import { type Session } from '../../../src/session/session.ts'

const limited = (...runs: string[]): Caller => ({ ...ANYONE, name: 'ann', runs: new NamePatterns(runs) })

const session = (acting?: string) => ({ start: { definition: 'agents/top', owner: 'ann' }, engine: { view: acting === undefined ? {} : { definition: acting } } }) as unknown as Session

const MODEL: Effect = { id: '2.0', kind: 'llm', purpose: 'turn', messages: [], fields: {}, timeout: 1 }
const CHILD: Effect = { id: '2.0', kind: 'child', name: 'web', definition: 'agents/web', input: { text: '' }, place: 'shop' }

const why = (owner: Caller, of: Session, effect: Effect): string | undefined => refusalOf(owner, of, effect)?.message

describe('An effect that runs', () => {
  // The watch alone keeps no process alive.
  let alive: NodeJS.Timeout
  before(() => { alive = setInterval(() => {}, 60_000) })
  after(() => { clearInterval(alive) })

  const performing = (owner: () => Caller | undefined, effect: Effect, perform: (signal: AbortSignal) => Promise<Outcome>) => createPerformer({
    performers: { [effect.kind]: async ({ signal }: { readonly signal: AbortSignal }) => await perform(signal) } as unknown as Performers,
    tools: { isRepeatableTool: () => true },
    rights: new RightsWatch(),
    callerNamed: owner,
    observer: undefined
  }).perform(session() as Session, effect as ActiveEffect, new AbortController().signal, () => {})

  const untilAborted = async (signal: AbortSignal): Promise<Outcome> => {
    await once(signal, 'abort')
    return { kind: 'failure', code: 'CANCELLED', message: 'it was ended' }
  }

  for (const [what, later, code] of [['is gone', undefined, 'OWNER_GONE'], ['may not run it any more', limited('agents.other'), 'OWNER_MAY_NOT']] as const) {
    it(`ends as soon as the token of its session's owner ${what}`, async () => {
      let owner: Caller | undefined = ANYONE
      const outcome = performing(() => owner, MODEL, untilAborted)
      owner = later
      assert.equal((await outcome as { readonly code?: string }).code, code)
    })
  }

  it('is brought to its end where it writes files', async () => {
    let owner: Caller | undefined = ANYONE
    const looked: boolean[] = []
    const outcome = await performing(() => owner, { id: '2.0', kind: 'apply', workspace: 'shop', change: {}, deletes: false, timeout: 1 } as unknown as Effect, async signal => {
      owner = undefined
      const rights = new RightsWatch()
      await new Promise<void>(resolve => { rights.watch(() => true, () => { resolve() }) })
      looked.push(signal.aborted)
      return { kind: 'result', result: 'written' }
    })
    assert.deepEqual([outcome.kind, looked], ['result', [false]])
  })
})

describe('What a session does for an owner whose token names a part of what runs', () => {
  it('is nothing once it was handed over to an agent that the token does not name', () => {
    assert.equal(why(limited('agents.top'), session(), MODEL), undefined)
    assert.equal(why(limited('agents.top'), session('agents/desk'), MODEL), 'the token "ann" may not run agents/desk any more')
    assert.equal(why(limited('agents.*'), session('agents/desk'), MODEL), undefined)
  })

  it('is no start of an agent that the token does not name', () => {
    assert.equal(why(limited('agents.top'), session(), CHILD), 'the token "ann" may not run agents/web any more')
  })

  it('is no start of a plan in a workspace that the token does not name', () => {
    assert.equal(why({ ...ANYONE, name: 'ann', targets: new NamePatterns(['other']) }, session(), CHILD), 'the token "ann" may not use "shop" any more')
  })
})
