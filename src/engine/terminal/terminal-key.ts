import { type EngineKey } from '../../session/engine.ts'

/** The parameters with which a terminal is opened. */
export interface TerminalStart {
  readonly terminal: {
    readonly target: string
    readonly cols: number
    readonly rows: number
    /** The address of the process that holds the terminal; empty where its operator has set none. */
    readonly at: string
  }
}

/** The state of a terminal, as programs read it. */
export interface TerminalResult {
  readonly target: string
  readonly at: string
  /** Why the terminal ended; empty before its end. */
  readonly reason: string
  /** The exit code of the shell; `null` where nobody knows it, and before the end of the shell. */
  readonly exitCode: number | null
}

/** A shell that a person types into. */
export const TERMINAL: EngineKey<TerminalStart, TerminalResult> = { name: 'terminal/1' }
