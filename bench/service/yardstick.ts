// A Fastify server that does as little as can be asked for, beside the service. YARDSTICK=echo answers with bytes that it
// has ready, literal writes the prompt by hand. Both check, log and count requests as the service does, with its own
// modules; with BARE=true they do not.
import { randomUUID } from 'node:crypto'
import { type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { type App } from '../../src/http/app-types.ts'
import { RenderBody } from '../../src/http/prompt-body.ts'
import { observeRequests } from '../../src/http/request-log.ts'
import { schemaController } from '../../src/http/schema-controller.ts'
import { IdParameters } from '../../src/http/schemas.ts'
import { openLog } from '../../src/observe/log.ts'
import { Metrics } from '../../src/observe/metrics.ts'
import { createObserver } from '../../src/observe/observer.ts'
import { type Generation } from '../../src/registry/generation.ts'
import { REPLY, renderByHand, type Variables } from './payload.ts'

const PROMPT = 'handlebars.prompt0'
const REVISION = 'RpxSPWqS7NC1'

const isBare = process.env['BARE'] === 'true'
const isEcho = process.env['YARDSTICK'] === 'echo'

const { log }: { readonly log: FastifyBaseLogger } = openLog({ level: 'info', values: false })
const app: App = fastify(isBare
  ? {}
  : {
      loggerInstance: log,
      logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
      schemaController: schemaController(),
      genReqId: () => randomUUID()
    }).withTypeProvider<TypeBoxTypeProvider>()

if (!isBare) {
  app.decorateRequest('generation')
  app.addHook('onRequest', (request, _reply, done) => {
    // All that a log line reads of it.
    request.generation = { revision: REVISION } as Generation
    done()
  })
  observeRequests(app, createObserver(new Metrics(), undefined), false)
}

app.post('/api/render/prompts/:id', isBare ? {} : { schema: { params: IdParameters, body: RenderBody } }, async (request, reply) => {
  const watch = isBare ? undefined : request.activity.beginRender(PROMPT, REVISION)
  if (isEcho) {
    watch?.ended('ok', 1)
    return reply.type('application/json; charset=utf-8').send(REPLY)
  }
  const answer = { rendered_prompt: renderByHand((request.body as { variables: Variables }).variables), status: 'success' }
  watch?.ended('ok', 1)
  return answer
})

console.log(`Server listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
process.on('disconnect', () => process.exit())
