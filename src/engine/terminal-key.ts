import { type EngineKey } from '../session/engine.ts'

/** The setting with which a terminal's session starts. */
export interface TerminalStart {
  readonly terminal: {
    readonly target: string
    readonly cols: number
    readonly rows: number
    /** The address of the service process that holds the terminal, where clients connect; empty where the operator has configured none. */
    readonly at: string
  }
}

/** The result of a terminal's session, which a program gets by the API. */
export interface TerminalResult {
  readonly target: string
  readonly at: string
  /** The reason why the terminal ended; empty before its end. */
  readonly reason: string
  /** The exit code of the shell; `null` before the shell's end, and when nobody knows it. */
  readonly exitCode: number | null
}

/** The engine key (name, and types of setting and result) of terminals: shells that a person types into. */
export const TERMINAL: EngineKey<TerminalStart, TerminalResult> = { name: 'terminal/1' }
