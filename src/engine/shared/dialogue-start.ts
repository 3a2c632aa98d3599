import { type Json } from '../../base/json.ts'
import { type AgentSetting } from '../../registry/kinds/agent/agent-setting.ts'
import { type Language } from '../texts/language.ts'

/** A tool as the model is offered it. */
export interface OfferedTool {
  /** What the model calls. */
  readonly name: string
  /** The id of the registered tool. */
  readonly tool: string
  /** For the request's `tools`. */
  readonly declaration: Json
}

/** An agent whose language is known. */
export type DialogueSetting = AgentSetting & { readonly language: Language }

/** What a dialogue with an agent starts with. */
export interface DialogueStart {
  readonly agent: DialogueSetting
  /** Of a free agent, as its model is offered them; empty for every other. */
  readonly tools: readonly OfferedTool[]
}
