import { type JsonObject } from '../../base/json.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'

/** A registered entry that needs no linking with other entries: an agent, a skill or a plan profile. Each kind adds fields of its own. */
export interface Definition {
  /** The definition's id in its dotted form: `team.helper`. */
  readonly id: string
  /** Whether the definition has a key of its own, or comes with an extension. */
  readonly origin: 'direct' | 'extension'
  /** The object as it is stored. */
  readonly source: JsonObject
  readonly diagnostics: readonly Diagnostic[]
  /** What the definition calls: tools, agents, skills, plans. Whether they are registered is not said here: it can change while the definition does not. */
  readonly toolUses?: readonly ToolUse[]
  /** A hash of the whole definition. */
  readonly hash: string
}

/** A reference from an entry to a tool, or to an agent, skill or plan that is called like a tool; plain data. */
export interface ToolUse {
  /** The dotted id of the tool, or of the agent, skill or plan. */
  readonly tool: string
  /** The kind of the definition that `tool` names; left out when `tool` names a tool. */
  readonly kind?: 'agents' | 'skills' | 'plans'
  /** The names of the parameters for which the referring entry gives the tool a value. */
  readonly parameters: readonly string[]
}
