import { ENDED } from '../model.ts'
import { type Session } from '../session.ts'
import { type SessionStore } from '../session-store.ts'

/** The process that has to drive a session (perform its effects): this process, a certain other one, or any process. */
export type Place = 'here' | 'elsewhere' | 'anywhere'

/** The terminals (shells that people type into) that this process holds, by the id of the terminal's session. */
export interface HeldTerminals {
  has (terminal: string): boolean
}

/** The disks with workspaces that this process has, by id. */
export interface HeldDisks {
  has (disk: string): boolean
  ids (): readonly string[]
}

export const NO_DISKS: HeldDisks = { has: () => false, ids: () => [] }

export const NO_TERMINALS: HeldTerminals = { has: () => false }

/** The type of the live message by which a process tells the holder of a terminal, or of a disk, that a session of it has to go on. */
export const IN_TERMINAL = 'terminal.session'

/**
 * Decides which process has to drive a session (perform its effects). When the session's commands run in a terminal (a shell that a person types
 * into), that is the process that holds the terminal; when the session works on files, any process that has their disk.
 */
export class Residence {
  readonly #store: Pick<SessionStore, 'head'>
  readonly #held: HeldTerminals
  readonly #disks: HeldDisks

  constructor (store: Pick<SessionStore, 'head'>, held: HeldTerminals, disks: HeldDisks) {
    this.#store = store
    this.#held = held
    this.#disks = disks
  }

  /** Whether a session has not ended, and its terminal or its disk is of this process. */
  isHere ({ start: { terminal, disk }, status }: Pick<Session, 'start' | 'status'>): boolean {
    return !ENDED.has(status) && (terminal === undefined ? disk !== undefined && this.#disks.has(disk.id) : this.#held.has(terminal))
  }

  /** Which process has to drive a session (perform its effects). @throws SessionStoreError */
  async of (session: Pick<Session, 'start' | 'status'>): Promise<Place> {
    const { start: { terminal, disk }, status } = session
    if ((terminal ?? disk) === undefined || ENDED.has(status)) return 'anywhere'
    if (this.isHere(session)) return 'here'
    if (terminal === undefined) return 'elsewhere'
    const head = await this.#store.head(terminal)
    return head === undefined || ENDED.has(head.status) ? 'anywhere' : 'elsewhere'
  }
}
