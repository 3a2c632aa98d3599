/** Never contain values of variables or secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface Span {
  readonly traceId: string
  /** The W3C trace context to send with calls that belong to this span: https://www.w3.org/TR/trace-context/ */
  readonly traceparent: string
  child (name: string, kind: 'internal' | 'client', attributes: SpanAttributes): Span
  event (name: string, attributes: SpanAttributes): void
  end (attributes: SpanAttributes, error?: string): void
}

export interface Tracer {
  begin (name: string, attributes: SpanAttributes, parent: TraceContext | undefined): Span
  /** Sends the spans that were not sent yet, within a bounded time. */
  close (): Promise<void>
}

export interface TraceContext {
  readonly traceparent: string
  readonly traceId: string
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/

/** Parts that a later version of the standard may add are ignored, as the standard demands. */
export function parseTraceparent (header: string | string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string') return undefined
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, traceId }
}

export function spanVersion (revision: string, version: number | undefined, label: string | undefined): SpanAttributes {
  return {
    'gen_ai.prompt.version': version === undefined ? revision : String(version),
    'prompt_shell.prompt.revision': version === undefined ? undefined : revision,
    'prompt_shell.prompt.label': label
  }
}
