import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE, type Caller, NamePatterns } from '../../../src/access/caller.ts'
import { RightsWatch } from '../../../src/access/rights.ts'
import { type Generation } from '../../../src/registry/generation.ts'
import { type RequestContext } from '../../../src/service/sessions/session-service.ts'
import { agentSessions } from '../../../src/service/sessions/agent-sessions.ts'
import { type SessionKind } from '../../../src/service/sessions/session-kind.ts'
import { createPerformer, type Perform, type Performers } from '../../../src/service/sessions/performer.ts'
import { EFFECTS, type EffectRow } from '../../../src/session/effects.ts'
import { type Engine, effectId, startOf } from '../../../src/session/engine.ts'
import { eventsOf } from '../../../src/session/follow.ts'
import { type Engines } from '../../../src/session/advance-session.ts'
import { type Effect, type ToolEffect, type LogEntry } from '../../../src/session/model.ts'
import { type Session } from '../../../src/session/session.ts'
import { memoryStore } from '../../session/runners.ts'
import { scriptEngine, scripted, SCRIPTED } from '../../session/script-engine.ts'
import { sessionsOver } from './sessions-over.ts'

const caller = (name: string, roles: ReadonlyArray<'run' | 'approve'>, more: Partial<Caller> = {}): Caller => ({ ...ANYONE, name, roles: new Set(roles), ...more })

const ANN = caller('ann', ['run'])
const BOB = caller('bob', ['approve'])
const NOTHING = {} as Generation

const visit = (who: Caller): RequestContext => ({ caller: who, requestId: 'r1', signal: new AbortController().signal })

/** A service of these engines, what it has counted, and what its followers have been told. */
function serving (t: TestContext, engines: Engines, performers: object, owner: Caller = ANN) {
  const counted: string[] = []
  const sessions = sessionsOver(t, memoryStore(t), {
    engines,
    owner: 'ann',
    performer: createPerformer({
      performers: performers as Performers,
      tools: { isRepeatableTool: () => true },
      rights: new RightsWatch(),
      callerNamed: () => owner,
      observer: { metrics: { sessionEffects: { at: (kind: string, outcome: string) => ({ observe () { counted.push(`${kind} ${outcome}`) } }) } } as never, tracer: undefined }
    }),
    onEnded ({ status, used }: Session) { counted.push(`${status} after ${used.steps}`) }
  })
  return { sessions, counted }
}

describe('A kind of sessions that is a row from outside', () => {
  const scripts: SessionKind<{ readonly script: string }> = {
    name: 'scripts',
    engines: [scriptEngine],
    start: ({ script }) => scripted(script, { definition: 'scripts/one', ask: ['erase'] })
  }
  const callTool: Perform<ToolEffect> = async ({ effect }) => ({ kind: 'result', result: effect.tool })

  it('is started, listed, and counted', async t => {
    const { sessions, counted } = serving(t, SCRIPTED, { tool: callTool })
    const { session, isOpen, isOwn } = await sessions.start(scripts, visit(ANN), NOTHING, { script: 'find > end' })
    assert.deepEqual([session.status, isOpen, isOwn], ['completed', false, true])
    assert.deepEqual((await sessions.list(ANN, { limit: 10, definition: 'scripts/one' })).heads.map(({ id }) => id), [session.id])
    assert.deepEqual(counted, ['tool ok', 'completed after 1'])
  })

  it('is spoken to, and followed from there on', async t => {
    const { sessions } = serving(t, SCRIPTED, { tool: callTool })
    const { session: { id, seq } } = await sessions.start(scripts, visit(ANN), NOTHING, { script: '' })
    const { after, stdout } = await sessions.say(scripts, visit(ANN), id, { text: 'find > end' })
    assert.deepEqual([after, stdout], [seq, ['find > end']])
    const told: string[] = []
    for await (const each of await sessions.follow(() => ANN, id, after, new AbortController().signal)) if ('transition' in each) told.push(...eventsOf(each.transition).map(({ type }) => type))
    assert.deepEqual([told[0], told.at(-1)], ['input', 'done'])
  })

  it('has its approvals given by others, who do not own it', async t => {
    const { sessions, counted } = serving(t, SCRIPTED, { tool: callTool })
    const { session: { id, status } } = await sessions.start(scripts, visit(ANN), NOTHING, { script: 'erase > end' })
    assert.equal(status, 'waiting_approval')
    const [waiting] = (await sessions.approvals(BOB, { limit: 10 })).approvals
    await assert.rejects(sessions.approve(scripts, visit(ANN), id, { digest: waiting?.digest }), { code: 'ROLE_MISSING' })
    const approved = await sessions.approve(scripts, visit(BOB), id, { digest: waiting?.digest })
    assert.deepEqual([approved.session.status, approved.isOwn, counted], ['completed', false, ['tool ok', 'completed after 1']])
    await assert.rejects(sessions.say(scripts, visit(BOB), id, { text: 'x' }), { code: 'SESSION_NOT_FOUND' })
  })

  it('is refused by its owner, or is told something else where nothing waits', async t => {
    const { sessions } = serving(t, SCRIPTED, { tool: callTool })
    const { session: { id } } = await sessions.start(scripts, visit(ANN), NOTHING, { script: 'erase' })
    assert.equal((await sessions.refuse(scripts, visit(ANN), id)).session.status, 'waiting_input')
    await assert.rejects(sessions.refuse(scripts, visit(ANN), id), { code: 'SESSION_BUSY', statusCode: 409 })
    assert.equal((await sessions.refuse(scripts, visit(ANN), id, { text: 'end' })).session.status, 'completed')
  })

  it('is not found where another kind is meant', async t => {
    const { sessions, counted } = serving(t, SCRIPTED, { tool: callTool })
    const { session: { id } } = await sessions.start(scripts, visit(ANN), NOTHING, { script: 'erase' })
    const agents = agentSessions({ DEFAULT_LANGUAGE: 'en' })
    const others: ReadonlyArray<Promise<unknown>> = [sessions.get(agents, ANN, id), sessions.say(agents, visit(ANN), id, { text: 'x' }), sessions.approve(agents, visit(BOB), id, { digest: 'x' }), sessions.refuse(agents, visit(ANN), id), sessions.cancel(agents, ANN, id)]
    for (const other of others) await assert.rejects(other, { code: 'SESSION_NOT_FOUND' })
    assert.deepEqual([(await sessions.get('any', ANN, id)).status, counted], ['waiting_approval', []])
  })
})

describe('A kind of effects that is a row from outside', () => {
  /** Recites a poem in a room; nobody is disturbed at night without being asked. */
  interface PoemEffect { readonly id: string, readonly kind: 'poem', readonly words: string, readonly room: string }
  const row: EffectRow<PoemEffect & Effect> = {
    digest: ({ words }) => `poem of ${words}`,
    shown: ({ words, room }) => ({ words, room }),
    subject: ({ room }) => ({ room }),
    place: ({ room }) => room,
    judge: ({ words }) => words === 'night' ? { answer: 'ask', rule: 'nobody is disturbed at night' } : { answer: 'allow' },
    isRepeatable: () => false
  }
  const recite: Perform<PoemEffect & ToolEffect> = async ({ effect: { words } }) => ({ kind: 'result', result: `recited ${words}` })
  const engine: Engine<object, { readonly isOver: boolean, readonly heard: string }, object> = {
    name: 'poems/1',
    begin: ({ input }, moment) => ({ state: { isOver: false, heard: '' }, effects: [{ id: effectId(moment, 0), kind: 'poem', room: 'hall', words: String(input['words']) } as never], notices: [] }),
    next (state, fact) {
      const heard = fact.kind === 'result' ? String(fact.result) : fact.kind === 'failure' ? fact.code : state.heard
      return { state: { isOver: fact.kind !== 'decided', heard }, effects: [], notices: [] }
    },
    view: ({ isOver, heard }) => ({ stateName: heard, outcome: isOver ? 'completed' : 'open' })
  }
  const poems: SessionKind<{ readonly words: string }> = {
    name: 'poems',
    engines: [engine],
    start: ({ words }) => ({ ...scripted(''), engine: engine.name, definition: 'poems/one', input: { words } })
  }

  function reciting (t: TestContext, owner?: Caller) {
    const table = EFFECTS as unknown as Record<string, unknown>
    table['poem'] = row
    t.after(() => { delete table['poem'] })
    return serving(t, new Map([[engine.name, startOf(engine)]]), { poem: recite }, owner)
  }

  it('is begun, performed, and counted, and its audit says what it was about', async t => {
    const { sessions, counted } = reciting(t)
    const { session } = await sessions.start(poems, visit(ANN), NOTHING, { words: 'day' })
    assert.deepEqual([session.status, session.engine.view.stateName], ['completed', 'recited day'])
    const begun: Array<LogEntry['begun'][number]> = []
    for await (const entry of await sessions.audit(ANN, session.id, 0)) begun.push(...entry.begun)
    assert.deepEqual(begun, [{ id: '1.0', kind: 'poem', digest: 'poem of day', subject: { room: 'hall' } }])
    assert.deepEqual(counted, ['poem ok', 'completed after 1'])
  })

  it('is shown to whoever may approve it, and done then', async t => {
    const { sessions, counted } = reciting(t)
    const { session: { id } } = await sessions.start(poems, visit(ANN), NOTHING, { words: 'night' })
    const [waiting] = (await sessions.approvals(BOB, { limit: 10 })).approvals
    assert.deepEqual([waiting?.rule, waiting?.content], ['nobody is disturbed at night', { kind: 'poem', words: 'night', room: 'hall' }])
    assert.deepEqual(counted, [])
    const { session } = await sessions.approve(poems, visit(BOB), id, { digest: waiting?.digest })
    assert.deepEqual([session.engine.view.stateName, counted], ['recited night', ['poem ok', 'completed after 1']])
  })

  it('reaches no place that the owner\'s token does not name', async t => {
    const { sessions, counted } = reciting(t, caller('ann', ['run'], { targets: new NamePatterns(['kitchen']) }))
    const { session } = await sessions.start(poems, visit(ANN), NOTHING, { words: 'day' })
    assert.deepEqual([session.engine.view.stateName, counted], ['OWNER_MAY_NOT', ['completed after 1']])
  })

  it('that fails unexpectedly is INTERNAL, said by the runner and counted', async t => {
    const table = EFFECTS as unknown as Record<string, unknown>
    table['poem'] = row
    t.after(() => { delete table['poem'] })
    const { sessions, counted } = serving(t, new Map([[engine.name, startOf(engine)]]), { poem: async () => await Promise.reject(new Error('a fault')) })
    const { session } = await sessions.start(poems, visit(ANN), NOTHING, { words: 'day' })
    assert.deepEqual([session.engine.view.stateName, counted], ['INTERNAL', ['poem INTERNAL', 'completed after 1']])
  })
})
