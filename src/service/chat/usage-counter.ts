import { beginningOf } from '../../base/text.ts'
import { type Json, type JsonObject } from '../../base/json.ts'

/** The tokens that one call of a model has used. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Whether the provider sent no usage, so that the service has estimated the tokens. */
  readonly isEstimate: boolean
}

/** What all calls of one model with one prompt have used since the service was started. */
export interface UsageTotals {
  /** `''` for calls that came without a prompt. */
  readonly prompt: string
  readonly model: string
  readonly calls: number
  /** How many of the calls have tokens that are estimates. */
  readonly estimatedCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** How many of the tokens, input and output together, are estimates. */
  readonly estimatedTokens: number
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/**
 * The most pairs of a prompt and a model that are counted one by one, and the longest name of a model, in characters: callers may name any
 * model, so both are bounded.
 */
const MAX_PAIRS = 5000
const MAX_MODEL_NAME = 200

/** The name under which all pairs of a prompt and a model beyond the first MAX_PAIRS are counted together. */
const OTHERS = '(others)'

/** Counts the calls of models and their tokens, for each pair of a prompt and a model. */
export class UsageCounter {
  readonly #totals = new Map<string, Writable<UsageTotals>>()

  count (prompt: string, given: string, usage: TokenUsage): void {
    const model = beginningOf(given, MAX_MODEL_NAME)
    const key = `${prompt}\n${model}`
    if (this.#totals.has(key) || this.#totals.size < MAX_PAIRS) this.#add(key, prompt, model, usage)
    else this.#add(OTHERS, OTHERS, OTHERS, usage)
  }

  /** The counts of all pairs of a prompt and a model, in the order in which they were first used. */
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

/** Reads how many tokens a call has used, as a provider has sent it in OpenAI's form; `undefined` for a value that has not that form. */
export function readUsage (usage: Json | undefined): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return undefined
  const { prompt_tokens: input, completion_tokens: output = 0 } = usage as JsonObject
  return isCount(input) && isCount(output) ? { inputTokens: input, outputTokens: output, isEstimate: false } : undefined
}

function isCount (value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
