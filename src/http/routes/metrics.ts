import { Type } from 'typebox'
import { type App } from '../app-types.ts'

/** Gives all metrics in Prometheus' text format. */
export type ReadMetrics = () => Promise<string>

/**
 * The metrics, for Prometheus. They name prompts, tools and models and tell how much each is used, so they ask for the
 * role that may list them; Prometheus sends a token (`authorization` of its scrape configuration).
 */
export function metricsRoutes (app: App, { readMetrics }: { readMetrics: ReadMetrics }): void {
  app.get('/metrics', {
    logLevel: 'warn',
    config: { role: 'read' },
    schema: {
      tags: ['Status'],
      operationId: 'getMetrics',
      summary: 'Metrics in Prometheus\' text format',
      response: { 200: { description: 'All metrics', content: { 'text/plain': { schema: Type.String() } } } }
    }
  }, async (_request, reply) => reply.type('text/plain; version=0.0.4; charset=utf-8').serializer(String).send(await readMetrics()))
}
