import { type EngineKey } from '../../session/engine.ts'

/** What a terminal is opened with. */
export interface TerminalStart {
  readonly terminal: {
    readonly target: string
    readonly cols: number
    readonly rows: number
    /** Where the process that holds it is reached; empty where its operator has not said. */
    readonly at: string
  }
}

/** What is known of a terminal, for programs. */
export interface TerminalResult {
  readonly target: string
  readonly at: string
  /** Why it ended; empty before. */
  readonly reason: string
  /** Of the shell; `null` where nobody knows, and before its end. */
  readonly exitCode: number | null
}

/** A shell that a person types into. */
export const TERMINAL: EngineKey<TerminalStart, TerminalResult> = { name: 'terminal/1' }
