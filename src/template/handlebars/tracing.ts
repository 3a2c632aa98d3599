import {
  type Beside, followed, type LiteralText, literalWriter, made, memberOf, originated, pathWriter, type PathWriter, type Provenance, writerAt
} from '../provenance.ts'
import { traceOf } from '../scope.ts'
import type { Position } from '../tags.ts'
import type { Header, Trace } from '../trace.ts'
import { isData, LazyNode } from '../value.ts'
import type { PathNode } from './parse.ts'
import { provenanceOf, readPlain, rootOf, traceContext, tracePath } from './trace-paths.ts'
import type { Compiled, Evaluator, FoundParam, Render, Scope, TracedPath } from './scope.ts'

// Wraps the closures of statements, to report to the trace. Each scope has the provenance of context, parameters and loop data.

function traceEntry (render: Render): Render {
  return scope => {
    scope.provenance = traceOf(scope.rendering.run).takeArgument()
    return render(scope)
  }
}

export function traceLiteral (literal: LiteralText): Render {
  const writer = literalWriter(literal)
  return ({ rendering }) => {
    traceOf(rendering.run).writeLiteral(literal.text, writer, rendering.partial)
    return ''
  }
}

/** `leavesReads`: a block leaves tested values in the trace, to be forgotten; a partial has taken them for its arguments. */
export function tracePart (render: Render, before: LiteralText | undefined, leavesReads: boolean): Render {
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

/** Faster, for paths that give a text or a number, as nearly all do. */
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

function traceMaking (evaluate: Evaluator): Evaluator {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.seal(mark)
    return value
  }
}

const FALLBACK = originated([{ kind: 'default' }])

function traceFallback (evaluate: Evaluator): Evaluator {
  return scope => {
    traceOf(scope.rendering.run).read(FALLBACK)
    return evaluate(scope)
  }
}

function traceHeader (evaluate: Evaluator): Evaluator {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.header = { value, provenance: trace.take(mark) }
    return value
  }
}

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

/** A block over `true` keeps the context around it. */
function ofContext ({ value, provenance }: Header, { context, outer }: Scope): Provenance {
  return value === context || outer === undefined ? provenance : provenanceOf(outer)
}

function traceArgument ({ evaluate, traced: path }: Compiled): Evaluator {
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

function traceOther (evaluate: Evaluator): Evaluator {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.hand(trace.take(mark))
    return value
  }
}

function traceNamedArgument (evaluate: Evaluator, name: string): Evaluator {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.handNamed(name, trace.take(mark))
    return value
  }
}

function traceIndentation (render: Render, indent: string): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { last } = trace
    const text = render(scope)
    trace.rewrite(last, texts => indentTexts(texts, indent))
    return text
  }
}

/** Except an empty last line. Indentation goes to the piece in which the line begins. */
export function indentTexts (pieces: readonly string[], indent: string): string[] {
  let isLineStart = true
  return pieces.map(piece => {
    if (piece === '') return piece
    const start = isLineStart ? indent : ''
    isLineStart = piece.endsWith('\n')
    return start + piece.replace(/\n(?=[^])/g, `\n${indent}`)
  })
}

/** Lets closures report to a trace. Explained templates are compiled apart: one compile for both costs a fifth more time, twice the memory. */
export interface Tracing {
  readonly isOn: boolean
  entry (render: Render): Render
  inner (render: Render): Render
  header (evaluate: Evaluator): Evaluator
  writing (print: Render, path: Compiled['traced'], at: Position, beside: Beside): Render
  path (path: PathNode, param: FoundParam | undefined, compiled: Compiled): Compiled
  context (compiled: Compiled): Compiled
  making (evaluate: Evaluator): Evaluator
  fallback (evaluate: Evaluator): Evaluator
  argument (compiled: Compiled): Evaluator
  namedArgument (evaluate: Evaluator, name: string): Evaluator
  indentation (render: Render, indent: string): Render
}

function same<T> (given: T): T {
  return given
}

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
