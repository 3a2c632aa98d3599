import { type MissingPath } from '../../base/errors.ts'
import { type EnvironValue } from './environ-source.ts'
import { type ToolCall } from './tool-call.ts'
import { type Value } from '../value.ts'

// The classes below hold what a run keeps. A run makes them only when there is something to keep: making seven empty collections takes as long as
// rendering a short prompt, and most renders need none.

/** The values that one pass over the templates needs and does not know yet, and those that are missing. */
export class PassNotes {
  readonly calls = new Map<string, ToolCall>()
  readonly environs = new Set<string>()
  readonly misses: MissingPath[] = []
  /** The paths and places of the missing values, because each is reported once. */
  readonly missed = new Set<string>()
}

/** The results of tools and the shared variables that a run has learned in all its passes. */
export class RunMemory {
  /** The results of tool calls, by the key of the call. */
  readonly calls = new Map<string, Value>()
  /** The shared variables by name; `GONE` for one that no longer exists. */
  readonly environs = new Map<string, EnvironValue>()
  readonly answers = new Map<string, unknown>()
}

/** The entry for a shared variable that no longer exists. */
export const GONE: EnvironValue = { value: null, bytes: 0 }

/** The tool calls of a pass that has noted none. */
export const NO_CALLS: ReadonlyMap<string, ToolCall> = new Map()
export const NO_ENVIRONS: ReadonlySet<string> = new Set()
export const NO_MISSES: readonly MissingPath[] = []
