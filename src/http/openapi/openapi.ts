import swagger from '@fastify/swagger'
import fastify, { type FastifyContextConfig, type FastifySchema, type RouteOptions } from 'fastify'
import { type ErrorCode, statusOf } from '../../base/error-codes.ts'
import { type TSchema, Type } from '../../base/schema-builder.ts'
import { ENGINE_VERSION } from '../../base/version.ts'
import { type SchemaTypes } from '../base/app-types.ts'
import { ExplanationReply } from '../prompts/explanation-reply.ts'
import { showApi } from './api-page.ts'
import { schemaController } from './schema-controller.ts'
import { handleErrors, refusePath } from '../base/error-handler.ts'
import { errorShapeOf } from '../base/error-shapes.ts'
import { SkillErrorReply } from '../base/skill-envelope.ts'
import { isBeforeRequest } from './openapi-examples.ts'
import { type CallFacts, completeReplies } from './openapi-replies.ts'
import { DiagnosticReply, ErrorReply, OpenAiErrorReply, UpstreamErrorReply } from '../base/schemas.ts'

const DESCRIPTION = [
  'Runs prompt extensions: renders registered templates with shared variables and tools, and asks a model with them. Agents, skills and plans are sessions, which last.',
  '',
  '**Without tokens** nobody is asked for one, everybody is the same caller, and 401 and `ROLE_MISSING` never come. All sessions belong to that caller. The service listens on loopback addresses only.',
  '',
  '**`AUTH=off`** is the same wherever it listens: whoever can reach it reads, renders and asks models. Calls that need `write`, `run`, `approve` or `admin` are this machine\'s: from elsewhere, or through a proxy, they are 403 `WRITE_NOT_LOCAL`. In both cases another name in `Host` is 403 `HOST_NOT_ALLOWED`, and what a browser sends for a page of another host is 403 `ORIGIN_FOREIGN`.'
].join('\n')

/** The options of one route of the service that the description of the API needs. */
export type Call = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

/**
 * Makes the inner server that describes the API: it has the OpenAPI document at `/openapi.json`, a page to read and try the
 * API at `/docs`, and answers no calls itself.
 */
export async function describeCalls (calls: readonly Call[]) {
  const options = { schemaController: schemaController(), exposeHeadRoutes: false, requestIdHeader: 'x-request-id', frameworkErrors: refusePath }
  const app = fastify(options).withTypeProvider<SchemaTypes>()
  handleErrors(app, false)
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
        { name: 'Tests', description: 'What has to hold of prompts' },
        { name: 'Tools', description: 'Try a tool by hand' },
        { name: 'Sessions', description: 'What lasts: follow it, answer it, allow what waits, end it' },
        { name: 'Agents', description: 'Talk to an agent' },
        { name: 'Skills', description: 'Run a skill on a target' },
        { name: 'Terminals', description: 'Type into a shell on a target' },
        { name: 'Plans', description: 'Have files changed, and take it back' },
        { name: 'Status', description: 'How the service is' }
      ],
      components: {
        securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token of this service, where its operator has configured any. Each call lists the role that it needs; `admin` stands for all but `terminal`.' } }
      }
    },
    hideUntagged: true,
    transform: ({ schema, url, route }) => ({
      schema: withRefusals(describeRoute({ schema: withOptionalDefaults(schema), url, method: route.method, config: route.config })),
      url
    }),
    transformObject: given => 'openapiObject' in given ? completeReplies(given.openapiObject) : given.swaggerObject,
    refResolver: { buildLocalReference: json => String(json['$id']) }
  })
  await showApi(app)
  for (const call of calls) app.route({ ...call, handler: () => {} })
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
  return app
}

/** A route in the form that `@fastify/swagger` hands over. */
interface DescribedRoute {
  readonly schema: FastifySchema
  readonly url: string
  readonly method: string | readonly string[]
  readonly config?: FastifyContextConfig | undefined
}

/** Marks query parameters with a default as optional: clients may leave them out, while handlers always find a value. */
function withOptionalDefaults (schema: FastifySchema): FastifySchema {
  const declared = schema.querystring as { properties: Record<string, object>, required?: string[] } | undefined
  if (declared?.required === undefined) return schema
  const required = declared.required.filter(name => !Object.hasOwn(declared.properties[name] ?? {}, 'default'))
  return { ...schema, querystring: { ...declared, required } }
}

/** The errors that every route can answer with: faults in the head of a request. */
const OF_EVERY_ROUTE: readonly ErrorCode[] = [
  'REQUEST_INVALID', 'HOST_NOT_ALLOWED', 'REQUEST_TIMEOUT', 'ENCODING_UNSUPPORTED', 'EXPECTATION_UNKNOWN', 'HEADERS_TOO_LARGE'
]

/** Further errors of every route that requires a role: access control, limits, overload, and a store that was never read. */
const OF_ROLES: readonly ErrorCode[] = ['TOKEN_REQUIRED', 'TOKEN_UNKNOWN', 'ROLE_MISSING', 'RATE_LIMITED', 'OVERLOADED', 'STORE_UNAVAILABLE']

/** The errors that a route can answer with: its own, and those that it shares with others. */
function codesOf ({ method, schema, config }: DescribedRoute): readonly ErrorCode[] {
  return [
    ...OF_EVERY_ROUTE,
    ...(schema.params === undefined ? [] : ['URL_TOO_LONG' as const]),
    ...(method === 'GET' ? [] : ['BODY_TOO_LARGE' as const]),
    ...(schema.body === undefined ? [] : ['MEDIA_TYPE_UNSUPPORTED' as const]),
    ...(config?.role === undefined ? [] : OF_ROLES),
    ...config?.fails ?? []
  ]
}

/** Completes a route's schema with the route's errors and roles, and with the error codes and headers that `completeReplies` needs later. */
function describeRoute (route: DescribedRoute): FastifySchema & CallFacts {
  const { schema, url, config: { role, orRole, headers = [] } = {} } = route
  const codes = codesOf(route)
  // Errors that Node raises before it has read a request have no path, and so have the service's own shape everywhere.
  const errors = codes.map(code => [statusOf(code), Type.Ref(isBeforeRequest(code) ? 'Error' : errorShapeOf(url)?.schema ?? 'Error')] as const)
  return {
    ...schema,
    ...(role === undefined ? {} : { security: [{ token: [role] }, ...orRole === undefined ? [] : [{ token: [orRole] }]] }),
    response: { ...Object.fromEntries(errors), ...schema.response as object },
    'x-facts': { codes, headers }
  }
}

/** Statuses of a model's API that are not passed on to callers, since they are no fault of the caller's request. */
const OWN_STATUSES: ReadonlySet<string> = new Set(['401', '403', '408', '425', '429'])

/**
 * Changes the schemas of 4xx errors of a route that passes on the errors of a model's API: such a reply may have the service's form or the
 * form of that API.
 */
function withRefusals (schema: FastifySchema): FastifySchema {
  const response = schema.response as Readonly<Record<string, TSchema>> | undefined
  const refusal = response?.['4XX']
  if (response === undefined || refusal === undefined) return schema
  const mayBeRefusal = (status: string) => /^4\d\d$/.test(status) && !OWN_STATUSES.has(status)
  return {
    ...schema,
    response: Object.fromEntries(Object.entries(response).map(([status, reply]) => [status, mayBeRefusal(status) ? Type.Union([reply, refusal]) : reply]))
  }
}
