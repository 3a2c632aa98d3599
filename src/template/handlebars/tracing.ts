import { type Position } from '../language.ts'
import { made, NOWHERE, type Provenance } from '../trace/provenance.ts'
import { traceOf } from '../trace/trace-of.ts'
import { type Trace } from '../trace/trace.ts'
import { LazyNode, type Value } from '../value.ts'
import { type Statement } from './ast.ts'
import { positionOf } from './parse.ts'
import { type Evaluate, type LoopData, type Params, type Render, type Rendering, type Scope } from './scope.ts'

// What a template that is compiled to be explained has around its closures. Where the context of a scope comes from,
// block parameters and loop data too, is bound to them in the trace.

/** The templates of partials, and whose they are; positions in a span are in that template. */
const partials = new WeakMap<Rendering, string>()

/** What a block looks at, as it stands when the block's body is entered. */
interface Header { readonly value: Value, readonly provenance: Provenance }

/** The header of the block whose body comes next, by pass. */
const nextHeaders = new WeakMap<Trace, Header>()
/** The header of a block whose body runs, by the body's scope. */
const headers = new WeakMap<Scope, Header>()

/** Puts a trace around a whole template. */
export function traceTemplate (render: Render): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { argument, partial } = trace.takeEntry()
    if (partial !== undefined) partials.set(scope.rendering, partial)
    trace.bind(scope, argument)
    return render(scope)
  }
}

/** Puts a trace around the body of an inline partial, or of a block that is given to a partial. */
export function traceEntry (render: Render): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    trace.bind(scope, trace.takeEntry().argument)
    return render(scope)
  }
}

/** Makes a part of a sequence one that leaves no reads behind; text becomes a part that says that it writes. */
export function tracePart (part: string | Render, { loc }: Statement): Render {
  if (typeof part === 'string') {
    const at = positionOf(loc.start)
    return ({ rendering }) => {
      traceOf(rendering.run).write(part, at, partials.get(rendering))
      return part
    }
  }
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const text = part(scope)
    trace.drop(mark)
    return text
  }
}

/** Makes a span of what an expression prints. */
export function traceWriting (print: Render, at: Position): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const text = print(scope)
    trace.write(text, at, partials.get(scope.rendering), mark)
    return text
  }
}

/** Says that a call's value is made of what its arguments read. */
export function traceMaking (evaluate: Evaluate): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.seal(mark)
    return value
  }
}

const FALLBACK: Provenance = { ...NOWHERE, origins: [{ kind: 'default' }] }

/** Says that a fallback is used. */
export function traceFallback (evaluate: Evaluate): Evaluate {
  return scope => {
    traceOf(scope.rendering.run).read(FALLBACK)
    return evaluate(scope)
  }
}

/** Keeps what a block's header reads for the block's body. */
export function traceHeader (evaluate: Evaluate): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    nextHeaders.set(trace, { value, provenance: trace.take(mark) })
    return value
  }
}

/** Says where the context comes from that a block's body runs with, in each round if the block is a loop. */
export function traceInner (body: Render, hasParams: boolean): Render {
  return inner => {
    const trace = traceOf(inner.rendering.run)
    const header = headers.get(inner) ?? nextHeaders.get(trace) as Header
    headers.set(inner, header)
    const isLoop = inner.data !== inner.outer?.data
    const provenance = isLoop ? ofElement(trace, header, String(inner.data?.key)) : ofContext(trace, header, inner)
    trace.bind(inner, provenance)
    if (isLoop) trace.bind(inner.data as LoopData, made([provenance]))
    if (hasParams) trace.bind(inner.params as Params, provenance)
    return body(inner)
  }
}

function ofElement (trace: Trace, { value, provenance }: Header, key: string): Provenance {
  const found = trace.member(provenance, value, key)
  return value instanceof LazyNode || found !== provenance ? found : made([provenance])
}

/** A block over `true` keeps the context that is there. */
function ofContext (trace: Trace, { value, provenance }: Header, { context, outer }: Scope): Provenance {
  return value === context || outer === undefined ? provenance : trace.boundTo(outer) ?? NOWHERE
}

/** Says what a partial is called with. */
export function traceArgument (evaluate: Evaluate, isGiven: boolean): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    const read = trace.take(mark)
    trace.hand(isGiven ? read : trace.boundTo(scope) ?? NOWHERE)
    return value
  }
}

/** Says what a partial is called with under a name. */
export function traceNamedArgument (evaluate: Evaluate, name: string): Evaluate {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    trace.handNamed(name, trace.take(mark))
    return value
  }
}

/** Indents the spans of a partial as its text is indented. */
export function traceIndentation (render: Render, indent: string): Render {
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const from = trace.length
    const text = render(scope)
    trace.indent(from, indent)
    return text
  }
}
