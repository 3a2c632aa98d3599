import { type Position } from '../position.ts'
import { type JsonObject } from '../../base/json.ts'

/** Something that a piece of output was made from. */
export type Origin =
  /** The template itself: its text, its constants, the clock. */
  | { readonly kind: 'literal' }
  /** What the caller sent; `path` is from the scope root: `variables.user.name`. */
  | { readonly kind: 'variable', readonly path: string }
  /**
   * A shared variable. `path` is what was read of it, `key` the variable's id, `revision` a hash of its value. For a
   * whole branch the key ends in `.*`; without a revision, no more than the names below it were looked at.
   */
  | { readonly kind: 'environ', readonly path: string, readonly key: string, readonly revision?: string }
  /** A tool's result, or what stands in for it; `call` is its index among the calls of the render. */
  | { readonly kind: 'tool', readonly tool: string, readonly call: number }
  /** What stands in for a missing value: of a parameter, which `path` names, or in a call of `default`. */
  | { readonly kind: 'default', readonly path?: string }

/** A piece of output that one expression, or one stretch of the template's text, wrote. */
export interface Span extends Position {
  readonly text: string
  /** The prompt whose template wrote it, if that is a partial: `line` and `column` are places in it. */
  readonly partial?: string
  /** Never empty, each once; at most 100. */
  readonly sources: readonly Origin[]
}

/** What became of a tool call. */
export interface TracedAnswer {
  /** `recorded` and `stubbed`: no tool was asked. */
  readonly outcome: 'ok' | 'cached' | 'failed' | 'recorded' | 'stubbed'
  /** In ms. */
  readonly durationMs: number
  /** Why it failed, as a code. */
  readonly error?: string | undefined
}

/** A tool call that was made for a render. */
export interface TracedCall extends TracedAnswer {
  readonly tool: string
  /** As sent; left out when they are long. */
  readonly arguments?: JsonObject
}
