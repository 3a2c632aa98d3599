import { type Beside } from '../../explain/piece.ts'
import { type Position } from '../../position.ts'
import { type Path } from '../syntax/ast.ts'
import { type Compiled, type FoundParam } from './compiled.ts'
import { traceContext, tracePath } from './explain/trace-paths.ts'
import {
  traceArgument,
  traceEntry,
  traceFallback,
  traceHeader,
  traceIndentation,
  traceInner,
  traceMaking,
  traceNamedArgument,
  traceWriting
} from './explain/trace-statements.ts'
import { type Evaluate, type Render } from './scope.ts'

/**
 * What a compile puts around its closures so that they tell a trace what they read and write, or nothing. Explained templates
 * are compiled apart: one compile for both would take a fifth longer, and a template twice the heap.
 */
export interface Tracing {
  /** Whether the pieces of the template's text are told of, too. */
  readonly isOn: boolean
  /** A whole template, the body of an inline partial, or a block that is given to a partial. */
  entry (render: Render): Render
  /** The body of a block whose context is the value of its header. */
  inner (render: Render): Render
  /** What a block's header gives. */
  header (evaluate: Evaluate): Evaluate
  /** What an expression prints. */
  writing (print: Render, path: Compiled['traced'], at: Position, beside: Beside): Render
  /** @param param the block parameter that it begins with, if it does */
  path (path: Path, param: FoundParam | undefined, compiled: Compiled): Compiled
  /** The context that a partial is called with where none is named. */
  context (compiled: Compiled): Compiled
  /** A function's result. */
  making (evaluate: Evaluate): Evaluate
  fallback (evaluate: Evaluate): Evaluate
  /** What a partial is called with. */
  argument (compiled: Compiled): Evaluate
  namedArgument (evaluate: Evaluate, name: string): Evaluate
  indentation (render: Render, indent: string): Render
}

function same<T> (given: T): T {
  return given
}

/** Tells nobody anything. */
export const UNTRACED: Tracing = {
  isOn: false,
  entry: same,
  inner: same,
  header: same,
  writing: same,
  path: (_path, _param, compiled) => compiled,
  context: same,
  making: same,
  fallback: same,
  argument: ({ evaluate }) => evaluate,
  namedArgument: same,
  indentation: same
}

/** Tells the trace of the run. */
export const TRACED: Tracing = {
  isOn: true,
  entry: traceEntry,
  inner: traceInner,
  header: traceHeader,
  writing: traceWriting,
  path: tracePath,
  context: traceContext,
  making: traceMaking,
  fallback: traceFallback,
  argument: traceArgument,
  namedArgument: traceNamedArgument,
  indentation: traceIndentation
}
