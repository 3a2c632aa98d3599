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
 * Wraps the closures that a compile makes, either so that they report to a trace what they read and write, or not at all. A template that is explained
 * (where does each piece of its output come from?) is compiled separately: one compile for both would take a fifth longer, and twice the memory.
 */
export interface Tracing {
  /** Whether reports are on, so that pieces of the template's text are reported, too. */
  readonly isOn: boolean
  /** Wraps a whole template, the body of an inline partial, or a block that is passed to a partial, so that it can note where its context comes from. */
  entry (render: Render): Render
  /** Wraps the body of a block, so that it can note where its context comes from: the value of the block's header or, in a loop, an element of that value. */
  inner (render: Render): Render
  /** Wraps the header of a block (the expression after `#each`, `#with` or `#`), so that the header's value and provenance can be noted. */
  header (evaluate: Evaluate): Evaluate
  /** Wraps the closure of an expression that prints, so that it can report what it prints. */
  writing (print: Render, path: Compiled['traced'], at: Position, beside: Beside): Render
  /** Wraps a compiled path, so that it can report what it reads. @param param the block parameter with which the path begins, if there is one */
  path (path: Path, param: FoundParam | undefined, compiled: Compiled): Compiled
  /** Wraps the context that a partial gets when its call has no argument, so that it can be reported where the context comes from. */
  context (compiled: Compiled): Compiled
  /** Wraps the closure of a function call, so that it can report what the result was made from. */
  making (evaluate: Evaluate): Evaluate
  fallback (evaluate: Evaluate): Evaluate
  /** Wraps the argument with which a partial is called, so that it can be reported where the argument comes from. */
  argument (compiled: Compiled): Evaluate
  namedArgument (evaluate: Evaluate, name: string): Evaluate
  indentation (render: Render, indent: string): Render
}

function same<T> (given: T): T {
  return given
}

/** Wraps nothing, for templates that are not explained. */
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

/** Wraps the closures so that they report to the trace of the run. */
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
