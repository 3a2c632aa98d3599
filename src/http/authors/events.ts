import { Type } from '../../base/schema-builder.ts'
import { type Service } from '../../service.ts'
import { type App } from '../base/app-types.ts'
import { holdStream, sendEvents } from '../base/send-events.ts'
import { EventStreams } from './event-streams.ts'

const Events = Type.String({
  description: 'Events. `changed` {revision, kinds, ids, more}: what the caller\'s listings would now say otherwise. `kinds` are prompts, tools, extensions, environs and so on, and `problems` for what `/api/status/entries` says; ' +
    '`ids` are at most 500 of them, sorted by kind, and `more` is how many more there are. `revision` is that of all that is registered, for a caller from whom nothing of it is hidden. ' +
    '`error` {code, message}: the stream ends, since the token is gone or has lost its role. A comment every 15 s says that the stream is open'
})

/** The route that streams changes of entries as server-sent events, so that lists in a client can refresh. */
export function eventRoutes (app: App, { registry, keyPrefix, rights }: Pick<Service, 'registry' | 'keyPrefix' | 'rights'>): void {
  const streams = new EventStreams(registry, keyPrefix, rights)
  app.addHook('preClose', async () => { streams.close() })

  app.get('/api/events', {
    config: { role: 'read', fails: ['TOO_MANY_STREAMS'] },
    schema: {
      tags: ['Status'],
      operationId: 'followChanges',
      summary: 'Follow what changes as server-sent events',
      description: 'Nothing is repeated: whoever comes back reads its lists again when `x-registry-revision` has moved. Shared variables are told of where the store pushes its changes.',
      response: { 200: { description: 'Events', content: { 'text/event-stream': { schema: Events } } } }
    }
  }, async (request, reply) => {
    holdStream(request, reply)
    const stream = streams.open(() => request.callerNow())
    reply.raw.once('close', () => { stream.destroy() })
    return await sendEvents(reply, stream)
  })
}
