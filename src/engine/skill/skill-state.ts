import type { JsonObject } from '../../base/json.ts'
import type { Protocol } from '../../registry/kinds/skill-definition.ts'
import type { EngineKey } from '../../session/engine.ts'
import { ABOUT_COMMAND, type Locale, type WhyAsked } from '../texts.ts'
import type { SkillCall } from './skill-calls.ts'
import type { ReadableReply } from './parse-skill-response.ts'

/** The service's own question to the user about a command that was interrupted, or whose terminal was busy. Clients show it like a question of the model. */
interface Interruption {
  readonly type: 'ASK'
  readonly content: string
  readonly question: string
  readonly required: true
  /** The command that was interrupted, or not run. */
  readonly command: string
  /** Whether the command began, and nobody knows how it ended. */
  readonly isInterrupted?: true
  /** Whether the command was not run, since its terminal was busy. */
  readonly isBusy?: true
  /** Whether the model did not mark its text as a command. Such a command never runs without a person's consent. */
  readonly fallback?: true
}

/**
 * A user's decision about a command that was interrupted, or whose terminal was busy. Every other answer is a text for the model: what the
 * interrupted command printed, or what to do instead of the command that was not run.
 */
type RetryDecision = 'again' | 'skip' | 'without'

/** The question to the user about a command. @param isFallback whether the model did not mark its text as a command */
export function askAbout (command: string, why: WhyAsked, isFallback: boolean, language: Locale): Interruption {
  const question = ABOUT_COMMAND[why][language](command)
  const asked = { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command } as const
  return { ...asked, ...(why === 'isBusy' ? { isBusy: true } : { isInterrupted: true }), ...(isFallback ? { fallback: true } : {}) }
}

/** The words by which a user gives a `Verdict`, in all languages. */
const VERDICTS: ReadonlyMap<string, RetryDecision> = new Map([
  ['again', 'again'], ['снова', 'again'],
  ['skip', 'skip'], ['пропустить', 'skip'],
  ['without', 'without'], ['без терминала', 'without']
])

/**
 * Reads a user's answer to the question about a command; `undefined` for other words. The verdict `without` (to run the command without the
 * terminal) is possible only when the terminal was busy.
 */
export function verdictOf (answer: string, why: WhyAsked): RetryDecision | undefined {
  const verdict = VERDICTS.get(answer.trim().toLowerCase().replace(/^skill:/, ''))
  return verdict === 'without' && why !== 'isBusy' ? undefined : verdict
}

/** The settings of a skill's session, from the skill's definition and its caller. They are fixed when the session starts. */
export interface SkillSetting {
  readonly name: string
  readonly description: string
  readonly body: string
  /**
   * How the model is to ask for the next step of the skill (run a command, ask the user, end): by function calls, or by texts with tags such
   * as `[CMD]`. The session changes to texts when the model or its provider does not accept functions.
   */
  readonly protocol: Protocol
  /** The service's instructions at the beginning of the system prompt, for a model that replies by texts with tags. */
  readonly base: string
  /** The same instructions for a model that replies by function calls; empty when `protocol` is `text`. */
  readonly baseOfCalls: string
  /** The language of the service's own texts. */
  readonly language: Locale
  /** The text that the caller added when starting the skill; empty without one. */
  readonly prompt: string
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string }>
  /** The name of the model; empty for the service's default model. */
  readonly model: string
  readonly maxSteps: number
  /** The time limit of a command, in seconds. */
  readonly timeout: number
  /** Where commands run, as the caller named it: a target, or `manual` when the client runs the commands itself. */
  readonly terminal: string
  /** The name of the target (a machine or jail) where commands run; empty when the client runs them itself. */
  readonly target: string
  /** The id of the terminal's session, when commands run in a terminal. @default none */
  readonly inTerminal?: string
  /** Whether the model is asked again at once after it shows a message; otherwise the client has to send `continue`. */
  readonly autoContinue: boolean
  /** Whether commands are read whole; sessions of earlier versions, whose setting does not say so, took the first line of a text. */
  readonly wholeCommands?: true
  /** Which messages of the dialogue each request to the model carries. */
  readonly history: 'full' | 'last_n' | 'system_only'
  /** The number of last messages that each request to the model carries when `history` is `last_n`. */
  readonly historyMax: number
}

/** The event that a skill's session waits for. */
export type Awaited =
  | { readonly kind: 'knowledge' | 'model' | 'repair' | 'result', readonly effect: string }
  /** The client runs the proposed command, and reports its result. */
  | { readonly kind: 'command' }
  | { readonly kind: 'answer', readonly required: boolean }
  | { readonly kind: 'continue' }
  /** The user's decision about a command that was not run, or of which nobody knows how it ended. */
  | { readonly kind: 'verdict', readonly why: WhyAsked }
  | { readonly kind: 'nothing' }

/** The state of a skill's session. */
export interface SkillState {
  readonly setting: SkillSetting
  /** The state's name in replies to clients. */
  readonly word: 'idle' | 'waiting_cmd' | 'waiting_user' | 'done' | 'failed'
  readonly awaited: Awaited
  /** How the model replies now. It is `text`, too, after the model or its provider has not accepted functions. */
  readonly protocol: Protocol
  /** The text of the knowledge file, which tells models about the target (the machine where commands run); empty when the target has none. */
  readonly knowledge: string
  readonly system: string
  /**
   * The messages in the form of the chat API, without the system prompt. An old message changes in two cases: a command that a person edited
   * replaces the model's, and a change to `text` rewrites all function calls as texts.
   */
  readonly messages: readonly JsonObject[]
  /** The function calls of the model's last answer, with results as far as there are some; empty when all are done. */
  readonly calls: readonly SkillCall[]
  readonly step: number
  /** The last reply of the model, or the service's own question about a command; `undefined` before the first reply. */
  readonly reply: ReadableReply | Interruption | undefined
  readonly pendingCommand: string
  /** The output of the last command, without escape sequences. */
  readonly output: string
  /** The folder in which the last command ended. */
  readonly cwd: string
  /** Whether commands no longer run in the skill's terminal, because the terminal has ended, or because the user said so when it was busy. */
  readonly isWithoutTerminal?: true
  /** The message with which the skill ended, or the reason why it failed; empty before. */
  readonly text: string
}

/** What a session of a skill starts with. */
export interface SkillStart {
  readonly skill: SkillSetting
}

/** The result of a skill's session, which a program gets by the API. */
export interface SkillResult extends
  Pick<SkillSetting, 'name' | 'description' | 'terminal' | 'target' | 'maxSteps'>,
  Pick<SkillState, 'messages' | 'step' | 'pendingCommand' | 'text'> {
  /** The system prompt; empty until it was built. */
  readonly system: string
  /** The last lines of the last command's output. */
  readonly lastOutput: string
  /** The last reply of the model, or the service's question about a command; `null` before the first reply. */
  readonly reply: ReadableReply | Interruption | null
}

/** The engine key (name, and types of setting and result) of skills, which carry out a SKILL.md step by step. */
export const SKILL: EngineKey<SkillStart, SkillResult> = { name: 'skill/1' }
