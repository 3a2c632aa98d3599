import { type MissingPath } from '../../base/errors.ts'
import { type EnvironValue } from './environ-source.ts'
import { type ToolCall } from './tool-call.ts'
import { type Value } from '../value.ts'

// What a run keeps. A run makes it when there is something to keep: to make seven empty collections takes as long as to
// render a short prompt, and most renders need none.

/** What one pass has met and does not know yet. */
export class PassNotes {
  readonly calls = new Map<string, ToolCall>()
  readonly environs = new Set<string>()
  readonly misses: MissingPath[] = []
  /** Paths and places of the misses, since each is told once. */
  readonly missed = new Set<string>()
}

/** What a run has learned over its passes. */
export class RunMemory {
  /** Values of tools, by the key of the call. */
  readonly calls = new Map<string, Value>()
  /** Shared variables by name; `GONE` for what has gone. */
  readonly environs = new Map<string, EnvironValue>()
  readonly answers = new Map<string, unknown>()
}

/** What is learned of a shared variable that is not there any more. */
export const GONE: EnvironValue = { value: null, bytes: 0 }

/** What a pass that met nothing has noted. */
export const NO_CALLS: ReadonlyMap<string, ToolCall> = new Map()
export const NO_ENVIRONS: ReadonlySet<string> = new Set()
export const NO_MISSES: readonly MissingPath[] = []
