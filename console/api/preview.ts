import type { paths } from '../../.build/api.d.ts'
import { ApiError } from './api-error.ts'
import { send } from './client.ts'

/** The variables, shared variables, tools and partials that a prompt uses, as the service finds them in its templates. */
export type Needs = paths['/api/prompts/{id}/needs']['get']['responses']['200']['content']['application/json']

/** The source of a piece of a rendered prompt, such as a variable or a tool. */
export interface Source {
  readonly kind: 'literal' | 'variable' | 'environ' | 'tool' | 'default'
  readonly path?: string
  readonly key?: string
  readonly revision?: string
  readonly tool?: string
  readonly call?: number
}

/** A piece of a rendered prompt, with the place of the expression that wrote it. */
export interface Span {
  readonly text: string
  readonly line: number
  readonly column: number
  readonly partial?: string
  /** The index of the part of the message that has the piece; left out for a message without parts. */
  readonly part?: number
  readonly sources: readonly Source[]
  /** The place in the message's template of the expression that wrote the piece, in UTF-16 units. */
  readonly source?: { readonly from: number, readonly to: number }
}

/** A mistake in a prompt that is previewed, or in the variables with which it is rendered. */
export interface Mistake {
  readonly severity: string
  readonly code: string
  readonly message: string
  readonly hint: string
  readonly line: number
  readonly column: number
  readonly messageIndex?: number
  readonly part?: number
  readonly in?: string
  readonly path?: string
  readonly near?: string
  readonly field?: string
}

/** The result of a preview: the mistakes of the prompt and, unless one of them prevents it, the rendered prompt. */
export interface Preview {
  readonly diagnostics: readonly Mistake[]
  readonly needs?: Needs
  readonly rendered_prompt?: string | ReadonlyArray<{ readonly role: string, readonly content?: unknown }>
  readonly explain?: {
    readonly calls: ReadonlyArray<{
      readonly tool: string, readonly arguments?: unknown, readonly outcome: string, readonly durationMs: number, readonly error?: string
    }>
    readonly messages: ReadonlyArray<{ readonly role?: string, readonly placeholder?: string, readonly spans: readonly Span[] }>
  }
  readonly bundle?: Bundle
}

/** A bundle: a recorded render with its variables and the results of its tools. Another render can use these results in place of new calls. */
export interface Bundle {
  readonly variables: Readonly<Record<string, unknown>>
  readonly history?: unknown
  readonly tools: readonly unknown[]
  readonly [other: string]: unknown
}

/**
 * The variables and the conversation with which a prompt is previewed. The conversation is what the author has typed, which may be no list
 * of messages.
 */
export interface Tried { readonly variables: Readonly<Record<string, unknown>>, readonly messages?: unknown }

export interface Wish extends Tried {
  readonly prompt: unknown
  /** Whether the preview calls tools. `known`: no, as while the author types. `live`: yes, because the author has asked for it. */
  readonly tools: 'known' | 'live'
  readonly known: Bundle | undefined
}

/** Asks the service to preview a prompt, which need not be stored. @throws ApiError */
export async function previewPrompt (id: string, { known, ...wish }: Wish, signal: AbortSignal): Promise<Preview> {
  const response = await send(new Request(`/api/prompts/${encodeURIComponent(id)}/preview`, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...wish, known })
  }))
  const body: unknown = await response.json().catch(() => ({}))
  if (!response.ok) throw new ApiError(response.status, body)
  return body as Preview
}
