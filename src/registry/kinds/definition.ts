import { type JsonObject } from '../../base/json.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'

/** An entry that stands for itself: an agent, a skill, a plan. Its kind adds what it means. */
export interface Definition {
  /** Dotted. */
  readonly id: string
  /** Whether it has a key of its own, or comes with an extension. */
  readonly origin: 'direct' | 'extension'
  /** As it is stored. */
  readonly source: JsonObject
  readonly diagnostics: readonly Diagnostic[]
  /** The tools that it names: whether they are registered changes without it. */
  readonly toolUses?: readonly ToolUse[]
  /** Of all that it is. */
  readonly hash: string
}

/** A tool that an entry names, as plain data. */
export interface ToolUse {
  /** The id of the registration. */
  readonly tool: string
  /** Of a definition that is called as a tool is: that of its keys. */
  readonly kind?: 'agents' | 'skills' | 'plans'
  /** What it is given. */
  readonly parameters: readonly string[]
}
