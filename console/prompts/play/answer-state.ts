/*
 * The answer of one column, as far as it has come. Chunks of a stream are added one by one; what a provider does not tell stays undefined,
 * and is never taken for 0.
 */

export interface AnswerState {
  readonly text: string
  /** Calls of functions that the caller is asked to make, by their index. */
  readonly calls: Readonly<Record<number, { readonly name: string, readonly arguments: string }>>
  /** Messages about what happened before the answer, such as calls of tools. */
  readonly steps: readonly string[]
  readonly isBusy: boolean
  readonly isStopped: boolean
  /** Whether the end of the answer was told. */
  readonly isWhole: boolean
  readonly error?: unknown
  readonly model?: string | undefined
  /** The version that has answered, as the reply's header says. */
  readonly version?: string | undefined
  /** `script` or `echo` where no model has answered, but what the service has built in. */
  readonly builtin?: string | undefined
  /** The reason for which the model has ended; `stop` for an ordinary end. */
  readonly finish?: string | undefined
  /** From the request to the first word, and to the end, in ms. */
  readonly firstMs?: number | undefined
  readonly wholeMs?: number | undefined
  /** Tokens as the provider counts them: of each completion, of which an answer has several when the model has called tools. */
  readonly usage: Readonly<Record<string, { readonly input: number, readonly output: number }>>
}

export const BEGUN: AnswerState = { text: '', calls: {}, steps: [], isBusy: true, isStopped: false, isWhole: false, usage: {} }

type Content = string | ReadonlyArray<{ readonly type?: string, readonly text?: string }> | null | undefined
interface CallPiece { readonly index?: number, readonly function?: { readonly name?: string, readonly arguments?: string } }

export interface Chunk {
  readonly id?: string
  readonly model?: string
  readonly system_fingerprint?: string | null
  readonly choices?: ReadonlyArray<{
    readonly index?: number
    readonly delta?: {
      readonly content?: Content
      readonly refusal?: string | null
      readonly tool_calls?: readonly CallPiece[] | null
    } | null
    readonly finish_reason?: string | null
  }> | null
  readonly usage?: { readonly prompt_tokens?: unknown, readonly completion_tokens?: unknown } | null
}

/** Adds a chunk; of several choices only the first counts. @param ms since the request */
export function withChunk (state: AnswerState, { id = '', model = '', system_fingerprint: made, choices, usage }: Chunk, ms: number): AnswerState {
  const { delta, finish_reason: finish } = choices?.[0] ?? {}
  const piece = textOf(delta?.content) + (delta?.refusal ?? '')
  const calls = delta?.tool_calls ?? []
  return {
    ...state,
    text: state.text + piece,
    calls: calls.reduce(withCall, state.calls),
    model: model === '' ? state.model : model,
    builtin: /^builtin:(\w+)$/.exec(made ?? '')?.[1] ?? state.builtin,
    finish: finish ?? state.finish,
    firstMs: state.firstMs ?? (piece === '' && calls.length === 0 ? undefined : ms),
    usage: withUsage(state.usage, id, usage)
  }
}

function withUsage (known: AnswerState['usage'], id: string, usage: Chunk['usage']): AnswerState['usage'] {
  const { prompt_tokens: input, completion_tokens: output } = usage ?? {}
  return typeof input === 'number' && typeof output === 'number' ? { ...known, [id]: { input, output } } : known
}

function textOf (content: Content): string {
  return typeof content === 'string' ? content : (content ?? []).map(part => part.type === 'text' ? part.text ?? '' : '').join('')
}

function withCall (calls: AnswerState['calls'], { index = 0, function: { name = '', arguments: given = '' } = {} }: CallPiece): AnswerState['calls'] {
  const { name: before = '', arguments: written = '' } = calls[index] ?? {}
  return { ...calls, [index]: { name: before + name, arguments: written + given } }
}

/** The tokens of a whole answer; `undefined` where the provider told none. */
export function tokensOf ({ usage }: Pick<AnswerState, 'usage'>): { readonly input: number, readonly output: number } | undefined {
  const all = Object.values(usage)
  if (all.length === 0) return undefined
  return { input: all.reduce((sum, { input }) => sum + input, 0), output: all.reduce((sum, { output }) => sum + output, 0) }
}
