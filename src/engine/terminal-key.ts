import { type EngineKey } from '../session/engine.ts'

export interface TerminalStart {
  readonly terminal: {
    readonly target: string
    readonly cols: number
    readonly rows: number
    /** Where clients connect to the process that holds the terminal; empty where none is configured. */
    readonly at: string
  }
}

export interface TerminalResult {
  readonly target: string
  readonly at: string
  readonly reason: string
  /** `null` before the shell's end, and when nobody knows it. */
  readonly exitCode: number | null
}

export const TERMINAL: EngineKey<TerminalStart, TerminalResult> = { name: 'terminal/1' }
