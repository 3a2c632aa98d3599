import type { JsonObject } from '../../base/json.ts'
import type { Protocol } from '../../registry/kinds/skill-definition.ts'
import type { EngineKey } from '../../session/engine.ts'
import { ABOUT_COMMAND, type Locale, type WhyAsked } from '../texts.ts'
import type { SkillCall } from './skill-calls.ts'
import type { ReadableReply } from './parse-skill-response.ts'

/** Clients show it like a question of the model. */
interface Interruption {
  readonly type: 'ASK'
  readonly content: string
  readonly question: string
  readonly required: true
  readonly command: string
  readonly isInterrupted?: true
  readonly isBusy?: true
  /** The model did not mark its text as a command: it never runs without consent. */
  readonly fallback?: true
}

export function askAbout (command: string, why: WhyAsked, isFallback: boolean, language: Locale): Interruption {
  const question = ABOUT_COMMAND[why][language](command)
  const asked = { type: 'ASK', content: `[ASK] ${question}`, question, required: true, command } as const
  return { ...asked, ...(why === 'isBusy' ? { isBusy: true } : { isInterrupted: true }), ...(isFallback ? { fallback: true } : {}) }
}

/** Every other answer is a text for the model. */
const VERDICTS: ReadonlyMap<string, 'again' | 'skip' | 'without'> = new Map([
  ['again', 'again'], ['снова', 'again'],
  ['skip', 'skip'], ['пропустить', 'skip'],
  ['without', 'without'], ['без терминала', 'without']
])

/** `without` the terminal is possible only when the terminal was busy. */
export function verdictOf (answer: string, why: WhyAsked) {
  const verdict = VERDICTS.get(answer.trim().toLowerCase().replace(/^skill:/, ''))
  return verdict === 'without' && why !== 'isBusy' ? undefined : verdict
}

export interface SkillSetting {
  readonly name: string
  readonly description: string
  readonly body: string
  /** Function calls, or tagged texts such as `[CMD]`. The session changes to texts when functions are not accepted. */
  readonly protocol: Protocol
  readonly base: string
  /** Empty when `protocol` is `text`. */
  readonly baseOfCalls: string
  readonly language: Locale
  readonly prompt: string
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string }>
  readonly model: string
  readonly maxSteps: number
  /** In seconds. */
  readonly timeout: number
  /** A target, or `manual` when the client runs the commands itself. */
  readonly terminal: string
  /** Empty when the client runs the commands itself. */
  readonly target: string
  /** The id of the terminal's session. @default none */
  readonly inTerminal?: string
  /** Otherwise the client has to send `continue` after a message. */
  readonly autoContinue: boolean
  /** Earlier versions, whose setting does not say so, took the first line of a text. */
  readonly wholeCommands?: true
  readonly history: 'full' | 'last_n' | 'system_only'
  /** When `history` is `last_n`. */
  readonly historyMax: number
}

export type Awaited =
  | { readonly kind: 'knowledge' | 'model' | 'repair' | 'result', readonly effect: string }
  | { readonly kind: 'command' }
  | { readonly kind: 'answer', readonly required: boolean }
  | { readonly kind: 'continue' }
  | { readonly kind: 'verdict', readonly why: WhyAsked }
  | { readonly kind: 'nothing' }

export interface SkillState {
  readonly setting: SkillSetting
  readonly word: 'idle' | 'waiting_cmd' | 'waiting_user' | 'done' | 'failed'
  readonly awaited: Awaited
  /** `text`, too, after functions were not accepted. */
  readonly protocol: Protocol
  /** Empty when the target has none. */
  readonly knowledge: string
  readonly system: string
  /** Without the system prompt. An old message changes when a person edits its command, and with a change to `text`. */
  readonly messages: readonly JsonObject[]
  /** Of the last answer; empty when all are done. */
  readonly calls: readonly SkillCall[]
  readonly step: number
  /** `undefined` before the first reply. */
  readonly reply?: ReadableReply | Interruption | undefined
  readonly pendingCommand: string
  /** Without escape sequences. */
  readonly output: string
  readonly cwd: string
  /** The terminal has ended, or the user said so when it was busy. */
  readonly isWithoutTerminal?: true
  /** The last message, or the reason of the failure. */
  readonly text: string
}

export interface SkillStart {
  readonly skill: SkillSetting
}

export interface SkillResult extends
  Pick<SkillSetting, 'name' | 'description' | 'terminal' | 'target' | 'maxSteps'>,
  Pick<SkillState, 'messages' | 'step' | 'pendingCommand' | 'text'> {
  readonly system: string
  readonly lastOutput: string
  /** `null` before the first reply. */
  readonly reply: ReadableReply | Interruption | null
}

export const SKILL: EngineKey<SkillStart, SkillResult> = { name: 'skill/1' }
