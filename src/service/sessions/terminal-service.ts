import type { Caller } from '../../access/caller.ts'
import { operatorFor, unknownTarget } from '../../access/rights.ts'
import {
  roleMissing, ServiceError, terminalElsewhere, terminalFailed, terminalGone, terminalNotFound, terminalUnsupported, tooManyTerminals
} from '../../base/errors.ts'
import type { OperatorFile, Target } from '../../config/operator.ts'
import { TERMINAL } from '../../engine/terminal-key.ts'
import { ExecutorError, type Size } from '../../exec/executor.ts'
import type { TerminalReader, TerminalState } from '../../exec/terminal/terminal-state.ts'
import type { Terminal } from '../../exec/terminal/terminal.ts'
import { MAX_TERMINALS, type Terminals } from '../../exec/terminal/terminals.ts'
import { KeyedMutex } from '../../runtime/concurrency.ts'
import { isOf, resultOf, startWith } from '../../session/engine.ts'
import { ENDED, type StopCause } from '../../session/model.ts'
import type { Session } from '../../session/session.ts'
import { isSessionId } from './session-rights.ts'
import { isRequestedKind } from './session-kind.ts'
import type { SessionService } from './session-service.ts'

/** Open terminals of one caller, in all processes of the service. */
const MAX_OF_CALLER = 4

const LOOKED = 200

const TERMINALS = { engines: [TERMINAL] }

export interface TerminalRow {
  readonly terminalId: string
  readonly target: string
  /** Left out when another process has the terminal open. */
  readonly state?: TerminalState
  /** The address of the other process that has the terminal open, if its operator has set one. */
  readonly at?: string
  /** In ms since 1970. */
  readonly createdAt: number
}

export type OpenTerminal = Awaited<ReturnType<TerminalService['attach']>>

/** Only the token that has opened a terminal can use it; admins cannot. */
export class TerminalService {
  readonly #sessions: SessionService
  readonly #terminals: Terminals
  readonly #operator: OperatorFile
  readonly #at: string
  readonly #whyNoPtys: () => Promise<string | undefined>
  readonly #ofCaller = new KeyedMutex()

  /** @param at under which clients reach this process; empty if the operator has set none */
  constructor (sessions: SessionService, terminals: Terminals, operator: OperatorFile, at: string, whyNoPtys: () => Promise<string | undefined>) {
    this.#sessions = sessions
    this.#terminals = terminals
    this.#operator = operator
    this.#at = at
    this.#whyNoPtys = whyNoPtys
  }

  /**
   * Opens a terminal, and waits until its shell shows a prompt.
   * @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TOO_MANY_TERMINALS, TERMINAL_FAILED, TOO_MANY_SESSIONS,
   * SESSIONS_UNAVAILABLE
   */
  async open (caller: Caller, name: string, { cols, rows }: Size): Promise<TerminalRow> {
    const target = targetForTerminal(this.#operator, caller, name)
    const noPtys = target.type === 'local' ? await this.#whyNoPtys() : undefined
    if (noPtys !== undefined) throw terminalUnsupported(name, noPtys)
    return await this.#ofCaller.run(caller.name, async () => {
      if ((await this.#runningOf(caller)).length >= MAX_OF_CALLER) throw tooManyTerminals(MAX_OF_CALLER, 'caller')
      if (this.#terminals.size >= MAX_TERMINALS) throw tooManyTerminals(MAX_TERMINALS, 'process')
      let opening: Promise<Terminal> | undefined
      let id = ''
      try {
        const session = await this.#sessions.create(caller, made => {
          id = made
          opening = this.#terminals.expect(made)
          // If the session fails to start, nobody waits for `opening`, and its unhandled rejection would end the process.
          opening.catch(() => {})
          return {
            ...startWith(TERMINAL, { terminal: { target: name, cols, rows, at: this.#at } }),
            definition: `terminals/${name}`,
            revision: '',
            input: {},
            budget: { steps: 1, tokens: 1, idle: 0 },
            ask: []
          }
        })
        const terminal = await opening as Terminal
        return { terminalId: session.id, target: name, state: terminal.state, createdAt: session.createdAt }
      } catch (error) {
        throw error instanceof ServiceError ? error : terminalFailed(name, error instanceof ExecutorError ? error.message : 'something went wrong')
      } finally {
        this.#terminals.forget(id)
      }
    })
  }

  /** Over all processes. @throws ROLE_MISSING, SESSIONS_UNAVAILABLE */
  async list (caller: Caller): Promise<readonly TerminalRow[]> {
    requireTerminalRole(caller)
    return (await this.#runningOf(caller)).map(session => this.#rowOf(session))
  }

  /**
   * `keys` and `resize` check the rights of `who`: without them the terminal takes nothing, and ends at the next look at its owner's.
   * @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TERMINAL_NOT_FOUND, TERMINAL_GONE, TERMINAL_ELSEWHERE
   */
  async attach (who: () => Caller, id: string, reader: TerminalReader) {
    const { terminal, target } = await this.find(who(), id)
    const check = (): void => { targetForTerminal(this.#operator, who(), target) }
    return {
      id,
      target,
      /** Another client that was attached before is told so, and gets nothing more. */
      take (): void { terminal.attach(reader) },
      /** The terminal stays open. */
      leave (): void { terminal.detach(reader) },
      keys (text: string): void {
        check()
        terminal.keys(text)
      },
      resize (size: Size): void {
        check()
        terminal.resize(size)
      },
      end: (reason: string): Promise<void> => this.stop(id, reason)
    }
  }

  /** @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TERMINAL_NOT_FOUND, TERMINAL_GONE, TERMINAL_ELSEWHERE */
  async find (caller: Caller, id: string): Promise<{ readonly terminal: Terminal, readonly target: string }> {
    const session = await this.#own(caller, id)
    const { target, at, reason } = resultOf(session, TERMINAL)
    targetForTerminal(this.#operator, caller, target)
    const terminal = this.#terminals.get(id, caller.name)
    if (ENDED.has(session.status) || terminal?.state === 'closed') throw terminalGone(id, reason)
    if (terminal === undefined) throw terminalElsewhere(id, at)
    return { terminal, target }
  }

  /** In any process. @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TERMINAL_NOT_FOUND, TERMINAL_GONE */
  async targetOf (caller: Caller, id: string): Promise<string | undefined> {
    if (!isSessionId(id)) return undefined
    const session = await this.#own(caller, id)
    if (ENDED.has(session.status)) throw terminalGone(id, resultOf(session, TERMINAL).reason)
    return targetForTerminal(this.#operator, caller, resultOf(session, TERMINAL).target).name
  }

  /** `told`, else the last output of the terminal `place` if this process has it. @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED */
  outputOf (caller: Caller, place: string, told: string): string {
    const terminal = told === '' ? this.#terminals.get(place, caller.name) : undefined
    if (terminal === undefined) return told
    targetForTerminal(this.#operator, caller, terminal.target)
    return terminal.lastOutput
  }

  /** @throws ROLE_MISSING, TERMINAL_NOT_FOUND */
  async end (caller: Caller, id: string): Promise<TerminalRow> {
    const session = await this.#own(caller, id)
    await this.stop(id, `ended by ${caller.name === '' ? 'its user' : caller.name}`)
    return { terminalId: id, target: resultOf(session, TERMINAL).target, state: 'closed', createdAt: session.createdAt }
  }

  async expire (id: string): Promise<void> {
    await this.stop(id, 'nobody has used it', 'expiry')
  }

  /** The shell ends with the session, also if another process has the terminal open. */
  async stop (id: string, reason: string, by: StopCause = 'cancel'): Promise<void> {
    this.#terminals.endsFor(id, reason)
    await this.#sessions.use(({ runner }) => runner.stop(id, by, reason))
  }

  #rowOf (session: Session): TerminalRow {
    const { target, at } = resultOf(session, TERMINAL)
    const state = this.#terminals.get(session.id, session.start.owner)?.state
    const place = state === undefined ? at === '' ? {} : { at } : { state }
    return { terminalId: session.id, target, ...place, createdAt: session.createdAt }
  }

  async #runningOf ({ name: owner }: Caller): Promise<readonly Session[]> {
    return await this.#sessions.use(async ({ store, engines, runner }) => {
      const { heads } = await store.list({ owner, statuses: ['running'], limit: LOOKED })
      const sessions = await Promise.all(heads.filter(({ engine }) => isOf(engine, TERMINAL) && engines.has(engine)).map(({ id }) => runner.load(id)))
      return sessions.flatMap(session => session === undefined || ENDED.has(session.status) ? [] : [session])
    })
  }

  /** Open or ended. @throws ROLE_MISSING, TERMINAL_NOT_FOUND */
  async #own (caller: Caller, id: string): Promise<Session> {
    requireTerminalRole(caller)
    const session = isSessionId(id) ? await this.#sessions.use(({ runner }) => runner.load(id)) : undefined
    if (session === undefined || session.start.owner !== caller.name || !isRequestedKind(session, TERMINALS)) throw terminalNotFound(id)
    return session
  }
}

/** `admin` does not include the role `terminal`. @throws ROLE_MISSING */
function requireTerminalRole ({ name, roles }: Caller): void {
  if (!roles.has('terminal')) throw roleMissing(name, 'terminal', [...roles])
}

/** @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED */
function targetForTerminal (operator: OperatorFile, caller: Caller, name: string): Target {
  requireTerminalRole(caller)
  const offered = operatorFor(operator, caller)
  const target = offered.targets.get(name)
  if (target === undefined) throw unknownTarget(offered, name)
  if (target.mayOpenTerminal !== true) throw terminalUnsupported(name, 'the operator\'s file does not say terminal: true of it')
  return target
}
