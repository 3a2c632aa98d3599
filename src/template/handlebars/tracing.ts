import {
  type Beside, followed, type Literal, literalWriter, made, memberOf, originated, pathWriter, type PathWriter, type Provenance, writerAt
} from '../provenance.ts'
import { traceOf } from '../scope.ts'
import type { Position } from '../tags.ts'
import type { Header, Trace } from '../trace.ts'
import { isData, LazyNode } from '../value.ts'
import type { Path } from './parse.ts'
import { provenanceOf, readPlain, rootOf, traceContext, tracePath } from './trace-paths.ts'
import type { Compiled, Evaluate, FoundParam, Render, Scope, TracedPath } from './scope.ts'

// The functions in this file wrap the closures of statements, so that these report to the trace (the record of how the output is made). Each scope has
// the provenance of its context, of its block parameters and of its loop data.

/**
 * Makes a whole template, the body of an inline partial, or a block that is passed to a partial get the provenance of its context: that of the argument
 * with which it was called.
 */
function traceEntry (render: Render): Render {
  return scope => {
    scope.provenance = traceOf(scope.rendering.run).takeArgument()
    return render(scope)
  }
}

/** Makes the closure that reports a piece of the template's text. The text itself is written by the sequence. */
export function traceLiteral (literal: Literal): Render {
  const writer = literalWriter(literal)
  return ({ rendering }) => {
    traceOf(rendering.run).writeLiteral(literal.text, writer, rendering.partial)
    return ''
  }
}

/**
 * Makes the closure of a block or a partial report the text before it.
 * @param leavesReads whether the closure leaves reads in the trace, which are then forgotten: true for a block, which has only tested values; false for
 * a partial, which has taken what was read as the provenance of its arguments
 */
export function tracePart (render: Render, before: Literal | undefined, leavesReads: boolean): Render {
  const clean = leavesReads ? forgetting(render) : render
  if (before === undefined) return clean
  const writer = literalWriter(before)
  return scope => {
    const { run, partial } = scope.rendering
    traceOf(run).writeLiteral(before.text, writer, partial)
    return clean(scope)
  }
}

function forgetting (render: Render): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const text = render(scope)
    trace.drop(mark)
    return text
  }
}

/** Makes an expression report what it prints, as a span. */
function traceWriting (print: Render, path: TracedPath | undefined, at: Position, beside: Beside): Render {
  const writer = writerAt(at, beside)
  const printOther: Render = scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const text = print(scope)
    trace.write(text, writer, scope.rendering.partial, mark)
    return text
  }
  return path === undefined ? printOther : tracePathWriting(path, pathWriter(at, beside, path.names), printOther)
}

/** Makes an expression report what it prints: the faster way, for a path that gives a text or a number, as nearly all expressions do. */
function tracePathWriting (path: TracedPath, writer: PathWriter, printOther: Render): Render {
  return path.isPlain ? tracePlainWriting(path, writer, printOther) : traceEvaluatedWriting(path, writer, printOther)
}

function tracePlainWriting (path: TracedPath, { below, belowRoot }: PathWriter, printOther: Render): Render {
  return scope => {
    const { run, partial } = scope.rendering
    const root = rootOf(scope, path)
    const value = readPlain(scope, path, root)
    if (typeof value !== 'string' && typeof value !== 'number') return printOther(scope)
    const text = `${value}`
    const isWritten = root === undefined
      ? traceOf(run).writeBelow(text, below, provenanceOf(scope), partial)
      : traceOf(run).writeBelow(text, belowRoot, root.ofVariables(), partial)
    return isWritten ? text : printOther(scope)
  }
}

function traceEvaluatedWriting ({ evaluate, startOf }: TracedPath, { below }: PathWriter, printOther: Render): Render {
  return scope => {
    const { run, partial } = scope.rendering
    const trace = traceOf(run)
    const { mark } = trace
    const value = evaluate(scope)
    const isPlain = trace.mark === mark && (typeof value === 'string' || typeof value === 'number')
    trace.drop(mark)
    const text = `${isPlain ? value : ''}`
    return isPlain && trace.writeBelow(text, below, startOf(scope), partial) ? text : printOther(scope)
  }
}

/** Makes a call report that its value was made from what its arguments have read. */
function traceMaking (evaluate: Evaluate): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.seal(mark)
    return value
  }
}

const FALLBACK = originated([{ kind: 'default' }])

/** Makes the fallback of a `default` report that it is used. */
function traceFallback (evaluate: Evaluate): Evaluate {
  return scope => {
    traceOf(scope.rendering.run).read(FALLBACK)
    return evaluate(scope)
  }
}

/**
 * Makes the header of a block (the expression after `#each`, `#with` or `#`) note its value and the value's provenance in the trace, where the block's
 * body finds them.
 */
function traceHeader (evaluate: Evaluate): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.header = { value, provenance: trace.take(mark) }
    return value
  }
}

/** Makes a block's body note the provenance of its context, in each round if the block is a loop. */
function traceInner (body: Render): Render {
  return inner => {
    const { data, params, outer, rendering } = inner
    const trace = traceOf(rendering.run)
    // Inner blocks overwrite the header of the trace, so it is kept here for all rounds.
    const header = (inner.header ??= trace.header as Header)
    const isLoop = data !== outer?.data
    const provenance = isLoop ? ofElement(trace, header, data?.key as string | number) : ofContext(header, inner)
    inner.provenance = provenance
    if (isLoop && data !== undefined) data.provenance = provenance
    if (params !== undefined && params !== outer?.params) params.provenance = provenance
    return body(inner)
  }
}

function ofElement (trace: Trace, { value, provenance }: Header, key: string | number): Provenance {
  if (Array.isArray(value) && provenance.source !== undefined) return memberOf(provenance, key)
  const found = trace.member(provenance, value, String(key))
  return value instanceof LazyNode || found !== provenance ? found : made([provenance])
}

/** The provenance of a block's context. A block over `true` keeps the context around it. */
function ofContext ({ value, provenance }: Header, { context, outer }: Scope): Provenance {
  return value === context || outer === undefined ? provenance : provenanceOf(outer)
}

/** Makes the closure of a partial's argument report where the argument's value comes from. */
function traceArgument ({ evaluate, traced: path }: Compiled): Evaluate {
  const evaluateOther = traceOther(evaluate)
  if (path?.isPlain !== true) return evaluateOther
  return scope => {
    const root = rootOf(scope, path)
    const value = readPlain(scope, path, root)
    if (value === undefined || !isData(value)) return evaluateOther(scope)
    const way = root === undefined ? followed(provenanceOf(scope), path.names) : followed(root.ofVariables(), path.names, 1)
    traceOf(scope.rendering.run).hand(way)
    return value
  }
}

function traceOther (evaluate: Evaluate): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.hand(trace.take(mark))
    return value
  }
}

/** Makes the closure of a partial's named argument report where the argument's value comes from. */
function traceNamedArgument (evaluate: Evaluate, name: string): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.handNamed(name, trace.take(mark))
    return value
  }
}

/** Indents the spans (the explained pieces of output) of a partial in the same way as the partial's text. */
function traceIndentation (render: Render, indent: string): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { last } = trace
    const text = render(scope)
    trace.rewrite(last, texts => indentTexts(texts, indent))
    return text
  }
}

/** Indents every line of a text that comes in pieces, except an empty last one. The indentation is added to the piece in which the line begins. */
export function indentTexts (pieces: readonly string[], indent: string): string[] {
  let isLineStart = true
  return pieces.map(piece => {
    if (piece === '') return piece
    const start = isLineStart ? indent : ''
    isLineStart = piece.endsWith('\n')
    return start + piece.replace(/\n(?=[^])/g, `\n${indent}`)
  })
}

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
