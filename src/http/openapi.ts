import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fastify, { type FastifyContextConfig, type FastifySchema, type RouteOptions } from 'fastify'
import { type ErrorCode, statusOf } from '../base/errors.ts'
import * as errors from '../base/errors.ts'
import { type TSchema, Type } from '../schema/builder.ts'
import { ENGINE_VERSION } from '../base/version.ts'
import type { App, ReplyHeader, SchemaTypes } from './app.ts'
import { errorBody, errorShapeOf, handleErrors, refusePath, SkillErrorReply } from './error-replies.ts'
import { DiagnosticReply, ErrorReply, OpenAiErrorReply, UpstreamErrorReply } from './schemas.ts'
import { ExplanationReply } from './prompt-request.ts'
import { schemaController } from './validation.ts'

const REQUEST_ID = 'c42fe880-6bab-4ea6-aaa0-5322ea741100'

const SESSION = '0123456789abcdef0123456789abcdef'
const REVISION = 'RpxSPWqS7NC1'
const DIAGNOSTIC = { severity: 'error', code: 'SYNTAX', message: '"if" is not closed', line: 1, column: 1, hint: 'Close it with {{/if}}' }

const EXAMPLES: ReadonlyMap<string, errors.ServiceError> = new Map([
  errors.requestInvalid('headers: host is missing', { part: 'headers' }),
  errors.variableMissing('trial.hello', [{ path: 'variables.name', line: 1, column: 14 }], { syntax: 'handlebars' }),
  errors.entryInvalid('trial.hello', ['SYNTAX at line 1, column 1: "if" is not closed'], [DIAGNOSTIC]),
  errors.toolArgumentsInvalid('owners.find', [{ path: 'arguments.file', message: 'must be a string, not 7' }]),
  errors.tokenRequired(),
  errors.tokenUnknown(),
  errors.identityUnlisted('https://id.example.com#ann', ['groups', 'email']),
  errors.identityProviderAway('https://id.example.com'),
  errors.roleMissing('ide', 'admin', ['read', 'render']),
  errors.hostNotAllowed('prompts.example.com'),
  errors.entryForbidden('ide', 'templates', 'trial.hello'),
  errors.promptNotFound('greeet', ['greet']),
  errors.extensionNotFound('evaluater', ['evaluator']),
  errors.environNotFound('vscode.rule', ['vscode.rules']),
  errors.toolNotFound('owners.fnd', ['owners.find']),
  errors.definitionNotFound('skill', 'git-quick-comit', ['git-quick-commit']),
  errors.targetNotFound('wbe', ['web']),
  errors.targetsNotOffered('web'),
  errors.workspaceNotFound('shpo', []),
  errors.memoryUnusable('project.json cannot be used, and is left as it is: it is not JSON'),
  errors.noticeNotFound('msg_0123456789abcdef0123456789abcdef0123456789abcdef'),
  errors.skillNotWaiting('Skill is not waiting for user input'),
  errors.skillFailed(SESSION, 'Empty or invalid AI response'),
  errors.entryMissing('trial.gone', 'shenma:templates:trial:gone'),
  errors.sessionNotFound(SESSION),
  errors.sessionBusy(SESSION, 'running'),
  errors.keyReused('agents/helper'),
  errors.sessionsUnavailable('Redis at 127.0.0.1:6379 has closed the connection'),
  errors.modelNotFound('gpt-5', ['gpt-4o', 'gpt-4o-mini']),
  errors.storeReadOnly('redis'),
  errors.requestTimeout(),
  errors.revisionMoved('greet', REVISION, 'vX2mJ0bq8Kse'),
  errors.toolNotCallable('everything', 'it is an MCP server; it offers "everything.echo"'),
  errors.entryChanged('shenma:templates:trial:hello', REVISION, undefined),
  errors.bodyTooLarge(1024 * 1024, 'BODY_LIMIT_BYTES of this service allows'),
  errors.urlTooLong(),
  errors.mediaTypeUnsupported(['application/json'], 'application/xml'),
  errors.encodingUnsupported('gzip'),
  errors.expectationUnknown(),
  errors.rateLimited('ide', 'requests', 600, 12),
  errors.headersTooLarge(16 * 1024),
  errors.labelNotFound('greet', 'prodution', ['production', 'staging']),
  errors.versionNotFound('greet', 7, ['production']),
  errors.labelProtected('ide', 'production'),
  errors.promptLabelled('trial.hello', ['production']),
  errors.versionLabelled('greet', 7, ['production']),
  errors.releasesUnreadable('shenma:releases:greet', 'no record of releases: it is no object'),
  errors.testsUnreadable('shenma:tests:greet', 'the value must be a list, not an object'),
  errors.renderFailed('greet', 'index out of range: 7', { syntax: 'go', line: 1, column: 9 }),
  errors.unexpected(),
  errors.toolFailed('owners.find', 'TIMEOUT'),
  errors.modelUpstream('openai', 'status 500', 3, undefined, undefined),
  errors.overloaded(),
  errors.renderTimeout(500),
  errors.storeUnavailable('connect ECONNREFUSED 127.0.0.1:6379'),
  errors.sessionEnded(SESSION, 'completed'),
  errors.sessionFull(SESSION, '100000 transitions'),
  errors.tooManySessions(100),
  errors.definitionsTooMany(17, 40_960, 16, 524_288),
  errors.terminalUnsupported('shop', 'the operator\'s file does not say terminal: true of it'),
  errors.terminalNotFound(SESSION),
  errors.terminalGone(SESSION, 'the shell has ended with code 0'),
  errors.tooManyTerminals(4, 'caller'),
  errors.terminalFailed('shop', 'target "shop" at shop.example.com:22 cannot be reached: connect ECONNREFUSED'),
  errors.tooManyStreams('one token may have 64'),
  errors.forkImpossible(SESSION),
  errors.approvalNotFound(`${SESSION}:4.0`),
  errors.approvalOutdated(SESSION, undefined),
  errors.commitDisabled(SESSION, 'Nothing is committed in the workspace "shop" by this plan: its operator and its profile would have to allow that'),
  errors.commitDenied(SESSION, 'refused: denied: rule "git commit *"'),
  errors.approverRefused('9f86d081884c7d659a2feaa0c55ad015:4.0', 'ann', 'who asks for a move does not agree to it: somebody else has to look'),
  errors.approvalDecided(`${SESSION}:4.0`, { decision: 'reject', by: 'ide', at: '2026-01-31T12:00:00.000Z' }, undefined),
  errors.templateSyntax('trial.hello', ['"if" is not closed at line 1, column 1'], [DIAGNOSTIC]),
  errors.templateLink(
    'trial.hello',
    ['partial "headr" is not registered at line 1, column 1'],
    [{ ...DIAGNOSTIC, code: 'PARTIAL_UNKNOWN', message: 'partial "headr" is not registered', hint: 'register the prompt, or correct the name' }]
  ),
  errors.templateCycle(
    'trial.hello',
    ['trial.hello includes itself'],
    [{ ...DIAGNOSTIC, code: 'PARTIAL_CYCLE', message: 'trial.hello includes itself', hint: 'leave one of the partials out' }]
  ),
  errors.environInvalid(
    'vscode.rules',
    'shenma:environs:vscode:rules',
    ['VALUE_INVALID: it is not JSON'],
    [{ ...DIAGNOSTIC, code: 'VALUE_INVALID', message: 'it is not JSON', hint: 'store JSON' }]
  ),
  errors.lintBusy(8),
  errors.variablesInvalid('trial.hello', [{ path: 'variables.name', message: 'must be a string, not 7' }]),
  errors.renderBudget('steps', 1_000_000),
  errors.renderEndless('nested partials', 100, { in: 'trial.hello' }),
  errors.partInvalid('trial.hello', [{ messageIndex: 1, part: 0, member: 'image_url.url', reason: 'must be an https: or data: URL, not http:' }]),
  errors.bundleInvalid('it has no revision'),
  errors.bundleStale('trial.hello', REVISION, 'vX2mJ0bq8Kse'),
  errors.bundleIncomplete('a call of owners.find'),
  errors.modelNotConfigured(),
  errors.modelRateLimited('openai', 3, 20, undefined),
  errors.modelAuth('openai', 401),
  errors.answerInvalid('trial.hello', [{ path: 'answer.title', message: 'is missing' }]),
  errors.toolLoopEndless('trial.hello', 'it called tools 10 times'),
  errors.inputTooLong('trial.hello', 5000, 4000),
  errors.inputUncounted('trial.hello', 'image_url', 4000),
  errors.budgetUsed('team', '5 USD a day', 5.02, Date.UTC(2026, 0, 2), 3600),
  errors.priceUnknown('house-model', 'team'),
  errors.modelBusy('openai', 1)
].map(error => [error.code, error]))

/** @param codes all codes of the route, also of other statuses @throws Error for a code without an example */
function exampleErrors (status: string, path: string, codes: readonly ErrorCode[]): readonly { readonly name: string, readonly value: object }[] {
  return codes.filter(code => String(statusOf(code)) === status).map(code => {
    const error = EXAMPLES.get(code)
    if (error === undefined) throw new Error(`a route lists ${code}, which has no example`)
    const shape = isBeforeRequest(code) ? undefined : errorShapeOf(path)
    return shape === undefined
      ? { name: code, value: errorBody(error, REQUEST_ID) }
      : { name: `${code}_${shape.suffix}`, value: shape.bodyOf(error, REQUEST_ID) }
  })
}

/** Their path is unknown, so they have the service's own shape. */
function isBeforeRequest (code: ErrorCode): boolean {
  return code === 'REQUEST_TIMEOUT' || code === 'HEADERS_TOO_LARGE'
}

/** Kept under `x-facts` in the document until `completeReplies` uses and removes them. */
interface CallFacts {
  'x-facts'?: { readonly codes: readonly ErrorCode[], readonly headers: readonly ReplyHeader[] }
}

interface OperationObject extends CallFacts {
  readonly security?: unknown
  readonly requestBody?: { required: boolean, readonly content: Readonly<Record<string, { readonly schema: SchemaObject }>> }
  readonly responses: Readonly<Record<string, {
    description: string
    headers?: Record<string, object>
    readonly content?: Readonly<Record<string, { readonly schema: SchemaObject, examples?: Record<string, object> }>>
  }>>
}

interface SchemaObject { readonly $ref?: string, readonly type?: string, readonly anyOf?: readonly SchemaObject[] }

interface PlacedReply { readonly status: string, readonly own: readonly string[] }

/** What `@fastify/swagger` gives to a reply without a description. */
const UNDESCRIBED = 'Default Response'

const MEANINGS: Readonly<Record<string, string>> = {
  200: 'What was asked for, or what was done',
  201: 'Made; nothing of it was there before',
  202: 'It goes on still; the events of the session have the rest',
  304: 'Nothing has changed since the reply with this ETag',
  400: 'The request is not as it should be, or what it names has a mistake in it; a model\'s API may have refused it',
  401: 'The service asks for a token, and this is none of them',
  403: 'The token may not do this; or, without tokens, it may only be done from this machine, or not by this host or page',
  404: 'There is nothing of this name, or nothing that the token may see',
  405: 'The service may not write to its store',
  408: 'Headers or body took too long to arrive',
  409: 'It is not as the request expects: at another revision, not to be called, or a session that takes this no more',
  412: '`If-Match` or `If-None-Match` does not hold',
  413: 'The body is too large',
  414: 'The id is too long',
  415: 'The body is compressed, in another charset than UTF-8, or of another media type',
  417: 'The header `expect` holds something other than `100-continue`',
  429: 'The token has used up its limit; or the model\'s API has too many requests',
  431: 'The URL and the headers are too large together',
  500: 'A template failed, or the service did',
  502: 'A model or a tool gave no usable answer',
  503: 'Not now: the store cannot be read, the render took too long or needs too much, or too much is going on'
}

const hasOwn = (name: ReplyHeader) => ({ status, own }: PlacedReply): boolean => isSuccess(status) && own.includes(name)

const HEADERS: ReadonlyArray<{ readonly name: string, readonly description: string, isOn (reply: PlacedReply): boolean }> = [
  { name: 'x-request-id', description: 'The log has the request under this id', isOn: () => true },
  { name: 'etag', description: 'The tag of what is stored, for `If-Match`; not of what has no key of its own', isOn: hasOwn('etag') },
  { name: 'link', description: 'The next page, when there is one: `<…>; rel="next"`', isOn: hasOwn('link') },
  { name: 'x-prompt-revision', description: 'The revision of the prompt', isOn: hasOwn('x-prompt-revision') },
  { name: 'x-prompt-version', description: 'The version of the prompt; only where its content is one', isOn: hasOwn('x-prompt-version') },
  { name: 'x-prompt-label', description: 'The label that it was served under; only where there is one', isOn: hasOwn('x-prompt-label') },
  { name: 'x-tool-defaults', description: 'Functions of tools whose calls failed, percent-encoded: their defaults, or nothing, stood in for what they give; only when there are any', isOn: hasOwn('x-tool-defaults') },
  { name: 'www-authenticate', description: 'How a token is sent', isOn: ({ status }) => status === '401' },
  { name: 'retry-after', description: 'After how many seconds to try again; not where that would not help', isOn: ({ status }) => ['429', '502', '503'].includes(status) },
  { name: 'x-should-retry', description: '`false` where the same request would fail the same way', isOn: ({ status }) => ['409', '429', '502'].includes(status) },
  ...['requests', 'tokens'].flatMap(rated => [
    { name: `x-ratelimit-limit-${rated}`, description: `How many ${rated} the token may use a minute; on every reply to a token with limits`, isOn: isLimited },
    { name: `x-ratelimit-remaining-${rated}`, description: `How many ${rated} are left; on every reply to a token with limits`, isOn: isLimited },
    { name: `x-ratelimit-reset-${rated}`, description: 'When all are there again, such as `12s`; on every reply to a token with limits', isOn: isLimited }
  ])
]

/** Adds what schemas of routes have no place for: meanings of statuses, reply headers, examples of errors, needless bodies. */
function completeReplies<T extends object> (document: T): T {
  const { paths = {}, components } = document as {
    readonly components?: object
    readonly paths?: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  }
  const examples: Record<string, { readonly value: object }> = {}
  for (const [path, methods] of Object.entries(paths)) {
    for (const operation of Object.values(methods)) {
      const { codes = [], headers = [] } = operation['x-facts'] ?? {}
      delete operation['x-facts']
      completeOperation(operation, headers)
      addExamples(path, operation, codes, examples)
    }
  }
  const headers = Object.fromEntries(HEADERS.map(({ name, description }) => [name, { description, schema: { type: 'string' } }]))
  return { ...document, components: { ...components, headers, examples } }
}

function completeOperation ({ requestBody, responses }: OperationObject, own: readonly ReplyHeader[]): void {
  if (requestBody !== undefined && Object.values(requestBody.content).some(({ schema }) => takesNull(schema))) requestBody.required = false
  for (const [status, reply] of Object.entries(responses)) {
    if (reply.description === UNDESCRIBED) reply.description = MEANINGS[status] ?? UNDESCRIBED
    const headers = HEADERS.filter(header => header.isOn({ status, own }))
    reply.headers = Object.fromEntries(headers.map(({ name }) => [name, { $ref: `#/components/headers/${name}` }]))
  }
}

function addExamples (path: string, { responses }: OperationObject, codes: readonly ErrorCode[], examples: Record<string, { readonly value: object }>): void {
  for (const [status, { content }] of Object.entries(responses)) {
    const json = content?.['application/json']
    if (json === undefined || !isError(json.schema)) continue
    const found = exampleErrors(status, path, codes)
    if (found.length === 0) continue
    for (const { name, value } of found) examples[name] = { value }
    json.examples = Object.fromEntries(found.map(({ name }) => [name, { $ref: `#/components/examples/${name}` }]))
  }
}

function isError ({ $ref, anyOf = [] }: SchemaObject): boolean {
  return /\/(?:OpenAi|Skill)?Error$/.test($ref ?? '') || anyOf.some(isError)
}

function isSuccess (status: string): boolean {
  return status.startsWith('2')
}

/** Only 429: on all replies they would be half of the document. */
function isLimited ({ status }: PlacedReply): boolean {
  return status === '429'
}

/** A missing body is read as `null`, so that no body is needed then. */
function takesNull ({ type, anyOf = [] }: SchemaObject): boolean {
  return type === 'null' || anyOf.some(takesNull)
}

const DESCRIPTION = [
  'Runs prompt extensions: renders registered templates with shared variables and tools, and asks a model with them. Agents, skills and plans are sessions, which last.',
  '',
  '**Without tokens** nobody is asked for one, everybody is the same caller, and 401 and `ROLE_MISSING` never come. All sessions belong to that caller. The service listens on loopback addresses only.',
  '',
  '**`AUTH=off`** is the same wherever it listens: whoever can reach it reads, renders and asks models. Calls that need `write`, `run`, `approve` or `admin` are this machine\'s: from elsewhere, or through a proxy, they are 403 `WRITE_NOT_LOCAL`. In both cases another name in `Host` is 403 `HOST_NOT_ALLOWED`, and what a browser sends for a page of another host is 403 `ORIGIN_FOREIGN`.'
].join('\n')

export type ApiRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

/** Describes calls and answers none of them. */
export async function describeCalls (calls: readonly ApiRoute[]) {
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

interface DescribedRoute {
  readonly schema: FastifySchema
  readonly url: string
  readonly method: string | readonly string[]
  readonly config?: FastifyContextConfig | undefined
}

/** Clients may leave them out, while handlers always find a value. */
function withOptionalDefaults (schema: FastifySchema): FastifySchema {
  const declared = schema.querystring as { properties: Record<string, object>, required?: string[] } | undefined
  if (declared?.required === undefined) return schema
  const required = declared.required.filter(name => !Object.hasOwn(declared.properties[name] ?? {}, 'default'))
  return { ...schema, querystring: { ...declared, required } }
}

/** Faults in the head of a request. */
const OF_EVERY_ROUTE: readonly ErrorCode[] = [
  'REQUEST_INVALID', 'HOST_NOT_ALLOWED', 'REQUEST_TIMEOUT', 'ENCODING_UNSUPPORTED', 'EXPECTATION_UNKNOWN', 'HEADERS_TOO_LARGE'
]

/** Access, limits, overload, and a store that was never read. */
const OF_ROLES: readonly ErrorCode[] = [
  'TOKEN_REQUIRED', 'TOKEN_UNKNOWN', 'IDENTITY_UNLISTED', 'IDENTITY_PROVIDER_AWAY', 'ROLE_MISSING', 'RATE_LIMITED', 'OVERLOADED', 'STORE_UNAVAILABLE'
]

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

function describeRoute (route: DescribedRoute): FastifySchema & CallFacts {
  const { schema, url, config: { role, orRoles = [], headers = [] } = {} } = route
  const codes = codesOf(route)
  // Node raises these before a path is known, so they have the service's own shape everywhere.
  const errors = codes.map(code => [statusOf(code), Type.Ref(isBeforeRequest(code) ? 'Error' : errorShapeOf(url)?.schema ?? 'Error')] as const)
  return {
    ...schema,
    security: role === undefined ? undefined : [role, ...orRoles].map(each => ({ token: [each] })),
    response: { ...Object.fromEntries(errors), ...schema.response as object },
    'x-facts': { codes, headers }
  }
}

/** Not passed on: no fault of the caller's request. */
const OWN_STATUSES: ReadonlySet<string> = new Set(['401', '403', '408', '425', '429'])

/** A 4xx reply may have the service's form or that of the model's API. */
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

/** Security: runs only its own scripts, whatever texts entries contain. See https://github.com/fastify/fastify-helmet */
async function showApi (app: App): Promise<void> {
  await app.register(async page => {
    await page.register(helmet, {
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          // Swagger UI sets inline styles on its elements.
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", 'data:'],
          connectSrc: ["'self'"],
          baseUri: ["'none'"],
          formAction: ["'none'"],
          frameAncestors: ["'none'"]
        }
      },
      // Only the proxy in front of the service knows whether clients use TLS.
      strictTransportSecurity: false
    })
    await page.register(swaggerUi, { routePrefix: '/docs', logLevel: 'warn' })
  })
}
