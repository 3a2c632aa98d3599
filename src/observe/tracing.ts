import { type Log } from '../base/log.ts'
import { type Tracer } from './span.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Makes the tracer that exports traces; `undefined` unless the standard variables of OpenTelemetry name an exporter. The SDK is loaded only then,
 * since it costs a tenth of a second at the start.
 */
export async function openTracer (environment: Environment, log: Log): Promise<Tracer | undefined> {
  if (!isConfigured(environment)) return undefined
  const protocol = environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? environment['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'http/json'
  if (protocol !== 'http/json') log.warn({ protocol }, 'traces are sent as http/json, which collectors take at the same address as http/protobuf')
  const { createTracer } = await import('./open-telemetry.ts')
  return createTracer(log)
}

/** Whether the environment asks for traces: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
function isConfigured (environment: Environment): boolean {
  const given = (name: string): boolean => (environment[name] ?? '') !== ''
  if (environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none') return false
  return given('OTEL_EXPORTER_OTLP_ENDPOINT') || given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
}
