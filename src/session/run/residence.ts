import { ENDED } from '../model.ts'
import { type Session } from '../session.ts'
import { type SessionStore } from '../session-store.ts'

/** The process that has to drive a session (perform its effects): this process, a certain other one, or any process. */
export type Place = 'here' | 'elsewhere' | 'anywhere'

/** The terminals (shells that people type into) that this process holds, by the id of the terminal's session. */
export interface HeldTerminals {
  has (terminal: string): boolean
}

export const NO_TERMINALS: HeldTerminals = { has: () => false }

/** The type of the live message by which a process tells the holder of a terminal that a session was started in that terminal. */
export const IN_TERMINAL = 'terminal.session'

/**
 * Decides which process has to drive a session (perform its effects). When the session's commands run in a terminal (a shell that a person types
 * into), that is the process that holds the terminal.
 */
export class Residence {
  readonly #store: Pick<SessionStore, 'head'>
  readonly #held: HeldTerminals

  constructor (store: Pick<SessionStore, 'head'>, held: HeldTerminals) {
    this.#store = store
    this.#held = held
  }

  /** Whether a session has not ended, and its commands run in a terminal of this process. */
  isHere ({ start: { terminal }, status }: Pick<Session, 'start' | 'status'>): boolean {
    return terminal !== undefined && !ENDED.has(status) && this.#held.has(terminal)
  }

  /** Which process has to drive a session (perform its effects). @throws SessionStoreError */
  async of (session: Pick<Session, 'start' | 'status'>): Promise<Place> {
    const { start: { terminal }, status } = session
    if (terminal === undefined || ENDED.has(status)) return 'anywhere'
    if (this.isHere(session)) return 'here'
    const head = await this.#store.head(terminal)
    return head === undefined || ENDED.has(head.status) ? 'anywhere' : 'elsewhere'
  }
}
