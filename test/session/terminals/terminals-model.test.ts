import fc from 'fast-check'
import { property } from '../../helpers/property.ts'
import { type Act, ACTS, type Tally, TerminalWorld } from './terminal-world.ts'

/** What happens more often than the rest. */
const MORE: readonly Act['kind'][] = [...Array<'decide'>(8).fill('decide'), ...Array<'end'>(8).fill('end'), ...Array<'type'>(4).fill('type'), 'answer', 'answer', 'clock', 'clock']

const act = fc.record({ kind: fc.constantFrom(...ACTS, ...MORE), pick: fc.nat(11), at: fc.nat(2) })

/** A terminal at one replica, and a skill that either starts in it. */
const beginning = fc.nat(1).map((at): Act[] => [{ kind: 'terminal', pick: 0, at: 0 }, { kind: 'skill', pick: 0, at }])

property('Skills in terminals of two replicas that freeze and die: no command runs twice, none is lost, none waits for ever', 10_000, async (given, t) => {
  // A mock of the test runner keeps each call with its stack.
  Object.defineProperty(performance, 'now', { value: () => Date.now(), configurable: true })
  t.after(() => { Reflect.deleteProperty(performance, 'now') })
  const tally: Tally = new Map()
  await given.comesToHold(fc.asyncProperty(beginning, fc.array(act, { minLength: 4, maxLength: 16 }), fc.nat(3), async (first, acts, ending) => {
    // A clock of its own for each run: the timers of the dead would go on in the next one.
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_800_000_000_000 })
    try {
      const world = new TerminalWorld(t, tally)
      for (const each of [...first, ...acts]) await world.act(each)
      await world.finish(ending === 0)
    } finally {
      t.mock.timers.reset()
    }
  }))
  t.diagnostic(JSON.stringify(Object.fromEntries(tally)))
  given.wasOfUse(tally.get('run in a terminal') ?? 0, 0.3)
})
