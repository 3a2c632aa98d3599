import { type JsonObject } from '../../base/json.ts'
import { type Protocol } from '../../registry/kinds/skill/skill-options.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type Language } from '../texts/language.ts'
import { type WhyAsked } from '../texts/skill-texts.ts'
import { type Interruption } from './interruption.ts'
import { type SkillCall } from './parse-skill-calls.ts'
import { type ReadableReply } from './parse-skill-response.ts'

/** The settings of a skill's session, all that it knows of the world outside. */
export interface SkillSetting {
  readonly name: string
  readonly description: string
  readonly body: string
  /** How the model says what it wants, as long as its provider takes functions. */
  readonly protocol: Protocol
  /** The base of the system prompt by texts. */
  readonly base: string
  /** The base of the system prompt by calls; empty for a skill of texts. */
  readonly baseOfCalls: string
  /** The language of the service's own words. */
  readonly language: Language
  /** The caller's own words for the first message; empty without. */
  readonly prompt: string
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string }>
  /** The name of the model; empty for the service's default. */
  readonly model: string
  readonly maxSteps: number
  /** How long a command may run, in seconds. */
  readonly timeout: number
  /** The place of commands as the start of the skill named it: a target, or `manual`. */
  readonly terminal: string
  /** Where commands run; empty where the client runs them itself. */
  readonly target: string
  /** The session of the terminal in which commands run. @default none */
  readonly inTerminal?: string
  /** Whether a message is followed by the next question at once, or by the client's `continue`. */
  readonly autoContinue: boolean
  /** The part of the dialogue that the model is sent. */
  readonly history: 'full' | 'last_n' | 'system_only'
  /** How many messages the model is sent where `history` is `last_n`. */
  readonly historyMax: number
}

/** The event that a session of a skill waits for. */
export type Awaited =
  | { readonly kind: 'knowledge' | 'model' | 'repair' | 'result', readonly effect: string }
  /** The client runs the command. */
  | { readonly kind: 'command' }
  | { readonly kind: 'answer', readonly required: boolean }
  | { readonly kind: 'continue' }
  /** A decision about a command of which nobody knows how it ended, or which was not run. */
  | { readonly kind: 'verdict', readonly why: WhyAsked }
  | { readonly kind: 'nothing' }

/** A skill in the middle of its steps. */
export interface SkillState {
  readonly setting: SkillSetting
  /** The state of the skill, in the words of the protocol. */
  readonly word: 'idle' | 'waiting_cmd' | 'waiting_user' | 'done' | 'failed'
  readonly awaited: Awaited
  /** `text` also for a skill of calls whose model, or its provider, does without functions. */
  readonly protocol: Protocol
  /** The text of the target's file of knowledge; empty where the target has none. */
  readonly knowledge: string
  readonly system: string
  /** The messages in the form of the model's API, without the system prompt. The list only grows, and is turned into texts at most once. */
  readonly messages: readonly JsonObject[]
  /** The calls of the model's last answer, as far as they are worked off; empty when none is open. */
  readonly calls: readonly SkillCall[]
  readonly step: number
  /** What the model said last; the service's own question about a command that was interrupted, or not run. */
  readonly reply: ReadableReply | Interruption | undefined
  readonly pendingCommand: string
  /** The output of the last command, without escapes and prompts. */
  readonly output: string
  /** The folder in which the last command ended. */
  readonly cwd: string
  /** Whether commands run without the terminal of the skill by now: it has ended, or was busy for too long. */
  readonly isWithoutTerminal?: true
  /** The message with which the skill ended. */
  readonly text: string
}

/** What a run of a skill starts with. */
export interface SkillStart {
  readonly skill: SkillSetting
}

/** The result of a run of a skill, as programs read it. */
export interface SkillResult extends
  Pick<SkillSetting, 'name' | 'description' | 'terminal' | 'target' | 'maxSteps'>,
  Pick<SkillState, 'messages' | 'step' | 'pendingCommand' | 'text'> {
  /** The system prompt; empty before it is written. */
  readonly system: string
  /** The last lines that the last command printed. */
  readonly lastOutput: string
  /** The last reply of the model, or the service's question about a command; `null` before the first one. */
  readonly reply: ReadableReply | Interruption | null
}

/** A SKILL.md carried out step by step. */
export const SKILL: EngineKey<SkillStart, SkillResult> = { name: 'skill/1' }
