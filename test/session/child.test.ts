import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { advance, type Advanced, begin, foldLogEntry } from '../../src/session/advance-session.ts'
import { gate } from '../../src/session/gate.ts'
import { type Fact, type Spent, type Start, type LogEntry } from '../../src/session/model.ts'
import { childId, headOf, MAX_DEPTH, owedNow, reservedIn, type Session } from '../../src/session/session.ts'
import { property } from '../helpers/property.ts'
import { scripted, SCRIPTED, scriptEngine } from './script-engine.ts'
import { startOf } from '../../src/session/engine.ts'

const ID = 'a'.repeat(32)

/** A session that is driven by facts. */
class Driven {
  readonly log: LogEntry[] = []
  session: Session

  constructor (script: string, wishes: Partial<Start> = {}) {
    this.session = this.#keep(begin(ID, scripted(script, wishes), startOf(scriptEngine), gate, this.#stamp(1)))
  }

  take (fact: Fact): this {
    this.session = this.#keep(advance(this.session, fact, gate, this.#stamp(this.session.seq + 1)))
    return this
  }

  /** Ends a child. */
  end (effect: string, spent: Spent): this {
    return this.take({ kind: 'result', effect, result: null, spent })
  }

  get begun (): string[] {
    return this.log.flatMap(({ begun }) => begun.map(({ id }) => id))
  }

  get denied (): string[] {
    return this.log.flatMap(({ denied }) => denied.map(({ reason }) => reason))
  }

  fold (): Session {
    return this.log.reduce<Session | undefined>((session, transition) => foldLogEntry(ID, session, transition, SCRIPTED), undefined) as Session
  }

  #stamp (seq: number) {
    return { at: seq, token: `t${seq}`, by: 'r' }
  }

  #keep ({ session, transition }: Advanced): Session {
    this.log.push(transition)
    return session
  }
}

const budget = (steps: number, tokens = 1_000_000) => ({ budget: { steps, tokens, idle: 1000 } })

const below = (depth: number): Partial<Start> => {
  const line = Array.from({ length: depth }, (_, index) => ({ session: String(index).repeat(32), definition: 'agents/script' }))
  return depth === 0 ? {} : { parent: { session: line.at(-1)?.session ?? '', effect: '1.0', root: line[0]?.session ?? '', depth, line } }
}

describe('A session that another one starts', () => {
  it('has an id that follows from the session and the effect', () => {
    assert.equal(childId(ID, '4.1'), childId(ID, '4.1'))
    assert.notEqual(childId(ID, '4.1'), childId(ID, '4.11'))
    assert.match(childId(ID, '4.1'), /^[0-9a-f]{32}$/)
  })

  it('leaves the one above running, which names it in its head', () => {
    const { session } = new Driven('@work > end')
    assert.equal(session.status, 'running')
    assert.deepEqual(headOf(session, undefined).children, [childId(ID, '1.0')])
  })

  it('is told of when it begins and when it ends', () => {
    const driven = new Driven('@work > end').end('1.0', { steps: 1, tokens: 1 })
    const told = driven.log.flatMap(({ notices }) => notices).filter(({ type }) => type === 'child').map(({ data }) => [data['session'], data['status']])
    assert.deepEqual(told, [[childId(ID, '1.0'), 'running'], [childId(ID, '1.0'), 'completed']])
  })

  it('has half of what is left set aside, where its call says nothing', () => {
    const driven = new Driven('@a @b', budget(21, 1000))
    assert.deepEqual([...driven.session.open.values()].map(({ reserved }) => reserved), [{ steps: 10, tokens: 500 }, { steps: 4, tokens: 250 }])
  })

  it('has no more than 50 steps and 200,000 tokens set aside, where its call says nothing', () => {
    assert.deepEqual(reservedIn(new Driven('@a', budget(1000)).session), { steps: 50, tokens: 200_000 })
  })

  it('has a budget that is written set aside as a whole', () => {
    assert.deepEqual(reservedIn(new Driven('@20/700:a', budget(21, 700)).session), { steps: 20, tokens: 700 })
  })

  for (const [title, script] of [['steps', '@21/10:a'], ['tokens', '@20/701:a']] as const) {
    it(`is refused where its budget is written and too few ${title} are left`, () => {
      const driven = new Driven(script, budget(21, 700))
      assert.deepEqual([driven.begun.length, driven.denied], [1, ['too little of the budget is left: 20 steps and 700 tokens']])
    })
  }

  it('gives back what it has not used, and its use counts as that of the one above', () => {
    const { session } = new Driven('@a > ?m', budget(30, 1000)).end('1.0', { steps: 7, tokens: 90 })
    assert.deepEqual([reservedIn(session), session.used.steps, session.used.tokens], [{ steps: 0, tokens: 0 }, 1 + 7 + 1, 90])
  })

  it('counts once, though its end comes twice', () => {
    const driven = new Driven('@a @b', budget(100)).end('1.0', { steps: 5, tokens: 5 }).end('1.0', { steps: 5, tokens: 5 })
    assert.equal(driven.session.used.tokens, 5)
  })

  it('takes from what the calls beside it may use', () => {
    const driven = new Driven('@8/10:a work work', budget(10))
    assert.equal(driven.begun.length, 2)
    assert.deepEqual(driven.denied, ['the session has made its 10 calls'])
  })

  it('waits until one of four others has ended', () => {
    const driven = new Driven('@a @b @c @d @e @f', budget(1000))
    assert.deepEqual([driven.begun, owedNow(driven.session)], [['1.0', '1.1', '1.2', '1.3'], []])
    driven.end('1.2', { steps: 1, tokens: 1 })
    assert.deepEqual(driven.begun, ['1.0', '1.1', '1.2', '1.3', '1.4'])
  })

  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    it(`${depth < MAX_DEPTH ? 'begins' : 'is refused'} below ${depth} others`, () => {
      const driven = new Driven('@a', { ...budget(1000), ...below(depth) })
      assert.equal(driven.begun.includes('1.0'), depth < MAX_DEPTH)
    })
  }

  it('waits for a person where its definition is asked for', () => {
    const { session } = new Driven('@a', { ...budget(100), ask: ['agents/script'] })
    assert.deepEqual([session.status, session.open.get('1.0')?.question?.rule], ['waiting_approval', 'calls of agents/script are approved one by one'])
  })

  it('is begun again by the next replica with what was set aside, whatever is left', () => {
    const driven = new Driven('@a', budget(10)).take({ kind: 'took', repeats: ['1.0'] }).take({ kind: 'took', repeats: ['1.0'] })
    assert.equal(driven.session.open.get('1.0')?.phase, 'begun')
    assert.deepEqual(driven.session.open.get('1.0')?.reserved, { steps: 4, tokens: 200_000 })
  })

  const written = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 4000 })).map(([steps, tokens]) => `@${steps}/${tokens}:a`)
  const calls = fc.array(fc.oneof(fc.constant('@a'), fc.constant('work'), written), { minLength: 1, maxLength: 8 })

  property('never uses, with all beside and below it, more than the one above has', 500, given => {
    given.holds(fc.property(fc.integer({ min: 2, max: 60 }), calls, fc.array(fc.nat({ max: 1000 }), { maxLength: 20 }), (steps, words, order) => {
      const driven = new Driven(words.join(' '), budget(steps, 5000))
      for (const choice of order) {
        const open = [...driven.session.open.values()].filter(({ phase, effect }) => phase === 'begun' && effect.kind !== 'wait')
        const { used, start } = driven.session
        const held = reservedIn(driven.session)
        assert.ok(used.steps + held.steps <= start.budget.steps && used.tokens + held.tokens <= start.budget.tokens)
        assert.ok(open.filter(({ effect }) => effect.kind === 'child').length <= 4)
        const ending = open[choice % Math.max(1, open.length)]
        if (ending === undefined) break
        // A child uses at most what was set aside for it.
        const { reserved = { steps: 0, tokens: 0 } } = ending
        driven.end(ending.effect.id, { steps: Math.min(choice, reserved.steps), tokens: Math.min(choice, reserved.tokens) })
      }
      assert.deepEqual({ ...driven.fold(), engine: null }, { ...driven.session, engine: null })
    }))
  })

  const scripts = fc.array(fc.oneof(calls.map(words => words.join(' ')), fc.constant('?m')), { minLength: 1, maxLength: 4 })

  property('has a tree below it that stays within depth and budget, whatever all of them want', 200, given => {
    given.holds(fc.property(fc.integer({ min: 2, max: 300 }), fc.array(scripts, { minLength: 1, maxLength: 5 }), (steps, wanted) => {
      let deepest = 0
      /** Runs a session to its end, and all that it starts; gives what it has used. */
      function run (depth: number, own: Start['budget']): Spent {
        deepest = Math.max(deepest, depth)
        const driven = new Driven((wanted[depth % wanted.length] as string[]).join(' > '), { budget: own, ...below(depth) })
        for (let open = running(driven); open !== undefined; open = running(driven)) {
          const { effect, reserved } = open
          if (reserved === undefined) driven.take({ kind: 'result', effect: effect.id, result: null, usage: { input: 1, output: 1 } })
          else driven.end(effect.id, run(depth + 1, { ...reserved, idle: 1000 }))
        }
        const { used } = driven.session
        assert.ok(used.steps <= own.steps, `${used.steps} of ${own.steps} steps at depth ${depth}`)
        return used
      }
      run(0, { steps, tokens: 5000, idle: 1000 })
      assert.ok(deepest <= MAX_DEPTH)
    }))
  })
})

/** The first effect that has begun and has no end. */
function running ({ session }: Driven) {
  return [...session.open.values()].find(({ phase, effect }) => phase === 'begun' && effect.kind !== 'wait')
}
