import { randomUUID } from 'node:crypto'
import { type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { type App } from '../src/http/app.ts'
import { observeRequests } from '../src/http/request-log.ts'
import { schemaController } from '../src/http/validation.ts'
import { openLog } from '../src/observe/log.ts'
import { Metrics } from '../src/observe/metrics.ts'
import { type Generation } from '../src/registry/generation.ts'

/** Of a prompt that no yardstick has. */
export const REVISION = 'RpxSPWqS7NC1'

/** Bare Fastify, for a yardstick that neither checks nor logs nor counts. */
export function createBareApp (): App {
  return fastify().withTypeProvider<TypeBoxTypeProvider>()
}

/** Fastify that checks, logs and counts requests as the service does, with its own modules. */
export function createYardstickApp (): App {
  const { log }: { readonly log: FastifyBaseLogger } = openLog({ level: 'info', values: false }, false)
  const app: App = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    schemaController: schemaController(),
    genReqId: () => randomUUID()
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.decorateRequest('generation')
  app.addHook('onRequest', (request, _reply, done) => {
    // All that a log line reads of it.
    request.generation = { revision: REVISION } as Generation
    done()
  })
  observeRequests(app, { metrics: new Metrics(), tracer: undefined }, false)
  return app
}

/** Says where it listens, as the service does, and ends with the benchmark. */
export async function listenAsYardstick (app: App): Promise<void> {
  console.log(`Server listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
  process.on('disconnect', () => process.exit())
}
