/** Facts about a piece of work; never values of variables, never secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A piece of work in a distributed trace. There are none unless traces are exported. */
export interface Span {
  readonly traceId: string
  /** W3C trace context for calls that are made within: https://www.w3.org/TR/trace-context/ */
  readonly traceparent: string
  /** @param kind `client` for a call that leaves the process */
  child (name: string, kind: 'internal' | 'client', attributes: SpanAttributes): Span
  event (name: string, attributes: SpanAttributes): void
  /** @param error what went wrong, as a code; `undefined` when nothing did */
  end (attributes: SpanAttributes, error?: string): void
}

/** Begins traces and exports them. */
export interface Tracer {
  /** @param parent the caller's `traceparent`, checked */
  begin (name: string, attributes: SpanAttributes, parent: TraceContext | undefined): Span
  /** Sends what is not sent yet, within a bounded time. */
  close (): Promise<void>
}

/** A caller's trace context. */
export interface TraceContext {
  readonly traceparent: string
  readonly traceId: string
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/

/**
 * Reads a `traceparent` header; `undefined` for one that is none. What a later version adds to it is left out, as the
 * standard has it.
 */
export function parseTraceparent (header: string | string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string') return undefined
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, traceId }
}
