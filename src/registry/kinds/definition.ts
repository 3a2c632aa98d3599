import { type JsonObject } from '../../base/json.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'

/** A registered entry that nothing is linked with: an agent, a skill or a plan. Each kind adds fields of its own. */
export interface Definition {
  /** The dotted id. */
  readonly id: string
  /** Whether the definition has a key of its own, or comes with an extension. */
  readonly origin: 'direct' | 'extension'
  /** The object as it is stored. */
  readonly source: JsonObject
  readonly diagnostics: readonly Diagnostic[]
  /** The tools that the definition names. Whether they are registered is not in the definition: it can change while the definition does not. */
  readonly toolUses?: readonly ToolUse[]
  /** A hash of the whole definition. */
  readonly hash: string
}

/** A tool that an entry names, as plain data. */
export interface ToolUse {
  /** The id of the tool's registration. */
  readonly tool: string
  /** The kind of the definition, where a definition is called like a tool. */
  readonly kind?: 'agents' | 'skills' | 'plans'
  /** The names of the parameters that the entry gives to the tool. */
  readonly parameters: readonly string[]
}
