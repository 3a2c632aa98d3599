import { type Caller } from '../../access/caller.ts'
import { Type } from '../../base/schema-builder.ts'
import { type App } from '../base/app-types.ts'

/** Gives all metrics in Prometheus' text format. */
export type ReadMetrics = () => Promise<string>

/**
 * The route of the metrics for Prometheus. Metrics name prompts, tools and models and show how much they are used, so the route requires the
 * role `read`, with which a caller can list prompts and tools. A token that gives access only to some prompts does not see the metrics of the
 * others. Prometheus can send a token (`authorization` in its scrape configuration).
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

/** The text of the metrics without the lines of prompts that are hidden from the caller. */
function visibleLines (text: string, { prompts: patterns }: Caller): string {
  if (patterns === undefined) return text
  return text.split('\n').filter(line => {
    const [, prompt] = /[{,]prompt="((?:[^"\\]|\\.)*)"/.exec(line) ?? []
    return prompt === undefined || patterns.allows(prompt)
  }).join('\n')
}
