import { type Json } from '../../base/json.ts'
import { type AgentSetting, type ChildParameter } from '../../registry/kinds/agent/agent-setting.ts'
import { type PlanProfile } from '../../registry/kinds/plan/plan-kind.ts'
import { type SkillDefinition } from '../../registry/kinds/skill/skill-kind.ts'
import { type Spent } from '../../session/model.ts'
import { type Language } from '../texts/language.ts'

/** A registered tool as a function that the model is offered. */
export interface OfferedTool {
  /** The name by which the model calls the tool. */
  readonly name: string
  /** The id of the registered tool. */
  readonly tool: string
  /** The declaration of the tool, as it stands in the field `tools` of a request to the model. */
  readonly declaration: Json
}

/** An agent, a skill or a plan as a function that the model is offered. Each call starts a child session. */
export interface OfferedChild {
  readonly name: string
  readonly declaration: Json
  readonly child: {
    /** The id of the agent, skill or plan, such as `agents/helper`, which is a key of `definitions` in `DialogueStart`. */
    readonly definition: string
    /** The parameters of the function, by name. A skill gets their values; an agent or a plan gets only the text that `input` makes of them. */
    readonly parameters: Readonly<Record<string, ChildParameter>>
    /** The Handlebars template that makes the text of the child's task from the values of the parameters. */
    readonly input: string
    /** The child session's budget of steps and tokens. @default a part of what is left of the parent session's budget */
    readonly budget?: Spent
    readonly place?: string
  }
}

/** A function that the model is offered to hand the dialogue over to another agent. */
export interface OfferedTransfer {
  readonly name: string
  readonly declaration: Json
  /** The id of the other agent, such as `agents/helper`, which is a key of `definitions` in `DialogueStart`. */
  readonly transfer: string
}

/** Any function that a model is offered: a tool, a child session, or a handover. */
export type OfferedFunction = OfferedTool | OfferedChild | OfferedTransfer

/** A copy of an agent's definition. It is made when a dialogue begins that can call the agent or hand over to it. */
export interface ResolvedAgent {
  readonly kind: 'agents'
  /** The agent's id, with dots between its parts. */
  readonly id: string
  readonly revision: string
  readonly agent: DialogueSetting
  readonly tools: readonly OfferedFunction[]
}

/** A copy of a skill's definition. It is made when a dialogue begins that can call the skill. */
export interface ResolvedSkill {
  readonly kind: 'skills'
  readonly id: string
  readonly revision: string
  readonly skill: Pick<SkillDefinition, 'id' | 'name' | 'description' | 'body' | 'isTemplate' | 'options' | 'hash'>
}

/** A copy of a plan profile (the settings of plans). It is made when a dialogue begins that can start plans by this profile. */
export interface ResolvedPlan {
  readonly kind: 'plans'
  readonly id: string
  readonly revision: string
  readonly profile: PlanProfile
}

export type ResolvedDefinition = ResolvedAgent | ResolvedSkill | ResolvedPlan

/**
 * Copies of the definitions (agents, skills, plans) that a dialogue can call or hand over to, directly or through another definition. The keys
 * are ids such as `agents/helper`. Since they are copies, later edits do not change a running dialogue.
 */
export type ResolvedDefinitions = Readonly<Record<string, ResolvedDefinition>>

/** The setting of an agent, with the language of its texts decided. */
export type DialogueSetting = AgentSetting & { readonly language: Language }

/** What a dialogue with an agent starts with. It holds all that the engine (the rules) of the dialogue needs. */
export interface DialogueStart {
  readonly agent: DialogueSetting
  /** The functions that the model of a free agent is offered; empty for an agent that works in steps. */
  readonly tools: readonly OfferedFunction[]
  /** Copies of the agents, skills and plans that the agent can call or hand over to; left out when there are none. */
  readonly definitions?: ResolvedDefinitions
}
