import type { paths } from '../../.build/api.d.ts'
import { ApiError } from './api-error.ts'
import { send } from './client.ts'

/** What a prompt needs, as the service finds it. */
export type Needs = paths['/api/prompts/{id}/needs']['get']['responses']['200']['content']['application/json']

/** Where a piece of the output comes from. */
export interface Source {
  readonly kind: 'literal' | 'variable' | 'environ' | 'tool' | 'default'
  readonly path?: string
  readonly key?: string
  readonly revision?: string
  readonly tool?: string
  readonly call?: number
}

/** A piece of the output. */
export interface Span {
  readonly text: string
  readonly line: number
  readonly column: number
  readonly partial?: string
  /** Which part of its message, of one that has parts. */
  readonly part?: number
  readonly sources: readonly Source[]
  /** What wrote it, in UTF-16 units of its message's template. */
  readonly source?: { readonly from: number, readonly to: number }
}

export interface Call { readonly tool: string, readonly arguments?: unknown, readonly outcome: string, readonly durationMs: number, readonly error?: string }

/** A mistake in a prompt that is tried, or in the variables that it is tried with. */
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

/** What became of a prompt that was tried. */
export interface Preview {
  readonly diagnostics: readonly Mistake[]
  readonly needs?: Needs
  readonly rendered_prompt?: string | ReadonlyArray<{ readonly role: string, readonly content?: unknown }>
  readonly explain?: {
    readonly calls: readonly Call[]
    readonly messages: ReadonlyArray<{ readonly role?: string, readonly placeholder?: string, readonly spans: readonly Span[] }>
  }
  readonly bundle?: Bundle
}

/** What a render depended on; kept, it answers the same calls again. */
export interface Bundle {
  readonly variables: Readonly<Record<string, unknown>>
  readonly history?: unknown
  readonly tools: readonly unknown[]
  readonly [other: string]: unknown
}

/** What a prompt is tried with: variables, and the conversation so far as its author has typed it, which may be no list of messages. */
export interface Tried { readonly variables: Readonly<Record<string, unknown>>, readonly messages?: unknown }

export interface Wish extends Tried {
  readonly prompt: unknown
  /** Typing never calls a tool; `live` is asked for. */
  readonly tools: 'known' | 'live'
  readonly known: Bundle | undefined
}

/** Tries a prompt that is stored nowhere. @throws ApiError */
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
