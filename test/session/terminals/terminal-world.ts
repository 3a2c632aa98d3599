import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { type TestContext } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { type SkillState } from '../../../src/engine/skill/skill-state.ts'
import { foldLogEntry } from '../../../src/session/advance-session.ts'
import { ENDED, type ExecEffect, type LogEntry } from '../../../src/session/model.ts'
import { openIn, owedNow, type Session } from '../../../src/session/session.ts'
import { createMemorySessionStore } from '../../../src/session/store/memory-session-store.ts'
import { outputOf } from './fake-shell.ts'
import { ENGINES, LEASE, TerminalReplica, type Witness } from './terminal-replica.ts'

/** What happens. `pick` chooses what it happens to, `at` the replica. */
export interface Act {
  readonly kind: typeof ACTS[number]
  readonly pick: number
  readonly at: number
}

export const ACTS = ['terminal', 'skill', 'decide', 'type', 'end', 'answer', 'cancel', 'close', 'lose', 'freeze', 'thaw', 'kill', 'clock'] as const

const KEYS = ['half', 'half', '\r', '\r', '\x03', '\x03', 'sleep\r', 'sleep\rahead\rhalf', '\x03cd /other\r', '\x03cd /home\r', 'ls\r', 'exit\r'] as const

const ANSWERS = ['again', 'again', 'skip', 'without', 'it said nothing'] as const

/** After so long without a process that freezes or dies, nothing may be owed to anybody, in ms: two leases, and the longest time between two looks. */
const CALM = 2 * LEASE + 5000

/** A clock's step, in ms. */
const STEP = 2000

/** How often something has happened to commands, in all worlds. */
export type Tally = Map<string, number>

/** A log as far as it was read, and what follows from it. */
interface Known { readonly session: Session, readonly log: readonly LogEntry[] }

/** What an act is about. */
interface Scene {
  readonly replica: TerminalReplica
  readonly pick: number
  readonly skill: string | undefined
  readonly terminal: string | undefined
}

/** Two replicas over one store, with people who type, decide and cancel, and with processes that freeze and die. */
export class TerminalWorld implements Witness {
  readonly #t: TestContext
  readonly #tally: Tally
  readonly #store = createMemorySessionStore({ keep: 24 * 60 * 60_000 })
  readonly #replicas: TerminalReplica[] = []
  readonly #terminals: string[] = []
  readonly #skills: string[] = []
  readonly #known = new Map<string, Known>()
  /** The commands that were performed, by session and effect, and how often each of them has run. */
  readonly #performed = new Map<string, { readonly effect: ExecEffect, runs: number }>()
  readonly #faults: string[] = []
  #sent = 0
  /** How long no process has frozen or died, in ms. */
  #calm = 0

  constructor (t: TestContext, tally: Tally) {
    this.#t = t
    this.#tally = tally
    this.#join()
    this.#join()
  }

  performs (replica: TerminalReplica, session: Session, effect: ExecEffect): void {
    const key = `${session.id}:${effect.id}`
    if (this.#performed.has(key)) this.fails(`${key} is performed again`)
    this.#performed.set(key, { effect, runs: 0 })
    const by = session.open.get(effect.id)?.by
    void this.#fold(session.id).then(now => {
      if (now !== undefined && !ENDED.has(now.session.status) && now.session.open.get(effect.id)?.by !== by) this.fails(`${key} is performed by one who has lost it`)
    })
    if (effect.terminal !== undefined && replica.terminal(effect.terminal) === undefined) void this.#lookElsewhere(key, effect.terminal)
  }

  runs (session: string, effect: string, terminal: string | undefined): void {
    const performed = this.#performed.get(`${session}:${effect}`)
    if (performed === undefined) return this.fails(`a command that nobody has asked for runs in ${String(terminal)}`)
    if (performed.effect.terminal !== terminal) this.fails(`${session}:${effect} runs in ${String(terminal)}`)
    if (++performed.runs > 1) this.fails(`${session}:${effect} runs twice`)
    this.#count(terminal === undefined ? 'run without a terminal' : 'run in a terminal')
  }

  fails (what: string): void {
    this.#faults.push(what)
  }

  /** Does one act, and checks what has to hold at any time. */
  async act ({ kind, pick, at }: Act): Promise<void> {
    const alive = this.#alive
    const [skill, terminal] = [this.#skills, this.#terminals].map(ids => ids[pick % Math.max(1, ids.length)])
    await this.#acts[kind]({ replica: alive[at % alive.length] as TerminalReplica, pick, skill, terminal })
    await this.#settle()
    await this.#assertAllIsWell()
  }

  readonly #acts: Readonly<Record<Act['kind'], (scene: Scene) => Promise<void> | void>> = {
    terminal: ({ replica }) => { if (this.#terminals.length < 2) this.#terminals.push(replica.openTerminal()) },
    skill: async ({ replica, pick, terminal }) => { if (this.#skills.length < 3) await this.#start(replica, pick, terminal) },
    decide: async ({ replica, pick, skill }) => { await this.#decide(replica, skill, pick % 4 === 3 ? 'reject' : 'approve') },
    type: ({ pick, terminal }) => { this.#holderOf(terminal)?.terminal(terminal)?.keys(KEYS[pick % KEYS.length] as string) },
    end: ({ pick }) => { this.#end(pick) },
    answer: async ({ replica, pick, skill }) => { await this.#answer(replica, skill, ANSWERS[pick % ANSWERS.length] as string) },
    cancel: ({ replica, pick, skill }) => { if (pick < 3) this.#stop(replica, skill) },
    close: ({ replica, pick, terminal }) => { if (pick < 3) this.#stop(replica, terminal) },
    lose: ({ pick, terminal }) => { if (pick < 3) this.#holderOf(terminal)?.shells.get(terminal ?? '')?.lose() },
    freeze: ({ replica }) => {
      replica.freeze()
      this.#calm = 0
    },
    thaw: ({ replica }) => { replica.thaw() },
    kill: ({ replica }) => { this.#kill(replica) },
    clock: async ({ pick }) => { await this.#tick(pick % 4 * STEP) }
  }

  /** Lets all end that can; nothing may be left. @param isFresh whether all processes die before that, and others begin */
  async finish (isFresh: boolean): Promise<void> {
    for (const replica of this.#replicas) replica.thaw()
    if (isFresh) for (const replica of this.#alive) this.#kill(replica)
    await this.#tick(CALM + STEP)
    await this.#assertAllIsWell()
    for (let round = 0; round < 20 && !await this.#areOver(this.#skills); round++) await this.#goOn(this.#alive[round % this.#alive.length] as TerminalReplica)
    for (const skill of this.#skills) await this.#assertAccounted(skill)
    for (const terminal of this.#terminals) this.#stop(this.#alive[0] as TerminalReplica, terminal)
    await this.#settle()
    assert.ok(await this.#areOver(this.#terminals), 'a terminal has not ended')
    await this.#assertAllIsWell()
  }

  /** Ends all that runs, allows all that waits, and answers all that is asked. */
  async #goOn (replica: TerminalReplica): Promise<void> {
    for (const { shells, outside } of this.#alive) {
      for (const shell of shells.values()) shell.finish(0)
      for (const end of outside) end()
    }
    for (const id of this.#terminals) {
      const terminal = this.#holderOf(id)?.terminal(id)
      if (terminal?.state === 'typing') terminal.keys('\x03')
    }
    for (const skill of this.#skills) {
      await this.#decide(replica, skill, 'approve')
      await this.#answer(replica, skill, 'skip')
    }
    await this.#tick(STEP)
  }

  get #alive (): TerminalReplica[] {
    return this.#replicas.filter(({ state }) => state !== 'dead')
  }

  /** The process that holds a terminal, unless it is frozen or dead. */
  #holderOf (terminal = ''): TerminalReplica | undefined {
    return this.#replicas.find(replica => replica.terminal(terminal) !== undefined)
  }

  #stop (replica: TerminalReplica, id: string | undefined): void {
    if (id !== undefined) replica.runner.stop(id, 'cancel', '').catch(() => {})
  }

  #join (): void {
    this.#replicas.push(new TerminalReplica(this.#store, this))
  }

  #kill (replica: TerminalReplica): void {
    replica.kill()
    this.#calm = 0
    this.#join()
  }

  /** Looks whether a command was performed by a process that does not hold its terminal, while another one does. */
  async #lookElsewhere (key: string, terminal: string): Promise<void> {
    const known = await this.#fold(terminal)
    const isHeld = this.#replicas.some(replica => !replica.wasFrozen && replica.terminal(terminal) !== undefined)
    if (isHeld && known !== undefined && !ENDED.has(known.session.status)) this.fails(`${key} is performed by one that does not hold its terminal`)
  }

  /** Starts a skill, in a terminal or without one. As at the door, the terminal is one that there has been. */
  async #start (replica: TerminalReplica, pick: number, terminal: string | undefined): Promise<void> {
    const place = terminal === undefined || pick % 4 === 3 || await this.#fold(terminal) === undefined ? undefined : terminal
    this.#skills.push(replica.startSkill({ terminal: place, isAuto: pick % 3 === 2, commands: 1 + pick % 2 }))
  }

  async #decide (replica: TerminalReplica, skill: string | undefined, decision: 'approve' | 'reject'): Promise<void> {
    const known = skill === undefined ? undefined : await this.#fold(skill)
    const [held] = known === undefined ? [] : openIn(known.session, 'held')
    if (skill !== undefined && held !== undefined) replica.runner.decide(skill, held.effect.id, { by: 'bob', decision }).catch(() => {})
  }

  async #answer (replica: TerminalReplica, skill: string | undefined, text: string): Promise<void> {
    const known = skill === undefined ? undefined : await this.#fold(skill)
    if (skill !== undefined && known?.session.status === 'waiting_input') replica.runner.input(skill, { id: `${++this.#sent}`, by: 'ann', text }).catch(() => {})
  }

  /** Ends something that runs. */
  #end (pick: number): void {
    const up = this.#replicas.filter(({ state }) => state === 'up')
    const ends = up.flatMap(({ shells, outside }) => [...[...shells.values()].map(shell => () => shell.finish(pick % 2)), ...outside])
    ends[pick % Math.max(1, ends.length)]?.()
  }

  async #tick (ms: number): Promise<void> {
    // What was asked for before happens before the clock goes on.
    await turn()
    for (let left = ms; left > 0; left -= STEP) {
      this.#t.mock.timers.tick(STEP)
      await this.#settle()
      this.#calm = this.#replicas.some(({ state }) => state === 'frozen') ? 0 : this.#calm + STEP
    }
  }

  /** Lets everything happen that needs no time. */
  async #settle (): Promise<void> {
    for (let count = 0; count < 2; count++) await turn()
  }

  async #fold (id: string): Promise<Known | undefined> {
    let known = this.#known.get(id)
    for await (const entries of this.#store.read(id, known?.session.seq ?? 0)) {
      for (const { text } of entries) {
        const transition = JSON.parse(text) as LogEntry
        known = { session: foldLogEntry(id, known?.session, transition, ENGINES), log: [...known?.log ?? [], transition] }
      }
    }
    if (known !== undefined) this.#known.set(id, known)
    return known
  }

  async #areOver (ids: readonly string[]): Promise<boolean> {
    const all = await Promise.all(ids.map(id => this.#fold(id)))
    return all.every(known => known === undefined || ENDED.has(known.session.status))
  }

  async #assertAllIsWell (): Promise<void> {
    assert.deepEqual(this.#faults, [])
    for (const id of this.#skills) {
      const known = await this.#fold(id)
      if (known === undefined) continue
      const { session, session: { start: { terminal = '' } } } = known
      const isHeld = this.#holderOf(terminal)?.wasFrozen === false
      if (isHeld || this.#calm >= CALM) assert.deepEqual(owedNow(session), [], `${id} is owed something, ${isHeld ? 'and its terminal is held' : 'and all is calm'}`)
    }
    if (this.#calm < CALM) return
    for (const id of this.#terminals) {
      const known = await this.#fold(id)
      if (known === undefined || !ENDED.has(known.session.status)) continue
      const left = this.#replicas.filter(({ state, shells }) => state === 'up' && shells.get(id)?.isOver === false)
      assert.deepEqual(left.length, 0, `the shell of ${id} is left`)
    }
  }

  /** Checks that a skill has ended, and that its log tells of each of its commands what came of it. */
  async #assertAccounted (id: string): Promise<void> {
    const known = await this.#fold(id)
    if (known === undefined) return
    const { session, log } = known
    assert.ok(session.status === 'completed' || session.status === 'cancelled', `${id} is ${session.status}: ${JSON.stringify((session.engine.state as SkillState).text)}`)
    const doubts = new Map<string, number>()
    for (const { fact, notices } of log) {
      const performed = 'effect' in fact ? this.#performed.get(`${id}:${fact.effect}`) : undefined
      if (performed === undefined) continue
      const { effect: { command }, runs } = performed
      switch (fact.kind) {
        case 'result': {
          const { outcome, stdout } = fact.result as JsonObject
          this.#count(String(outcome))
          if (outcome === 'exited') assert.deepEqual([runs, stdout], [1, `${outputOf(command)}\n`], command)
          break
        }
        case 'failure':
          this.#count(fact.code)
          assert.deepEqual([runs, ['TERMINAL_BUSY', 'TERMINAL_GONE', 'TERMINAL_MOVED'].includes(fact.code)], [0, true], `${command} failed with ${fact.code}, and has run ${runs} times`)
          break
        case 'unknown':
          this.#count('unknown')
          doubts.set(command, (doubts.get(command) ?? 0) + 1)
          assert.ok(session.status === 'cancelled' || notices.some(({ type }) => type === 'ask'), `nobody is asked about ${command}`)
      }
    }
    for (const { effect: { command } } of this.#performed.values()) {
      if (!command.startsWith(id.slice(0, 8))) continue
      const runs = [...this.#performed.values()].filter(each => each.effect.command === command).reduce((sum, each) => sum + each.runs, 0)
      assert.ok(runs <= 1 + (doubts.get(command) ?? 0), `${command} has run ${runs} times`)
    }
  }

  #count (what: string): void {
    this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1)
  }
}
