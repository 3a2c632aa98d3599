// A Fastify server that does as little as can be asked for, beside the service. YARDSTICK=echo answers with bytes that it
// has ready, literal writes the prompt by hand; with BARE=true without the validation, logs and metrics of the service.
import { type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify from 'fastify'
import { Histogram, Registry } from 'prom-client'
import { Type } from 'typebox'
import { pino } from 'pino'
import { REPLY, renderByHand, type Variables } from './payload.ts'

const isBare = process.env['BARE'] === 'true'
const isEcho = process.env['YARDSTICK'] === 'echo'

const log = pino(pino.destination({ sync: false, minLength: 4096 }))
const app = fastify({ logger: false }).withTypeProvider<TypeBoxTypeProvider>()
const body = Type.Object({ variables: Type.Object({}, { additionalProperties: true }) })

if (!isBare) {
  const histogram = new Histogram({ name: 'requests_seconds', help: 'requests', labelNames: ['route', 'status'], registers: [new Registry()] })
  app.addHook('onResponse', (request, reply, done) => {
    const milliseconds = reply.elapsedTime
    histogram.observe({ route: request.routeOptions.url ?? '', status: reply.statusCode }, milliseconds / 1000)
    log.info({ requestId: request.id, method: request.method, route: request.routeOptions.url, status: reply.statusCode, milliseconds }, 'request')
    done()
  })
}

app.post('/api/render/prompts/:id', isBare ? {} : { schema: { body } }, async (request, reply) => {
  if (isEcho) return reply.type('application/json; charset=utf-8').send(REPLY)
  return { rendered_prompt: renderByHand((request.body as { variables: Variables }).variables), status: 'success' }
})

console.log(`Server listening at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
process.on('disconnect', () => process.exit())
