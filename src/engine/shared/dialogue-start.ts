import { type Json } from '../../base/json.ts'
import { type AgentSetting, type ChildParameter } from '../../registry/kinds/agent/agent-setting.ts'
import { type PlanProfile } from '../../registry/kinds/plan/plan-kind.ts'
import { type SkillDefinition } from '../../registry/kinds/skill/skill-kind.ts'
import { type Spent } from '../../session/model.ts'
import { type Language } from '../texts/language.ts'

/** A tool as the model is offered it. */
export interface OfferedTool {
  /** The name by which the model calls the tool. */
  readonly name: string
  /** The id of the registered tool. */
  readonly tool: string
  /** The entry of the tool in `tools` of the request to the model. */
  readonly declaration: Json
}

/** An agent, a skill or a plan as a function: each call is a session of its own. */
export interface OfferedChild {
  readonly name: string
  readonly declaration: Json
  readonly child: {
    /** The key of the definition in `definitions` of `DialogueStart`, such as `agents/helper`. */
    readonly definition: string
    /** The parameters of a call, by name. A skill gets their values as they are. */
    readonly parameters: Readonly<Record<string, ChildParameter>>
    /** The Handlebars template that makes the child's task from the values of the parameters. */
    readonly input: string
    /** The budget of the child. @default a part of what its parent has left */
    readonly budget?: Spent
    readonly place?: string
  }
}

/** A function that hands the dialogue over to another agent. */
export interface OfferedTransfer {
  readonly name: string
  readonly declaration: Json
  /** The key of the definition in `definitions` of `DialogueStart`, such as `agents/helper`. */
  readonly transfer: string
}

/** Anything that the model may call. */
export type OfferedFunction = OfferedTool | OfferedChild | OfferedTransfer

/** An agent that a dialogue may call or hand over to, as its definition was when the dialogue began. */
export interface ResolvedAgent {
  readonly kind: 'agents'
  /** The id of the agent, with dots between its parts. */
  readonly id: string
  readonly revision: string
  readonly agent: DialogueSetting
  readonly tools: readonly OfferedFunction[]
}

/** A skill that a dialogue may call, as its definition was when the dialogue began. */
export interface ResolvedSkill {
  readonly kind: 'skills'
  readonly id: string
  readonly revision: string
  readonly skill: Pick<SkillDefinition, 'id' | 'name' | 'description' | 'body' | 'isTemplate' | 'options' | 'hash'>
}

/** A plan profile that a dialogue may call, as its definition was when the dialogue began. */
export interface ResolvedPlan {
  readonly kind: 'plans'
  readonly id: string
  readonly revision: string
  readonly profile: PlanProfile
}

export type ResolvedDefinition = ResolvedAgent | ResolvedSkill | ResolvedPlan

/** The definitions that a dialogue may reach, directly or through another, by key such as `agents/helper`. Later edits of a definition change nothing here. */
export type ResolvedDefinitions = Readonly<Record<string, ResolvedDefinition>>

/** An agent whose language is known. */
export type DialogueSetting = AgentSetting & { readonly language: Language }

/** What a dialogue with an agent starts with. */
export interface DialogueStart {
  readonly agent: DialogueSetting
  /** The functions that the model of a free agent is offered; empty for every other agent. */
  readonly tools: readonly OfferedFunction[]
  /** The definitions that the agent may reach; left out when there are none. */
  readonly definitions?: ResolvedDefinitions
}
