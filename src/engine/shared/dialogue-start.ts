import { type Json } from '../../base/json.ts'
import { type AgentSetting, type ChildParameter } from '../../registry/kinds/agent/agent-setting.ts'
import { type PlanProfile } from '../../registry/kinds/plan/plan-kind.ts'
import { type SkillDefinition } from '../../registry/kinds/skill/skill-kind.ts'
import { type Spent } from '../../session/model.ts'
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

/** An agent, a skill or a plan as a function: each call is a session of its own. */
export interface OfferedChild {
  readonly name: string
  readonly declaration: Json
  readonly child: {
    /** Among the definitions of the start, as `agents/helper`. */
    readonly definition: string
    /** Of a skill they go to it as they are. */
    readonly parameters: Readonly<Record<string, ChildParameter>>
    /** Handlebars text over them. */
    readonly input: string
    /** @default a part of what is left */
    readonly budget?: Spent
    readonly place?: string
  }
}

/** A function that hands the dialogue over to another agent. */
export interface OfferedTransfer {
  readonly name: string
  readonly declaration: Json
  /** Among the definitions of the start, as `agents/helper`. */
  readonly transfer: string
}

/** Anything that the model may call. */
export type OfferedFunction = OfferedTool | OfferedChild | OfferedTransfer

/** An agent within reach of a dialogue, as it was when that began. */
export interface ResolvedAgent {
  readonly kind: 'agents'
  /** Dotted. */
  readonly id: string
  readonly revision: string
  readonly agent: DialogueSetting
  readonly tools: readonly OfferedFunction[]
}

/** A skill within reach. */
export interface ResolvedSkill {
  readonly kind: 'skills'
  readonly id: string
  readonly revision: string
  readonly skill: Pick<SkillDefinition, 'id' | 'name' | 'description' | 'body' | 'isTemplate' | 'options' | 'hash'>
}

/** A plan profile within reach. */
export interface ResolvedPlan {
  readonly kind: 'plans'
  readonly id: string
  readonly revision: string
  readonly profile: PlanProfile
}

export type ResolvedDefinition = ResolvedAgent | ResolvedSkill | ResolvedPlan

/** What a dialogue may call or hand over to, and what these may, by `agents/helper`: later edits change nothing. */
export type ResolvedDefinitions = Readonly<Record<string, ResolvedDefinition>>

/** An agent whose language is known. */
export type DialogueSetting = AgentSetting & { readonly language: Language }

/** What a dialogue with an agent starts with. */
export interface DialogueStart {
  readonly agent: DialogueSetting
  /** Of a free agent, as its model is offered them; empty for every other. */
  readonly tools: readonly OfferedFunction[]
  /** Left out without any. */
  readonly definitions?: ResolvedDefinitions
}
