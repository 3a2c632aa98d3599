import { ANYONE } from '../../../src/access/caller.ts'
import { type OperatorFile } from '../../../src/config/operator.ts'
import { SKILL, type SkillSetting } from '../../../src/engine/skill/skill-state.ts'
import { skillEngine } from '../../../src/engine/skill/skill-engine.ts'
import { terminalEngine } from '../../../src/engine/terminal-engine.ts'
import { TERMINAL } from '../../../src/engine/terminal-key.ts'
import { USUAL_SIZE } from '../../../src/exec/executor.ts'
import { Terminal } from '../../../src/exec/terminal/terminal.ts'
import { Terminals } from '../../../src/exec/terminal/terminals.ts'
import { policyContextOf } from '../../../src/service/sessions/open-sessions.ts'
import { keepOpen, runCommandsIn } from '../../../src/service/sessions/perform-commands.ts'
import { type Outcome, type Performer, rowOf } from '../../../src/session/effects.ts'
import { startOf, startWith } from '../../../src/session/engine.ts'
import { type Engines } from '../../../src/session/advance-session.ts'
import { type ExecEffect, type ModelEffect } from '../../../src/session/model.ts'
import { SessionRunner } from '../../../src/session/runner.ts'
import { type Session } from '../../../src/session/session.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { answerWith } from '../../engine/dialogue.ts'
import { HaltingProcess } from '../halting-process.ts'
import { newId, SILENT } from '../runners.ts'
import { FakeShell, outputOf } from './fake-shell.ts'

/** How long a replica may be silent, in ms. */
export const LEASE = 3000

/** How long a command waits for an empty line, in ms. */
export const PATIENCE = 10_000

export const OWNER = 'ann'

export const ENGINES: Engines = new Map([[SKILL.name, startOf(skillEngine)], [TERMINAL.name, startOf(terminalEngine)]])

const OPERATOR: OperatorFile = {
  workspaces: new Map(),
  targets: new Map([['web', { type: 'ssh', name: 'web', host: 'web', port: 22, user: 'ann', hostKey: '', hasSkills: false, mayRunUnasked: true, mayOpenTerminal: true }]]),
  rules: []
}

const SETTING: SkillSetting = { name: 'walk', description: '', body: '', protocol: 'text', base: '', baseOfCalls: '', language: 'en', prompt: '', parameters: [], model: '', maxSteps: 100, timeout: 30, terminal: '', target: 'web', autoContinue: true, history: 'full', historyMax: 10 }

/** What hears of all that replicas do in the world outside. */
export interface Witness {
  /** A replica performs a command: it runs, or waits for the line of its terminal. */
  performs (replica: TerminalReplica, session: Session, effect: ExecEffect): void
  /** A command begins to run. @param terminal in which it does */
  runs (session: string, effect: string, terminal: string | undefined): void
  /** Something is wrong. */
  fails (what: string): void
}

/** What a skill of the model does. */
export interface SkillWishes {
  readonly terminal: string | undefined
  /** Whether its commands run unasked. */
  readonly isAuto: boolean
  readonly commands: number
}

/** A replica with terminals, whose shells are in memory. The commands of its skills end when the test says so. */
export class TerminalReplica extends HaltingProcess {
  readonly runner: SessionRunner
  /** Whether it was frozen at some time: until others have told it, it may believe that it still drives what it drove. */
  wasFrozen = false
  /** The shells of its terminals, by the id of the terminal. */
  readonly shells = new Map<string, FakeShell>()
  /** The ends of the commands that run without a terminal. */
  readonly outside = new Set<() => void>()
  readonly #witness: Witness
  readonly #terminals = new Terminals()
  readonly #circumstances = policyContextOf(OPERATOR, this.#terminals)
  readonly #runInTerminal = runCommandsIn(this.#terminals, this.#circumstances.about)
  /** The effects that have asked for commands last, by the command. */
  readonly #asked = new Map<string, readonly [session: string, effect: string]>()

  constructor (store: SessionStore, witness: Witness) {
    super(store)
    this.#witness = witness
    const perform: Performer['perform'] = async (session, effect, signal, publish) => {
      switch (effect.kind) {
        case 'llm': return answer(session, effect)
        case 'shell': return await keepOpen({ session, signal }, this.#terminals, () => this.#open(session.id), async () => {})
        case 'exec': {
          witness.performs(this, session, effect)
          if (effect.terminal === undefined) return await this.#runOutside(session.id, effect, signal)
          this.#asked.set(effect.command, [session.id, effect.id])
          return await this.#runInTerminal({ session, effect, signal, publish, caller: ANYONE, activity: undefined })
        }
        default: return { kind: 'result', result: { files: [] } }
      }
    }
    const isRepeatable: Performer['isRepeatable'] = effect => rowOf(effect).isRepeatable(effect, { isRepeatableTool: () => false })
    this.runner = new SessionRunner({ store: this.store, engines: ENGINES, performer: { perform, isRepeatable }, log: SILENT, lease: LEASE, terminals: this.#terminals, circumstances: this.#circumstances })
    this.runner.open()
  }

  override freeze (): void {
    super.freeze()
    this.wasFrozen = true
  }

  override thaw (): void {
    super.thaw()
    for (const shell of this.shells.values()) shell.wake()
  }

  /** Opens a terminal, as the door does. @returns its id */
  openTerminal (): string {
    const id = newId()
    const opening = this.#terminals.expect(id)
    opening.catch(() => {})
    const start = { ...startWith(TERMINAL, { terminal: { target: 'web', cols: 80, rows: 24, at: '' } }), definition: 'terminals/web', revision: '', input: {}, owner: OWNER, budget: { steps: 1, tokens: 1, idle: 0 }, ask: [] }
    void this.runner.start(id, start).then(() => opening).catch(() => {}).finally(() => { this.#terminals.forget(id) })
    return id
  }

  /** Starts a skill. @returns its id */
  startSkill ({ terminal, isAuto, commands }: SkillWishes): string {
    const id = newId()
    const place = terminal === undefined ? {} : { inTerminal: terminal }
    void this.runner.start(id, {
      ...startWith(SKILL, { skill: { ...SETTING, body: String(commands), ...place } }),
      definition: 'skills/walk',
      revision: '',
      input: {},
      owner: OWNER,
      ...(terminal === undefined ? {} : { terminal }),
      budget: { steps: 1000, tokens: 1000, idle: 24 * 60 * 60_000 },
      ask: [],
      commands: { rules: [], isAuto }
    }).catch(() => {})
    return id
  }

  /** A terminal that this replica holds, while its process runs. */
  terminal (id = ''): Terminal | undefined {
    return this.state === 'up' ? this.#terminals.get(id, OWNER) : undefined
  }

  async #open (id: string): Promise<Terminal> {
    const host = {
      isUp: () => this.state === 'up',
      goesOn: () => this.goesOn(),
      onRun: (command: string) => {
        const [session = '', effect = ''] = this.#asked.get(command) ?? []
        this.#witness.runs(session, effect, id)
      },
      onMixed: (line: string) => { this.#witness.fails(`the line ${JSON.stringify(line)} was read`) }
    }
    return await Terminal.open({
      name: 'web',
      size: USUAL_SIZE,
      patience: PATIENCE,
      onIdle: () => { void this.runner.stop(id, 'expiry', 'nobody has used it').catch(() => {}) },
      open: async options => {
        const shell = new FakeShell(options, host)
        this.shells.set(id, shell)
        return shell
      }
    })
  }

  async #runOutside (session: string, { id, command }: ExecEffect, signal: AbortSignal): Promise<Outcome> {
    this.#witness.runs(session, id, undefined)
    return await new Promise(resolve => {
      const end = (outcome: 'exited' | 'cancelled'): void => {
        this.outside.delete(exit)
        resolve({ kind: 'result', result: { outcome, exitCode: outcome === 'exited' ? 0 : null, stdout: `${outputOf(command)}\n`, stderr: '', cwd: '/home', durationMs: 0, command } })
      }
      const exit = (): void => { end('exited') }
      this.outside.add(exit)
      signal.addEventListener('abort', () => { end('cancelled') })
    })
  }
}

/** The model asks for its commands one after the other; each is another one. */
function answer ({ id, start }: Session, { messages }: ModelEffect): Outcome {
  const { skill } = start.setting as unknown as { readonly skill: SkillSetting }
  const asked = messages.filter(({ role, content }) => role === 'assistant' && String(content).startsWith('[CMD]')).length
  const content = asked < Number(skill.body) ? `[CMD] ${id.slice(0, 8)}-${asked + 1}` : '[DONE] Done.'
  return { kind: 'result', result: answerWith({ content }) }
}
