import { type JsonObject } from '../../base/json.ts'
import { type Protocol } from '../../registry/kinds/skill/skill-options.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type Language } from '../texts/language.ts'
import { type Interruption } from './interruption.ts'
import { type SkillCall } from './parse-skill-calls.ts'
import { type ReadableReply } from './parse-skill-response.ts'

/** Everything a skill's session knows of the world outside. */
export interface SkillSetting {
  readonly name: string
  readonly description: string
  readonly body: string
  /** How the model says what it wants, as long as its provider takes functions. */
  readonly protocol: Protocol
  /** The base of the system prompt by texts. */
  readonly base: string
  /** The same by calls; empty for a skill of texts. */
  readonly baseOfCalls: string
  /** Of the service's own words. */
  readonly language: Language
  /** The caller's own words for the first message; empty without. */
  readonly prompt: string
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string }>
  /** Empty for the service's own. */
  readonly model: string
  readonly maxSteps: number
  /** How long a command may run, in seconds. */
  readonly timeout: number
  /** What whoever started it named as the place of commands: a target, or `manual`. */
  readonly terminal: string
  /** Where commands run; empty where the client runs them itself. */
  readonly target: string
  /** The session of the terminal in which they run. @default none */
  readonly inTerminal?: string
  /** Whether a message is followed by the next question at once, or by the client's `continue`. */
  readonly autoContinue: boolean
  /** What of the dialogue the model is sent. */
  readonly history: 'full' | 'last_n' | 'system_only'
  /** `last_n`: how many messages. */
  readonly historyMax: number
}

/** What a session waits for. */
export type Awaited =
  | { readonly kind: 'knowledge' | 'model' | 'repair' | 'result', readonly effect: string }
  /** The client runs the command. */
  | { readonly kind: 'command' }
  | { readonly kind: 'answer', readonly required: boolean }
  | { readonly kind: 'continue' }
  /** A command began, and nobody knows how it ended. */
  | { readonly kind: 'verdict' }
  | { readonly kind: 'nothing' }

/** A skill in the middle of its steps. */
export interface SkillState {
  readonly setting: SkillSetting
  /** In the words of the protocol. */
  readonly word: 'idle' | 'waiting_cmd' | 'waiting_user' | 'done' | 'failed'
  readonly awaited: Awaited
  /** `text` also for a skill of calls whose model, or its provider, does without functions. */
  readonly protocol: Protocol
  /** What the target's own file says; empty without one. */
  readonly knowledge: string
  readonly system: string
  /** As the model's API has them, without the system prompt; only ever added to, and turned into texts once. */
  readonly messages: readonly JsonObject[]
  /** The calls of the model's last answer, as far as they are worked off; empty when none is open. */
  readonly calls: readonly SkillCall[]
  readonly step: number
  /** What the model said last; the service's own question about a command that was interrupted. */
  readonly reply: ReadableReply | Interruption | undefined
  readonly pendingCommand: string
  /** Cleaned, of the last command. */
  readonly output: string
  /** Where the last command ended. */
  readonly cwd: string
  /** Whether the terminal has ended in which commands ran. */
  readonly isTerminalGone?: true
  /** With which the skill ended. */
  readonly text: string
}

/** What a run of a skill starts with. */
export interface SkillStart {
  readonly skill: SkillSetting
}

/** What a run of a skill came to, as programs read it. */
export interface SkillResult extends
  Pick<SkillSetting, 'name' | 'description' | 'terminal' | 'target' | 'maxSteps'>,
  Pick<SkillState, 'messages' | 'step' | 'pendingCommand' | 'text'> {
  /** Empty before there is one. */
  readonly system: string
  /** The last lines that the last command printed. */
  readonly lastOutput: string
  /** What the model said last; `null` before that. */
  readonly reply: ReadableReply | Interruption | null
}

/** A SKILL.md carried out step by step. */
export const SKILL: EngineKey<SkillStart, SkillResult> = { name: 'skill/1' }
