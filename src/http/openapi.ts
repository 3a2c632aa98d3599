import swagger from '@fastify/swagger'
import { type FastifySchema } from 'fastify'
import swaggerUi from '@fastify/swagger-ui'
import { ENGINE_VERSION } from '../version.ts'
import { type App } from './app-types.ts'
import { ExplanationReply } from './explanation-reply.ts'
import { DiagnosticReply, ErrorReply, OpenAiErrorReply } from './schemas.ts'

/** The API's description: made from the routes' schemas, at `/openapi.json`, with a page to read and try it at `/docs`. */
export async function describeApi (app: App): Promise<void> {
  app.addSchema(ErrorReply)
  app.addSchema(DiagnosticReply)
  app.addSchema(OpenAiErrorReply)
  app.addSchema(ExplanationReply)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'ai-prompt-shell',
        description: 'Runs prompt extensions: renders registered templates with shared variables and tools, and asks a model with them.',
        version: ENGINE_VERSION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }
      },
      tags: [
        { name: 'Prompts', description: 'Render a prompt, or ask the model with it' },
        { name: 'OpenAI', description: 'The same behind OpenAI\'s API, for its clients' },
        { name: 'Registry', description: 'What is registered' },
        { name: 'Publishing', description: 'Register, change and remove it' },
        { name: 'Tools', description: 'Try a tool by hand' },
        { name: 'Status', description: 'How the service is' }
      ]
    },
    hideUntagged: true,
    transform: ({ schema, url }) => ({ schema: withOptionalDefaults(schema), url }),
    refResolver: { buildLocalReference: json => String(json['$id']) }
  })
  await app.register(swaggerUi, { routePrefix: '/docs', logLevel: 'warn' })
  app.get('/openapi.json', { logLevel: 'warn', schema: { hide: true } }, () => app.swagger())
  for (const url of ['/swagger', '/documentation']) {
    app.get(url, { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'))
  }
}

/** A query parameter with a default may be left out, although handlers always find it there. */
function withOptionalDefaults (schema: FastifySchema): FastifySchema {
  const query = schema.querystring as { properties: Record<string, object>, required?: string[] } | undefined
  if (query?.required === undefined) return schema
  return { ...schema, querystring: { ...query, required: query.required.filter(name => !Object.hasOwn(query.properties[name] ?? {}, 'default')) } }
}
