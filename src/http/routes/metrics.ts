import { type Caller } from '../../access/caller.ts'
import { Type } from '../../base/schema-builder.ts'
import { type App } from '../base/app-types.ts'

/** Gives all metrics in Prometheus' text format. */
export type ReadMetrics = () => Promise<string>

/**
 * The metrics, for Prometheus. They name prompts, tools and models and tell how much each is used, so they ask for the
 * role that may list them, and a token with patterns sees its own prompts only; Prometheus sends a token (`authorization`
 * of its scrape configuration).
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
  }, async (request, reply) => {
    const lines = visibleLines(await readMetrics(), request.caller)
    return reply.type('text/plain; version=0.0.4; charset=utf-8').serializer(String).send(lines)
  })
}

/** Without the lines of prompts that do not exist for the caller. */
function visibleLines (text: string, { prompts: patterns }: Caller): string {
  if (patterns === undefined) return text
  return text.split('\n').filter(line => {
    const [, prompt] = /[{,]prompt="((?:[^"\\]|\\.)*)"/.exec(line) ?? []
    return prompt === undefined || patterns.allows(prompt)
  }).join('\n')
}
