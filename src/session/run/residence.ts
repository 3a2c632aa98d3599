import { ENDED } from '../model.ts'
import { type Session } from '../session.ts'
import { type SessionStore } from '../session-store.ts'

/** Where a session has to be driven: by this process, by another one, or by whoever comes first. */
export type Place = 'here' | 'elsewhere' | 'anywhere'

/** The terminals that this process holds. */
export interface HeldTerminals {
  has (terminal: string): boolean
}

export const NO_TERMINALS: HeldTerminals = { has: () => false }

/** The word by which a process that has started a session in a terminal of another one tells it. */
export const IN_TERMINAL = 'terminal.session'

/** Knows where sessions have to be driven: what runs in a terminal, where the terminal is. */
export class Residence {
  readonly #store: Pick<SessionStore, 'head'>
  readonly #held: HeldTerminals

  constructor (store: Pick<SessionStore, 'head'>, held: HeldTerminals) {
    this.#store = store
    this.#held = held
  }

  /** Whether a session runs in a terminal of this process. */
  isHere ({ start: { terminal }, status }: Pick<Session, 'start' | 'status'>): boolean {
    return terminal !== undefined && !ENDED.has(status) && this.#held.has(terminal)
  }

  /** @throws SessionStoreError */
  async of (session: Pick<Session, 'start' | 'status'>): Promise<Place> {
    const { start: { terminal }, status } = session
    if (terminal === undefined || ENDED.has(status)) return 'anywhere'
    if (this.isHere(session)) return 'here'
    const head = await this.#store.head(terminal)
    return head === undefined || ENDED.has(head.status) ? 'anywhere' : 'elsewhere'
  }
}
