import { beginningOf } from '../../base/text.ts'
import { type Json, type JsonObject } from '../../base/json.ts'

/** Tokens of one call. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Whether the provider sent no usage, so that the service has estimated the tokens. */
  readonly isEstimate: boolean
}

/** What calls of one model with one prompt have used since the service was started. */
export interface UsageTotals {
  /** `''` for calls that came without a prompt. */
  readonly prompt: string
  readonly model: string
  readonly calls: number
  /** Calls among them whose tokens are estimates. */
  readonly estimatedCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Tokens among them, in and out, that are estimates. */
  readonly estimatedTokens: number
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Callers may name any model, so the number of pairs is bounded, and so is the length of a name, in characters. */
const MAX_PAIRS = 5000
const MAX_MODEL_NAME = 200

/** The name under which all pairs beyond the bound are counted. */
const OTHERS = '(others)'

/** Counts what models are used for, per prompt and model. */
export class UsageCounter {
  readonly #totals = new Map<string, Writable<UsageTotals>>()

  count (prompt: string, given: string, usage: TokenUsage): void {
    const model = beginningOf(given, MAX_MODEL_NAME)
    const key = `${prompt}\n${model}`
    if (this.#totals.has(key) || this.#totals.size < MAX_PAIRS) this.#add(key, prompt, model, usage)
    else this.#add(OTHERS, OTHERS, OTHERS, usage)
  }

  /** All pairs, in the order in which they first came. */
  read (): readonly UsageTotals[] {
    return Array.from(this.#totals.values(), totals => ({ ...totals }))
  }

  #add (key: string, prompt: string, model: string, { inputTokens, outputTokens, isEstimate }: TokenUsage): void {
    let totals = this.#totals.get(key)
    if (totals === undefined) {
      totals = { prompt, model, calls: 0, estimatedCalls: 0, inputTokens: 0, outputTokens: 0, estimatedTokens: 0 }
      this.#totals.set(key, totals)
    }
    totals.calls++
    totals.inputTokens += inputTokens
    totals.outputTokens += outputTokens
    if (!isEstimate) return
    totals.estimatedCalls++
    totals.estimatedTokens += inputTokens + outputTokens
  }
}

/** The usage that a provider sent, in OpenAI's shape; `undefined` when it is none. */
export function readUsage (usage: Json | undefined): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return undefined
  const { prompt_tokens: input, completion_tokens: output = 0 } = usage as JsonObject
  return isCount(input) && isCount(output) ? { inputTokens: input, outputTokens: output, isEstimate: false } : undefined
}

function isCount (value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
