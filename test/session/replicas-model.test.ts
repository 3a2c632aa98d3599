import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { type TestContext } from 'node:test'
import fc from 'fast-check'
import { property } from '../helpers/property.ts'
import { ENDED } from '../../src/session/model.ts'
import { SessionRunner } from '../../src/session/runner.ts'
import { openIn, type Session } from '../../src/session/session.ts'
import { foldLogEntry } from '../../src/session/advance-session.ts'
import { createMemorySessionStore } from '../../src/session/store/memory-session-store.ts'
import { type SessionStore } from '../../src/session/store/session-store.ts'
import { HaltingProcess } from './halting-process.ts'
import { ManualPerformer, type Performed } from './manual-performer.ts'
import { newId, readAll, SILENT } from './runners.ts'
import { scripted, SCRIPTED } from './script-engine.ts'

/** In ms. */
const LEASE = 15_000
const IDLE = 120_000

/** A replica that can be frozen and killed. */
class Replica extends HaltingProcess {
  readonly performer = new ManualPerformer()
  readonly runner: SessionRunner

  constructor (store: SessionStore, onPerform: (each: Performed, session: Session) => void) {
    super(store)
    const { performer } = this
    const perform: ManualPerformer['perform'] = (session, effect, signal) => {
      const outcome = performer.perform(session, effect, signal)
      onPerform(performer.begun.at(-1) as Performed, session as Session)
      return outcome
    }
    this.runner = new SessionRunner({ store: this.store, engines: SCRIPTED, performer: { perform, isRepeatable: effect => performer.isRepeatable(effect) }, log: SILENT, lease: LEASE })
    this.runner.open()
  }
}

/** What was done in the world outside. */
interface Deed { readonly performed: Performed, readonly replica: Replica, readonly by: string | undefined, isOver: boolean }

class World {
  readonly #t: TestContext
  readonly store = createMemorySessionStore({ keep: 60 * 60_000 })
  readonly deeds: Deed[] = []
  readonly replicas: Replica[] = []
  readonly ids: string[] = []
  /** What was found wrong while others ran. */
  readonly faults: string[] = []
  #sent = 0

  constructor (t: TestContext) {
    this.#t = t
    this.#join()
    this.#join()
  }

  #join (): Replica {
    const replica = new Replica(this.store, (performed, session) => this.#note(performed, session, replica))
    this.replicas.push(replica)
    return replica
  }

  #note (performed: Performed, session: Session, replica: Replica): void {
    const { effect, session: id } = performed
    const isAgain = this.deeds.some(deed => deed.performed.session === id && deed.performed.effect.id === effect.id)
    if (isAgain && effect.kind === 'tool' && !effect.tool.startsWith('read')) this.faults.push(`${effect.id} of ${id} was done twice`)
    const by = session.open.get(effect.id)?.by
    this.deeds.push({ performed, replica, by, isOver: false })
    void this.fold(id).then(now => {
      if (now !== undefined && !ENDED.has(now.status) && now.open.get(effect.id)?.by !== by) this.faults.push(`${effect.id} of ${id} was begun by one who had lost it`)
    })
  }

  async flush (ms = 0): Promise<void> {
    for (let count = 0; count < 6; count++) await turn()
    for (let left = ms; left > 0; left -= 1000) {
      this.#t.mock.timers.tick(Math.min(left, 1000))
      for (let count = 0; count < 4; count++) await turn()
    }
  }

  async fold (id: string): Promise<Session | undefined> {
    let session: Session | undefined
    for (const transition of await readAll(this.store, id)) session = foldLogEntry(id, session, transition, SCRIPTED)
    return session
  }

  /** One command, of a kind that a number chooses. */
  async run ({ kind, pick, text, at }: { readonly kind: string, readonly pick: number, readonly text: string, readonly at: number }): Promise<void> {
    const alive = this.replicas.filter(({ state }) => state !== 'dead')
    const replica = alive[at % alive.length] as Replica
    const id = this.ids[pick % Math.max(1, this.ids.length)]
    const ignore = (): void => {}
    switch (kind) {
      case 'start':
        if (this.ids.length < 3) this.#start(replica, text)
        break
      case 'input':
        if (id !== undefined) replica.runner.input(id, { id: `${++this.#sent}`, by: 'ann', text }).catch(ignore)
        break
      case 'decide': {
        const held = id === undefined ? [] : openIn(await this.fold(id) ?? { open: new Map() } as never, 'held')
        if (held[0] !== undefined) replica.runner.decide(id as string, held[0].effect.id, { by: 'bob', decision: pick % 3 === 0 ? 'reject' : 'approve' }).catch(ignore)
        break
      }
      case 'cancel':
        if (id !== undefined && pick === 0) replica.runner.stop(id, 'cancel', '').catch(ignore)
        break
      case 'end': await this.#end(pick); return
      case 'freeze': replica.freeze(); break
      case 'thaw': replica.thaw(); break
      case 'kill':
        replica.kill()
        this.#join()
        break
      default: await this.flush(pick * 2500); return
    }
    await this.flush()
  }

  #start (replica: Replica, text: string): void {
    const id = newId()
    this.ids.push(id)
    void replica.runner.start(id, scripted(text, { ask: ['asked'], budget: { steps: 60, tokens: 1000, idle: IDLE } })).catch(() => {})
  }

  /** An effect ends; what it came to is in the log then, where its replica still drives. */
  async #end (pick: number): Promise<void> {
    const open = this.deeds.filter(({ isOver, replica: { state } }) => !isOver && state !== 'dead')
    const deed = open[pick % Math.max(1, open.length)]
    if (deed === undefined) return
    deed.isOver = true
    deed.performed.end()
    await this.flush()
    if (deed.replica.state !== 'up') return
    const left = (await this.fold(deed.performed.session))?.open.get(deed.performed.effect.id)
    assert.ok(left?.phase !== 'begun' || left.by !== deed.by, `the end of ${deed.performed.effect.id} is lost`)
  }

  /** Lets all end that can, with one replica that lives: nothing may be left but what waits for people. */
  async finish (): Promise<void> {
    for (const replica of this.replicas) if (replica.state === 'frozen') replica.thaw()
    await this.flush()
    for (const replica of this.replicas) replica.kill()
    const last = this.#join()
    for (let round = 0; round < 60; round++) {
      await this.flush(round < 3 ? LEASE : 0)
      for (const deed of this.deeds) if (deed.replica === last && !deed.isOver) await this.#end(this.#openDeeds().indexOf(deed))
      if (round >= 3 && this.#openDeeds().length === 0) break
    }
    for (const id of this.ids) await this.#assertWhole(id)
    await this.flush(IDLE + LEASE)
    for (const id of this.ids) {
      const session = await this.fold(id)
      assert.ok(session === undefined || ENDED.has(session.status), `session ${id} has not expired: ${session?.status}`)
    }
    await last.runner.close()
    assert.deepEqual(this.faults, [])
  }

  #openDeeds (): Deed[] {
    return this.deeds.filter(({ isOver, replica: { state } }) => !isOver && state !== 'dead')
  }

  async #assertWhole (id: string): Promise<void> {
    const log = await readAll(this.store, id)
    assert.deepEqual(log.map(({ seq }) => seq), log.map((_, index) => index + 1))
    const session = await this.fold(id)
    if (session === undefined) return
    assert.deepEqual([...openIn(session, 'owed'), ...openIn(session, 'begun').filter(({ effect }) => effect.kind !== 'wait')], [], `session ${id} is left with something to do`)
    const ends = log.flatMap(({ fact }) => ['result', 'failure', 'unknown'].includes(fact.kind) && 'effect' in fact ? [fact.effect] : [])
    assert.equal(new Set(ends).size, ends.length, 'an effect has ended twice')
  }
}

const words = fc.array(fc.constantFrom('work', 'read', '?ask', 'asked'), { minLength: 1, maxLength: 3 }).map(step => step.join(' '))
const script = fc.array(words, { maxLength: 3 }).map(steps => steps.join(' > '))
const command = fc.record({
  kind: fc.constantFrom('start', 'start', 'input', 'input', 'decide', 'decide', 'cancel', 'end', 'end', 'end', 'freeze', 'thaw', 'kill', 'clock', 'clock'),
  pick: fc.nat(8),
  at: fc.nat(5),
  text: script
})

/** A replica freezes, is taken for gone, and goes on while the other one takes what it had. */
const takenWhileItGoesOn = [['freeze', 0, 1], ['kill', 0, 0], ['start', 0, 1, '?ask asked'], ['freeze', 0, 1], ['decide', 8, 1], ['clock', 8, 0]] as const

property('Sessions of replicas that freeze and die: each number has one writer, nothing is done twice, nothing is forgotten', 100, async (given, t) => {
  t.mock.method(performance, 'now', () => Date.now())
  await given.comesToHold(fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async commands => {
    // A clock of its own for each run: the timers of the dead would go on in the next one.
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_800_000_000_000 })
    try {
      const world = new World(t)
      for (const each of commands) await world.run(each)
      await world.finish()
    } finally {
      t.mock.timers.reset()
    }
  }), { endOnFailure: true, examples: [[takenWhileItGoesOn.map(([kind, pick, at, text = '']) => ({ kind, pick, at, text }))]] })
})
