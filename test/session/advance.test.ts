import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { advance, type Advanced, begin, EngineDiverged, EngineUnknown, foldLogEntry } from '../../src/session/advance-session.ts'
import { decisionOn } from '../../src/session/approvals.ts'
import { createGate, type Gate, gate, owingGate } from '../../src/session/gate.ts'
import { type Fact, type Start, type LogEntry } from '../../src/session/model.ts'
import { openIn, type Session } from '../../src/session/session.ts'
import { approved } from './approve.ts'
import { scripted, SCRIPTED, scriptEngine, type ScriptState } from './script-engine.ts'
import { property } from '../helpers/property.ts'

const ID = 'a'.repeat(32)
const stamp = { at: 1000, token: 't', by: 'a' }

/** A session with its log, to which facts are added. */
class Live {
  readonly log: LogEntry[] = []
  session: Session

  constructor (start: Start, by: Gate = gate) {
    this.session = this.#keep(begin(ID, start, SCRIPTED.get(start.engine) as never, by, stamp))
  }

  add (fact: Fact, by: Gate = gate, writer = 'a'): this {
    this.session = this.#keep(advance(this.session, fact, by, { at: 1000 + this.log.length, token: `t${this.log.length}`, by: writer }))
    return this
  }

  end (effect: string): this {
    return this.add({ kind: 'result', effect, result: null })
  }

  approve (effect: string, command?: string): this {
    return this.add(approved(this.session, effect, command))
  }

  say (text: string): this {
    return this.add({ kind: 'input', id: text, by: 'ann', text })
  }

  get heard (): readonly string[] {
    return (this.session.engine.state as ScriptState).heard
  }

  ids (phase: 'owed' | 'held' | 'begun'): string[] {
    return openIn(this.session, phase).map(({ effect }) => effect.id)
  }

  #keep ({ session, transition }: Advanced): Session {
    this.log.push(JSON.parse(JSON.stringify(transition)) as LogEntry)
    return session
  }
}

function fold (log: readonly LogEntry[]): Session {
  let session: Session | undefined
  for (const transition of log) session = foldLogEntry(ID, session, transition, SCRIPTED)
  return session as Session
}

/** What of a session can be compared: an engine has functions. */
function comparable (session: Session) {
  const { engine: { state, view, name }, ...rest } = session
  return { ...rest, state, view, name }
}

const word = fc.constantFrom('?ask', 'a', 'a:1', 'read', 'asked', 'end', 'fail')
const script = fc.array(fc.array(word, { minLength: 1, maxLength: 4 }).map(words => words.includes('end') ? 'end' : words.includes('fail') ? 'fail' : words.join(' ')), { maxLength: 4 }).map(steps => steps.join(' > '))

/** A fact, made of a number for what it is about: the effects that are there are known only then. */
const maker = fc.record({ kind: fc.constantFrom('input', 'result', 'failure', 'unknown', 'approve', 'reject', 'took', 'late'), pick: fc.nat(7), text: script, owes: fc.boolean(), writer: fc.constantFrom('a', 'b') })

function factOf ({ kind, pick, text }: { kind: string, pick: number, text: string }, { session }: Live): Fact | undefined {
  const { open, lastInput } = session
  const all = [...open.values()]
  const one = (phase: string) => all.filter(each => each.phase === phase && each.effect.kind !== 'wait').map(({ effect }) => effect.id).at(pick % 8)
  const [begun, held] = [one('begun'), one('held')]
  switch (kind) {
    case 'input': return all.some(({ effect }) => effect.kind === 'wait') ? { kind, id: `${lastInput}${pick}`, by: 'ann', text } : undefined
    case 'result': return begun === undefined ? undefined : { kind, effect: begun, result: pick, usage: { input: pick, output: 1 } }
    case 'failure': return begun === undefined ? undefined : { kind, effect: begun, code: 'X', message: 'x' }
    case 'unknown': return begun === undefined ? undefined : { kind, effect: begun }
    case 'approve': return held === undefined ? undefined : approved(session, held)
    case 'reject': return held === undefined ? undefined : { kind: 'decided', effect: held, by: 'bob', decision: 'reject', reason: 'no' }
    case 'took': return { kind, repeats: all.filter(({ phase, effect }) => phase === 'begun' && effect.kind !== 'wait').map(({ effect }) => effect.id) }
    default: return { kind: 'result', effect: '99.0', result: null }
  }
}

describe('The fold of a log', () => {
  property('is the live session, after whatever facts', 500, given => {
    given.holds(fc.property(script, fc.array(maker, { maxLength: 40 }), fc.record({ steps: fc.nat(12), tokens: fc.nat(40), idle: fc.constant(1) }, { noNullPrototype: true }), (first, makers, budget) => {
      const live = new Live(scripted(first, { budget, ask: ['asked'] }))
      for (const each of makers) {
        const fact = live.session.engine.view.outcome === 'open' ? factOf(each, live) : undefined
        if (fact !== undefined) live.add(fact, each.owes ? owingGate : gate, each.writer)
        assert.deepEqual(comparable(fold(live.log)), comparable(live.session))
      }
    }))
  })

  for (const [what, change] of [
    ['the digest of what was begun is another', ({ begun, ...rest }) => ({ ...rest, begun: begun.map(each => ({ ...each, digest: 'x' })) })],
    ['the kind of what was begun is another', ({ begun, ...rest }) => ({ ...rest, begun: begun.map(each => ({ ...each, kind: 'wait' })) })],
    ['something was begun that the engine does not ask for', ({ begun, ...rest }) => ({ ...rest, begun: [...begun, { id: '1.7', kind: 'tool', digest: '' }] })],
    ['something was denied that the engine does not ask for', transition => ({ ...transition, denied: [{ id: '1.7', by: 'policy', reason: '' }] })],
    ['the arguments of a call are others', ({ fact, ...rest }) => ({ ...rest, fact: fact.kind === 'started' ? { ...fact, start: { ...fact.start, input: { script: 'a:2' } } } : fact })]
  ] as ReadonlyArray<[string, (transition: LogEntry) => LogEntry]>) {
    it(`is refused where ${what}`, () => {
      const { log: [first] } = new Live(scripted('a:1'))
      assert.throws(() => fold([change(first as LogEntry)]), EngineDiverged)
    })
  }

  it('is refused where a session that has ended had begun something else', () => {
    const { log } = new Live(scripted('a > end')).end('1.0')
    const [first, last] = log as [LogEntry, LogEntry]
    assert.throws(() => fold([first, { ...last, begun: [{ id: '2.0', kind: 'tool', digest: '' }] }]), EngineDiverged)
  })

  it('is refused without a start, and without the engine', () => {
    const { log: [first] } = new Live(scripted('a'))
    assert.throws(() => fold([{ ...first as LogEntry, fact: { kind: 'took', repeats: [] } }]), EngineDiverged)
    assert.throws(() => fold([{ ...first as LogEntry, fact: { kind: 'started', start: scripted('a', { engine: 'other/1' }) } }]), EngineUnknown)
  })
})

describe('The gate', () => {
  it('denies what is beyond the steps of the budget, and the engine hears that it was refused', () => {
    const live = new Live(scripted('a b c', { budget: { steps: 2, tokens: 10, idle: 1 } }))
    assert.deepEqual(live.ids('begun'), ['1.0', '1.1'])
    assert.deepEqual(live.log[0]?.denied, [{ id: '1.2', by: 'budget', reason: 'the session has made its 2 calls' }])
    assert.deepEqual(live.heard, ['1.2 refused'])
  })

  it('denies what comes after the tokens of the budget are used', () => {
    const live = new Live(scripted('?a > ?b', { budget: { steps: 10, tokens: 5, idle: 1 } }))
    live.add({ kind: 'result', effect: '1.0', result: null, usage: { input: 3, output: 2 } })
    assert.deepEqual(live.heard, ['1.0 result', '2.0 refused'])
    assert.equal(live.session.status, 'waiting_input')
  })

  it('holds each call of a tool that asks', () => {
    const live = new Live(scripted('asked other', { ask: ['asked'] }))
    assert.deepEqual([live.ids('held'), live.ids('begun')], [['1.0'], ['1.1']])
    assert.equal(live.session.status, 'running')
    assert.equal(live.end('1.1').session.status, 'waiting_approval')
  })

  it('holds the same call when it comes for the third time, and no other call', () => {
    const live = new Live(scripted('a:1 a:1 a:2 > a:1 a:2')).end('1.0').end('1.1').end('1.2')
    assert.deepEqual([live.ids('held'), live.ids('begun')], [['4.0'], ['4.1']])
  })

  it('does not take what a lost replica had begun for a further call', () => {
    const live = new Live(scripted('read asked', { ask: ['asked'] })).approve('1.1')
    for (let count = 0; count < 5; count++) live.add({ kind: 'took', repeats: ['1.0', '1.1'] }, gate, `b${count}`)
    assert.deepEqual([live.ids('held'), live.ids('begun')], [[], ['1.0', '1.1']])
    assert.deepEqual(live.end('1.0').end('1.1').say('read').ids('begun'), ['10.0'])
  })
})

describe('The gate, of commands,', () => {
  it('holds one for which there is no rule, whole', () => {
    const live = new Live(scripted('$ls'))
    assert.deepEqual([live.log[0]?.held.map(({ effect }) => effect), live.session.status], [[{ id: '1.0', kind: 'exec', target: 'here', command: 'ls', origin: 'model', timeout: 1000 }], 'waiting_approval'])
  })

  it('begins what the operator allows, and the engine hears of what is denied', () => {
    const live = new Live(scripted('$ls $rm', { commands: { isAuto: false, rules: [{ effect: 'allow', command: 'ls' }, { effect: 'deny', command: 'rm *' }] } }))
    assert.deepEqual([live.ids('begun'), live.log[0]?.denied, live.heard], [['1.0'], [{ id: '1.1', by: 'policy', reason: 'denied: rule "rm *"' }], ['1.1 refused']])
  })

  it('holds an allowed one when it comes for the third time', () => {
    const live = new Live(scripted('$ls > $ls > $ls', { commands: { isAuto: true, rules: [] } })).end('1.0').end('2.0')
    assert.deepEqual([live.ids('held'), live.ids('begun')], [['3.0'], []])
  })

  it('begins an edited one in place of what was held', () => {
    const live = new Live(scripted('$ls')).approve('1.0', 'pwd')
    const [open] = live.session.open.values()
    assert.deepEqual([live.ids('begun'), open?.effect.kind === 'exec' && open.effect.command], [['1.0'], 'pwd'])
  })

  it('denies an edited one that the operator denies, though a person approves it', () => {
    const live = new Live(scripted('$ls', { commands: { isAuto: false, rules: [{ effect: 'deny', command: 'rm *' }] } }))
    live.approve('1.0', 'rm -rf .')
    assert.deepEqual([live.heard, live.session.status], [['1.0 refused'], 'waiting_input'])
  })
})

describe('The gate, of what a person has allowed,', () => {
  const about = (host: string): Gate => createGate({ commits: () => undefined, commands: () => undefined, about: () => ({ host }) })
  const allowed = (command?: string) => {
    const live = new Live(scripted('$ls'), about('web'))
    return live.add(decisionOn(live.session, '1.0', { by: 'bob', decision: 'approve', command }, () => ({ host: 'web' })) as Fact, owingGate)
  }

  it('begins it where another replica takes the session, and what an edit made of it', () => {
    for (const command of [undefined, 'pwd']) assert.deepEqual(allowed(command).add({ kind: 'took', repeats: [] }, about('web'), 'b').ids('begun'), ['1.0'])
  })

  it('asks again when it would go to another host by now', () => {
    const live = allowed().add({ kind: 'took', repeats: [] }, about('other'), 'b')
    assert.deepEqual([live.ids('begun'), live.ids('held'), live.log.at(-1)?.held[0]?.about], [[], ['1.0'], { host: 'other' }])
    assert.deepEqual(comparable(fold(live.log)), comparable(live.session))
  })

  it('asks for what the operator asks for by now, and denies what he denies, whatever the session began with', () => {
    const began = { commands: { isAuto: true, rules: [] } }
    const now = (effect: 'ask' | 'deny') => createGate({ commits: () => undefined, commands: () => ({ isAuto: true, rules: [{ effect, command: 'ls' }] }), about: () => ({}) })
    assert.deepEqual(new Live(scripted('$ls', began), now('ask')).ids('held'), ['1.0'])
    assert.deepEqual(new Live(scripted('$ls', began), now('deny')).heard, ['1.0 refused'])
    assert.deepEqual(new Live(scripted('$ls', began), createGate({ commits: () => undefined, commands: () => ({ isAuto: false, rules: [] }), about: () => ({}) })).ids('held'), ['1.0'])
  })

  it('allows no more than the session began with', () => {
    assert.deepEqual(new Live(scripted('$ls'), createGate({ commits: () => undefined, commands: () => ({ isAuto: true, rules: [] }), about: () => ({}) })).ids('held'), ['1.0'])
  })
})

describe('The gate, of changes of files,', () => {
  it('denies every one while the engine may not write', () => {
    assert.deepEqual(new Live(scripted('write delete')).heard, ['1.0 refused', '1.1 refused'])
  })

  it('begins one that deletes nothing, and holds one that does', () => {
    const live = new Live(scripted('apply > write delete'))
    assert.deepEqual([live.ids('begun'), live.ids('held')], [['1.0'], ['1.1']])
  })

  it('begins one that deletes when a person has approved it', () => {
    assert.deepEqual(new Live(scripted('apply > delete')).approve('1.0').ids('begun'), ['1.0'])
  })
})

describe('An approval', () => {
  const held = () => new Live(scripted('asked', { ask: ['asked'] }))

  it('begins what is held', () => {
    const live = held().approve('1.0')
    assert.deepEqual([live.log[1]?.begun.map(({ id }) => id), live.session.status], [['1.0'], 'running'])
  })

  it('that is refused reaches the engine as "refused"', () => {
    const live = held().add({ kind: 'decided', effect: '1.0', by: 'bob', decision: 'reject', reason: 'no' })
    assert.deepEqual([live.heard, live.session.status], [['1.0 refused'], 'waiting_input'])
  })

  it('begins nothing beyond the budget', () => {
    const live = new Live(scripted('a asked', { ask: ['asked'], budget: { steps: 1, tokens: 1, idle: 1 } }))
    assert.deepEqual(live.heard, ['1.1 refused'])
  })
})

describe('An end of an effect', () => {
  it('that has ended already is no news', () => {
    const live = new Live(scripted('a b')).end('1.0').end('1.0')
    assert.deepEqual(live.heard, ['1.0 result'])
  })

  it('that ends the session leaves nothing open', () => {
    const live = new Live(scripted('a > end')).end('1.0')
    assert.deepEqual([live.session.status, live.session.open.size], ['completed', 0])
    assert.equal(live.log[1]?.notices.at(-1)?.type, 'done')
  })
})

it('The engine of the tests is pure enough to be told "took"', () => {
  const { state } = scriptEngine.begin({ ...scripted('a'), setting: {} }, { session: 's', seq: 1, at: 0, effects: 0, notices: 0 })
  assert.deepEqual(scriptEngine.next(state, { kind: 'took', repeats: [] }, { session: 's', seq: 2, at: 0, effects: 0, notices: 0 }), { state, effects: [], notices: [] })
})
