import swagger from '@fastify/swagger'
import { type FastifySchema } from 'fastify'
import { type Role } from '../../access/role.ts'
import { type TSchema, Type } from '../../base/schema-builder.ts'
import { ENGINE_VERSION } from '../../base/version.ts'
import { type App } from '../app-types.ts'
import { ExplanationReply } from '../explanation-reply.ts'
import { showApi } from './api-page.ts'
import { errorShapeOf } from '../error-shapes.ts'
import { SkillErrorReply } from '../skills/skill-envelope.ts'
import { completeReplies } from './openapi-replies.ts'
import { DiagnosticReply, ErrorReply, OpenAiErrorReply, UpstreamErrorReply } from './schemas.ts'

const DESCRIPTION = `Runs prompt extensions: renders registered templates with shared variables and tools, and asks a model with them. Agents, skills and plans are sessions, which last.

**Without tokens** nobody is asked for one, everybody is the same caller, and 401 and \`ROLE_MISSING\` never come. All sessions belong to that caller. The service listens on loopback addresses only.

**\`AUTH=off\`** is the same wherever it listens: whoever can reach it reads, renders and asks models. Calls that need \`write\`, \`run\`, \`approve\` or \`admin\` are this machine's: from elsewhere, or through a proxy, they are 403 \`WRITE_NOT_LOCAL\`. In both cases another name in \`Host\` is 403 \`HOST_NOT_ALLOWED\`, and what a browser sends for a page of another host is 403 \`ORIGIN_FOREIGN\`.`

/** The API's description: made from the routes' schemas, at `/openapi.json`, with a page to read and try it at `/docs`. */
export async function describeApi (app: App): Promise<void> {
  app.addSchema(ErrorReply)
  app.addSchema(DiagnosticReply)
  app.addSchema(OpenAiErrorReply)
  app.addSchema(SkillErrorReply)
  app.addSchema(UpstreamErrorReply)
  app.addSchema(ExplanationReply)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'ai-prompt-shell',
        description: DESCRIPTION,
        version: ENGINE_VERSION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }
      },
      tags: [
        { name: 'Prompts', description: 'Render a prompt, or ask the model with it' },
        { name: 'Other paths', description: 'The same calls under the paths of the resource' },
        { name: 'OpenAI', description: 'The same behind OpenAI\'s API, for its clients' },
        { name: 'Registry', description: 'What is registered' },
        { name: 'Publishing', description: 'Register, change and remove it' },
        { name: 'Tools', description: 'Try a tool by hand' },
        { name: 'Status', description: 'How the service is' }
      ],
      components: {
        securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token of this service, where its operator has configured any. Each call lists the role that it needs; `admin` stands for all.' } }
      }
    },
    hideUntagged: true,
    transform: ({ schema, url, route }) => ({ schema: withRefusals(withAccess(withOptionalDefaults(schema), url, route.config)), url }),
    transformObject: given => 'openapiObject' in given ? completeReplies(given.openapiObject) : given.swaggerObject,
    refResolver: { buildLocalReference: json => String(json['$id']) }
  })
  await showApi(app)
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

/** What the heads of requests, access control, limits, a full house and the router add to routes; more where a role is asked for. */
function withAccess (schema: FastifySchema, url: string, { role, orRole }: { readonly role?: Role, readonly orRole?: Role } = {}): FastifySchema {
  const reply = Type.Ref(errorShapeOf(url)?.schema ?? 'Error')
  const tooLong = schema.params === undefined ? {} : { 414: reply }
  // What Node refuses before there is a request knows no path, and so has the one shape everywhere.
  const error = Type.Ref('Error')
  const head = { 400: reply, 403: reply, 408: error, ...tooLong, 415: reply, 417: reply, 431: error }
  if (role === undefined) return { ...schema, response: { ...head, ...schema.response as object } }
  return { ...schema, security: [{ token: [role] }, ...orRole === undefined ? [] : [{ token: [orRole] }]], response: { ...head, 401: reply, 429: reply, 503: reply, ...schema.response as object } }
}

/** Statuses that a model's API never refuses with, as callers see it: what they stand for is no fault of the request. */
const OWN_STATUSES: ReadonlySet<string> = new Set(['401', '403', '408', '425', '429'])

/** Where a model is asked, its API may refuse with a status that the service itself answers with. */
function withRefusals (schema: FastifySchema): FastifySchema {
  const response = schema.response as Readonly<Record<string, TSchema>> | undefined
  const refusal = response?.['4XX']
  if (response === undefined || refusal === undefined) return schema
  const mayBeRefusal = (status: string) => /^4\d\d$/.test(status) && !OWN_STATUSES.has(status)
  return { ...schema, response: Object.fromEntries(Object.entries(response).map(([status, reply]) => [status, mayBeRefusal(status) ? Type.Union([reply, refusal]) : reply])) }
}
