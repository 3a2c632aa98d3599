// A Fastify server that does as little as can be asked for, beside the service. YARDSTICK=echo answers with bytes that it
// has ready, literal writes the prompt by hand. Both check, log and count requests as the service does; with BARE=true
// they do not.
import { RenderBody } from '../../src/http/prompt-request.ts'
import { PromptId } from '../../src/http/schemas.ts'
import { createBareApp, createYardstickApp, listenAsYardstick, REVISION } from '../yardstick-app.ts'
import { REPLY, renderByHand, type Variables } from './payload.ts'

const PROMPT = 'handlebars.prompt0'

const isBare = process.env['BARE'] === 'true'
const isEcho = process.env['YARDSTICK'] === 'echo'
const app = isBare ? createBareApp() : createYardstickApp()

app.post('/api/render/prompts/:id', isBare ? {} : { schema: { params: PromptId, body: RenderBody } }, async (request, reply) => {
  const watch = isBare ? undefined : request.activity.beginRender(PROMPT, REVISION)
  if (isEcho) {
    watch?.ended('ok', 1)
    return reply.type('application/json; charset=utf-8').send(REPLY)
  }
  const answer = { rendered_prompt: renderByHand((request.body as { variables: Variables }).variables), status: 'success' }
  watch?.ended('ok', 1)
  return answer
})

await listenAsYardstick(app)
