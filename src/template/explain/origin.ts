import { type Position } from '../position.ts'
import { type JsonObject } from '../../base/json.ts'

/** An origin of a piece of output: what the piece was made from. */
export type Origin =
  /** The template itself: its text, its constants, the clock. */
  | { readonly kind: 'literal' }
  /** A variable that the caller sent; `path` is its path from the scope root: `variables.user.name`. */
  | { readonly kind: 'variable', readonly path: string }
  /**
   * A shared variable, or a branch (all shared variables whose names begin in the same way). `path` is the path that was read, `key` the variable's name,
   * `revision` a hash of its value. The key of a branch ends in `.*`. A branch has no revision when the template has read only the names in it.
   */
  | { readonly kind: 'environ', readonly path: string, readonly key: string, readonly revision?: string }
  /** The result of a tool call, or what replaces it; `call` is the index of the call in the render's list of tool calls. */
  | { readonly kind: 'tool', readonly tool: string, readonly call: number }
  /** A default that replaced a missing value: the default of the parameter at `path` or, without `path`, the fallback of a call of `default`. */
  | { readonly kind: 'default', readonly path?: string }

/** A span: a piece of output that one expression, or one stretch of the template's text, has written. */
export interface Span extends Position {
  readonly text: string
  /**
   * The id of the partial whose template has written the piece; `line` and `column` are then places in that partial. Left out when the prompt itself
   * has written it.
   */
  readonly partial?: string
  /** The origins of the piece: at least one and at most 100, each once. */
  readonly sources: readonly Origin[]
}

/** The outcome of a tool call. */
export interface TracedAnswer {
  /**
   * How the call ended. Only for `ok` and `failed` was a call of the tool tried. The result of a `cached` call is the tool's own from an earlier call, that
   * of a `recorded` call comes from a recorded render, and a `stubbed` call has the tool's default or `NOTHING`.
   */
  readonly outcome: 'ok' | 'cached' | 'failed' | 'recorded' | 'stubbed'
  /** The duration of the call, in ms. */
  readonly durationMs: number
  /** The error code that says why the call failed. */
  readonly error?: string | undefined
}

/** A tool call that was made for a render. */
export interface TracedCall extends TracedAnswer {
  readonly tool: string
  /** The arguments as they were sent; left out when they are long. */
  readonly arguments?: JsonObject
}
