import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANYONE, type Caller } from '../../../src/access/caller.ts'
import { NamePatterns } from '../../../src/access/name-patterns.ts'
import { refusalOf } from '../../../src/service/sessions/rules/session-rights.ts'
import { type Effect } from '../../../src/session/model.ts'
import { type Session } from '../../../src/session/session.ts'

const limited = (...runs: string[]): Caller => ({ ...ANYONE, name: 'ann', runs: new NamePatterns(runs) })

const session = (acting?: string) => ({ start: { definition: 'agents/top', owner: 'ann' }, engine: { view: acting === undefined ? {} : { definition: acting } } }) as unknown as Session

const MODEL: Effect = { id: '2.0', kind: 'llm', purpose: 'turn', messages: [], fields: {}, timeout: 1 }
const CHILD: Effect = { id: '2.0', kind: 'child', name: 'web', definition: 'agents/web', input: { text: '' }, place: 'shop' }

const why = (owner: Caller, of: Session, effect: Effect): string | undefined => refusalOf(owner, of, effect)?.message

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
