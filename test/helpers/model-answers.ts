import { readFileSync } from 'node:fs'
import { type JsonObject } from '../../src/base/json.ts'

/** An answer as a model and its server give it, with what a reader has to make of it. */
export interface ModelAnswer {
  readonly id: string
  /** Chunks of a stream; `[DONE]` follows unless `ends` says otherwise. */
  readonly stream?: readonly JsonObject[]
  /** The raw lines of a stream. */
  readonly lines?: readonly string[]
  /** The body of a whole reply. */
  readonly whole?: JsonObject
  readonly ends?: string
  /** The route that is asked; left out for answers of chats. */
  readonly door?: string
  readonly reads: {
    readonly text?: string
    readonly thoughts?: string
    /** An id of `*` is any that is not empty; a broken call is never made. */
    readonly calls?: ReadonlyArray<{ readonly id?: string, readonly name: string, readonly arguments?: JsonObject, readonly broken?: true }>
    readonly cut?: true
    readonly refusal?: string
    readonly json?: JsonObject
    readonly error?: string
    /** Whether the error is that of a failed attempt, after which another is made. */
    readonly retried?: true
    readonly sentBack?: string | { readonly arguments?: string, readonly reasoning_content?: string }
  }
}

export const MODEL_ANSWERS: readonly ModelAnswer[] = readFileSync(new URL('../llm/model-answers.jsonl', import.meta.url), 'utf8').trim().split('\n').map(line => JSON.parse(line) as ModelAnswer)

/** The functions that the answers call. */
export const OFFERED: readonly JsonObject[] = ['find', 'wipe', 'note'].map(name => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))

/** The bytes of an answer's stream. A whole reply is sent as one chunk with all of it. */
export function streamOf ({ stream, lines, whole, ends }: ModelAnswer): string {
  if (lines !== undefined) return lines.join('\n')
  const chunks = stream ?? [asChunk(whole as JsonObject)]
  return [...chunks.map(chunk => JSON.stringify(chunk)), ...ends === undefined ? ['[DONE]'] : []].map(data => `data: ${data}\n\n`).join('')
}

function asChunk (whole: JsonObject): JsonObject {
  const choices = Array.isArray(whole['choices']) ? (whole['choices'] as readonly JsonObject[]).map(({ message, ...choice }) => ({ ...choice, delta: message ?? null })) : whole['choices'] ?? null
  return { ...whole, choices }
}
