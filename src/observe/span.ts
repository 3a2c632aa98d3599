/** Facts about a piece of work in a trace. They never contain values of variables or secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A piece of work in a distributed trace. Spans exist only while traces are exported. */
export interface Span {
  readonly traceId: string
  /** The W3C trace context to send with calls that belong to this span: https://www.w3.org/TR/trace-context/ */
  readonly traceparent: string
  /** Begins a span below this one. @param kind `client` for a call that leaves the process */
  child (name: string, kind: 'internal' | 'client', attributes: SpanAttributes): Span
  event (name: string, attributes: SpanAttributes): void
  /** Ends the span. @param error the code of what went wrong; `undefined` for a success */
  end (attributes: SpanAttributes, error?: string): void
}

/** Begins traces, and exports them. */
export interface Tracer {
  /** Begins the first span of the service in a trace. @param parent the caller's trace context, parsed from its `traceparent` */
  begin (name: string, attributes: SpanAttributes, parent: TraceContext | undefined): Span
  /** Sends the spans that were not sent yet, within a bounded time. */
  close (): Promise<void>
}

/** The trace context that a caller has sent: it names the trace to which the caller's request belongs. */
export interface TraceContext {
  readonly traceparent: string
  readonly traceId: string
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/

/** Parses a `traceparent` header; `undefined` for an invalid one. Parts that a later version of the standard may add are ignored, as the standard demands. */
export function parseTraceparent (header: string | string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string') return undefined
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, traceId }
}

/** Gives the attributes of a span that say which content of a prompt was used: by the number of the prompt's version or, without one, by a hash. */
export function spanVersion (revision: string, version: number | undefined, label: string | undefined): Readonly<Record<string, string>> {
  return {
    'gen_ai.prompt.version': version === undefined ? revision : String(version),
    ...(version === undefined ? {} : { 'prompt_shell.prompt.revision': revision }),
    ...(label === undefined ? {} : { 'prompt_shell.prompt.label': label })
  }
}
