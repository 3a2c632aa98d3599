import type { FastifyRequest } from 'fastify'
import { type ErrorCode, mediaTypeUnsupported, requestInvalid } from '../../base/errors.ts'
import { contentHash, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type TSchema, Type } from '../../schema/builder.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { agentKind } from '../../registry/kinds/agent-kind.ts'
import { type Definition, type DefinitionKind, isDefinitionKind, type Kind } from '../../registry/kinds/entry-kind.ts'
import { environKind } from '../../registry/kinds/environ-kind.ts'
import { extensionKind } from '../../registry/kinds/extension-kind.ts'
import { planKind } from '../../registry/kinds/plan-kind.ts'
import { promptKind } from '../../registry/kinds/prompt-kind.ts'
import { skillKind } from '../../registry/kinds/skill-kind.ts'
import { testsKind } from '../../registry/kinds/tests-kind.ts'
import { toolKind } from '../../registry/kinds/tool-kind.ts'
import type { Registry } from '../../registry/registry.ts'
import { findDefinition, findPrompt } from '../../service/choose-prompt.ts'
import { findMentions, type UsedKind } from '../../service/lint/find-users.ts'
import type { Publisher } from '../../service/publish-entry.ts'
import type { Service } from '../../service.ts'
import type { App } from '../app.ts'
import { decodeText, parseJsonText } from '../request-reading.ts'
import { ConditionalHeaders, entityTag, ListedStored, ListedTag, pageOf, readPrecondition, rowsOf, selectIds } from '../resource.ts'
import { EnvironId, idParameters, ListQuery, listReply, PageQuery, PlacedDiagnosticReply, PromptId, ToolId, oneOf } from '../schemas.ts'
import { placed } from '../../registry/diagnostic-table.ts'
import { locate } from '../../registry/diagnostic.ts'
import type { LintRequest } from '../../service/lint/lint-candidate.ts'

const UserReply = Type.Object({
  id: Type.String({ description: 'A prompt; `review.short@production` for a label whose versions use it' }),
  direct: Type.Boolean({ description: 'Whether its own text uses it' }),
  through: Type.Array(Type.String(), { description: 'Partials of it, direct or not, whose text uses it; the first 20' }),
  versions: Type.Optional(Type.Array(Type.Integer(), { description: 'Of a label: which of the versions that it means' })),
  pins: Type.Optional(Type.Array(Type.String(), { description: 'The labels and versions of a partial that its own text names (`review.symbol@production`): without them it cannot be rendered' }))
})

const kinds: ReadonlyArray<{ used: UsedKind, missing: ErrorCode, params: typeof PromptId, operationId: string, summary: string }> = [
  { used: 'environs', missing: 'ENVIRON_NOT_FOUND', params: EnvironId, operationId: 'listEnvironUsers', summary: 'Prompts that read a shared variable' },
  { used: 'tools', missing: 'TOOL_NOT_FOUND', params: ToolId, operationId: 'listToolUsers', summary: 'Prompts that call a tool' },
  { used: 'prompts', missing: 'PROMPT_NOT_FOUND', params: PromptId, operationId: 'listPromptUsers', summary: 'Prompts that include a prompt as a partial' }
]

export function usedByRoutes (app: App, { findUsers }: Pick<Service, 'findUsers'>): void {
  for (const { used, missing, params, operationId, summary } of kinds) {
    app.get(`/api/${used}/:id/used-by`, {
      config: { role: 'read', fails: [missing], headers: ['link'] },
      schema: { tags: ['Registry'], operationId, summary, description: 'In their own text or through partials; sorted by id, the next page in the Link header.', params, querystring: PageQuery, response: { 200: Type.Array(UserReply) } }
    }, async (request, reply) => {
      const { generation, caller, params: { id }, query: { after = '', limit } } = request
      const users = await findUsers({ generation, caller, used, id, after, limit: limit + 1 })
      return rowsOf(request, reply, limit, users, user => user.id)
    })
  }
}

const MentionReply = Type.Object({
  kind: Type.String({ description: 'agents, skills, plans or tools' }),
  id: Type.String()
})

export function mentionRoutes (app: App): void {
  app.get('/api/prompts/:id/mentions', {
    config: { role: 'read', fails: ['PROMPT_NOT_FOUND'] },
    schema: { tags: ['Registry'], operationId: 'listPromptMentions', summary: 'Agents, skills, plans and tools that name a prompt', description: 'Whose definition has its id as a whole word in one of its texts, whatever it is there for; the first 200. Prompts are in `used-by`.', params: PromptId, response: { 200: Type.Array(MentionReply) } }
  }, async ({ generation, params }) => await findMentions(generation, findPrompt(generation, params.id).id))
}

export interface KindRoute {
  readonly kind: Kind
  /** `prompts` in `/api/prompts/{id}`. */
  readonly path: string
  /** `tests` in `/api/prompts/{id}/tests`. */
  readonly below?: string
  /** `Prompt` in `getPrompt`. */
  readonly name: string
  readonly body: TSchema
  /** The field of a lint request's body; left out for kinds that cannot be linted. */
  readonly lintedAs?: string
  /** No file in `examples/` has this id. */
  readonly example: { readonly id: string, readonly value: object, /** The body as plain text, for kinds that may be published so. */ readonly text?: string }
  readonly about: string
}

const registration = (file: string) => Type.Object({}, { additionalProperties: true, description: `As in jsonschema/${file}.json` })

const TEMPLATE = 'Say hello to {{variables.name}}.'

/** In the order of the API's description. */
export const KIND_ROUTES: readonly KindRoute[] = [
  {
    kind: extensionKind,
    path: 'extensions',
    name: 'Extension',
    body: registration('extension'),
    lintedAs: 'extension',
    example: { id: 'trial', value: { name: 'trial', contributes: { prompts: [{ name: 'welcome', userPrompt: TEMPLATE }] } } },
    about: 'The id is that of the key; prompts are named by the `name` inside.'
  },
  {
    kind: promptKind,
    path: 'prompts',
    name: 'Prompt',
    body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Array(Type.Unknown()), Type.String()], { description: 'As in jsonschema/prompt.json: an object, a list of messages, or a text' }),
    lintedAs: 'prompt',
    example: { id: 'trial.hello', value: { userPrompt: TEMPLATE }, text: TEMPLATE },
    about: 'As `text/plain` the body is the template itself. A prompt of an extension is changed with its extension; one that is published under its id goes before it.'
  },
  {
    kind: environKind,
    path: 'environs',
    name: 'Environ',
    body: Type.Unknown({ description: 'Any JSON value' }),
    example: { id: 'trial.rules', value: { review: ['readability', 'tests'] }, text: 'readability, tests' },
    about: 'As `text/plain` the body is the value, a text.'
  },
  {
    kind: toolKind,
    path: 'tools',
    name: 'Tool',
    body: registration('tool'),
    example: { id: 'trial.find', value: { url: 'http://127.0.0.1:8090/references/{symbol}', method: 'GET', parameters: [{ name: 'symbol', type: 'string' }], default: {} } },
    about: ''
  },
  {
    kind: agentKind,
    path: 'agents',
    name: 'Agent',
    body: registration('agent'),
    lintedAs: 'agent',
    example: { id: 'trial', value: { mode: 'tools', system: 'Answer briefly.', tools: [] } },
    about: 'A dialogue that runs already keeps the definition that it began with.'
  },
  {
    kind: skillKind,
    path: 'skills/definitions',
    name: 'Skill',
    body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.String()], { description: 'As in jsonschema/skill.json: an object, or the text of a SKILL.md' }),
    lintedAs: 'skill',
    example: { id: 'trial-greet', value: { description: 'Greets.', body: 'Say hello.' }, text: '---\nname: trial-greet\ndescription: Greets.\n---\nSay hello.' },
    about: 'As `text/plain` the body is a SKILL.md.'
  },
  {
    kind: planKind,
    path: 'plans/profiles',
    name: 'Plan',
    body: registration('plan'),
    lintedAs: 'plan',
    example: { id: 'trial-careful', value: { description: 'With tests', checks: ['test'] } },
    about: ''
  },
  {
    kind: testsKind,
    path: 'prompts',
    below: 'tests',
    name: 'PromptTests',
    body: Type.Array(Type.Object({}, { additionalProperties: true }), { description: 'As in jsonschema/tests.json' }),
    example: { id: 'trial.hello', value: [{ description: 'greets by name', vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Ada' }] }] },
    about: 'They are of the prompt of that id, and change nothing of it.'
  }
]

function withArticle ({ noun }: Pick<Kind, 'noun'>): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

const Summary = Type.Object({
  id: Type.String(),
  origin: Type.String({ description: 'direct: it has a key of its own; extension: an extension brings it' }),
  description: Type.Optional(Type.Unknown()),
  etag: ListedTag,
  stored: ListedStored
})

const Reply = Type.Object({
  id: Type.String(),
  origin: Summary.properties.origin,
  diagnostics: Type.Array(Type.Ref('Diagnostic'))
}, { additionalProperties: true, description: 'The definition as it is registered, with what was noticed' })

/** Other kinds among `kindRoutes` get no routes here. */
export function definitionRoutes (app: App, registry: Registry, kindRoutes: readonly KindRoute[]): void {
  for (const route of kindRoutes) {
    if (isDefinitionKind(route.kind)) definitionRoute(app, registry, route.kind, route)
  }
}

function definitionRoute (app: App, registry: Registry, kind: DefinitionKind, { path, name, example }: KindRoute): void {
  app.get(`/api/${kind.name}`, {
    config: { role: 'read', orRoles: ['run'], headers: ['link'] },
    schema: { tags: ['Registry'], operationId: `list${name}s`, summary: `List ${kind.name}`, querystring: ListQuery, response: { 200: listReply(Summary) } }
  }, async (request, reply) => {
    const all = definitionsOf(request.generation, kind)
    return await pageOf({ registry, kind }, request, reply, request.query, await selectIds(all, request.query), id => summarise(all.get(id) as Definition))
  })

  app.get(`/api/${path}/:id`, {
    config: { role: 'read', orRoles: ['run'], fails: ['DEFINITION_NOT_FOUND'], headers: ['etag'] },
    schema: { tags: ['Registry'], operationId: `get${name}`, summary: `Get ${withArticle(kind)}`, params: idParameters(example.id), response: { 200: Reply } }
  }, (request, reply) => {
    const { id, source, origin, diagnostics } = findDefinition(request.generation, kind, request.params.id)
    reply.header('etag', entityTag(contentHash(source)))
    return { ...source, id, origin, diagnostics }
  })
}

function summarise ({ id, origin, source }: Definition) {
  return { id, origin, description: source['description'], etag: origin === 'direct' ? entityTag(contentHash(source)) : undefined }
}

const PublishedReply = Type.Object({
  id: Type.String(),
  key: Type.String({ description: 'The key in the store' }),
  version: Type.Optional(Type.Integer({ description: 'Which version of the prompt it is, where versions are recorded' })),
  diagnostics: Type.Array(PlacedDiagnosticReply, { description: 'What was noticed: warnings and hints' })
})

const PutQuery = Type.Object({
  dryRun: Type.Boolean({ default: false, description: 'Check everything and store nothing: 201 where it would be new' }),
  note: Type.Optional(Type.String({ maxLength: 1000, description: 'Of a prompt: what has changed, kept with its version' })),
  source: Type.Optional(Type.String({ maxLength: 500, description: 'Of a prompt: where it comes from, such as `git:8c2ae82`' }))
})

const CHECKED = 'It is checked as `POST /api/lint` and loading do; with an error in it, nothing is stored. ' +
  'When the reply comes, this process serves it; other replicas follow.'
const CONDITIONS = '`If-Match` with the ETag of a GET or PUT refuses to overwrite what somebody else has changed since; without it, what is there is replaced.'

export function publishingRoutes (app: App, kindRoutes: readonly KindRoute[], publisher: Publisher): void {
  app.register(async scope => {
    readEntryBodies(scope)
    for (const route of kindRoutes) {
      putRoute(scope, route, publisher)
      deleteRoute(scope, route, publisher)
      if (route.kind === promptKind || route.kind === environKind) storedRoute(scope, route, publisher)
    }
  })
}

function storedRoute (app: App, { kind, path, name, example }: KindRoute, publisher: Publisher): void {
  app.get(`/api/${path}/:id/stored`, {
    config: { role: 'write', fails: ['ENTRY_FORBIDDEN', 'ENTRY_NOT_FOUND'], headers: ['etag'] },
    schema: {
      tags: ['Publishing'],
      operationId: `getStored${name}`,
      summary: `Get the text that is stored of ${withArticle(kind)}`,
      description: 'Byte for byte, also where it is no JSON and so cannot be read; its ETag is one for `If-Match` of what mends it.',
      params: idParameters(example.id),
      response: { 200: { description: 'The text', content: { 'text/plain': { schema: Type.String() } } } }
    }
  }, async ({ caller, params: { id } }, reply) => {
    const { text, tag } = await publisher.stored({ caller, kind, id })
    if (tag !== undefined) reply.header('etag', entityTag(tag))
    return reply.type('text/plain; charset=utf-8').send(text)
  })
}

function putRoute (app: App, { kind, path, below, name, body: entry, example, about }: KindRoute, publisher: Publisher): void {
  const content = {
    'application/json': { schema: { ...entry, examples: [example.value] } },
    ...(example.text === undefined ? {} : { 'text/plain': { schema: Type.String({ examples: [example.text] }) } })
  }
  const types = Object.keys(content)
  app.put(addressOf(path, below), {
    config: {
      role: 'write',
      fails: [
        'ENTRY_INVALID',
        'ENTRY_FORBIDDEN',
        'STORE_READ_ONLY',
        'ENTRY_CHANGED',
        'LINT_BUSY',
        ...kind === promptKind ? ['RELEASES_UNREADABLE' as const] : []
      ],
      headers: ['etag']
    },
    schema: {
      tags: ['Publishing'],
      operationId: `put${name}`,
      summary: `Publish ${withArticle(kind)}`,
      description: [CHECKED, CONDITIONS, about].join(' ').trim(),
      params: idParameters(example.id),
      querystring: PutQuery,
      headers: ConditionalHeaders,
      body: { content },
      response: { 200: PublishedReply, 201: PublishedReply }
    }
  }, async (request, reply) => {
    const { generation, caller, params, query, headers, entryText: text } = request
    if (text === '') throw requestInvalid('body: expected the entry', { part: 'body' })
    if (!types.some(type => headers['content-type']?.toLowerCase().startsWith(type))) throw mediaTypeUnsupported(types, headers['content-type'])
    const { id, key, tag, isNew, version, diagnostics } = await publisher.publish({
      generation,
      caller,
      kind,
      id: params.id,
      text,
      precondition: readPrecondition(headers),
      requestId: request.id,
      about: { note: query.note, source: query.source },
      isDryRun: query.dryRun
    })
    if (tag !== undefined && !query.dryRun) reply.header('etag', entityTag(tag))
    return reply.code(isNew ? 201 : 200).send({ id, key, version, diagnostics })
  })
}

function deleteRoute (app: App, { kind, path, below, name, example }: KindRoute, publisher: Publisher): void {
  app.delete(addressOf(path, below), {
    config: {
      role: 'write',
      fails: [
        'ENTRY_FORBIDDEN',
        'ENTRY_NOT_FOUND',
        'STORE_READ_ONLY',
        'ENTRY_CHANGED',
        ...kind === promptKind ? ['PROMPT_LABELLED' as const, 'RELEASES_UNREADABLE' as const] : []
      ]
    },
    schema: {
      tags: ['Publishing'],
      operationId: `delete${name}`,
      summary: `Withdraw ${withArticle(kind)}`,
      description: `${below === undefined ? 'What uses it stops running until it is there again. ' : ''}\`If-Match\` refuses to remove what somebody else has changed since.`,
      params: idParameters(example.id),
      headers: ConditionalHeaders,
      response: { 204: Type.Null({ description: 'Removed' }) }
    }
  }, async (request, reply) => {
    await publisher.withdraw({ caller: request.caller, kind, id: request.params.id, precondition: readPrecondition(request.headers), requestId: request.id })
    return reply.code(204).send(null)
  })
}

function addressOf (path: string, below: string | undefined): string {
  return `/api/${path}/:id${below === undefined ? '' : `/${below}`}`
}

/**
 * Reads the bodies of published entries. The text of a JSON body is kept as its publisher wrote it; plain text is stored as
 * a JSON string, so that a text such as `{}` or `1` is not mistaken for JSON.
 */
function readEntryBodies (app: App): void {
  app.decorateRequest('entryText', '')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    request.entryText = decodeText(body)
    // A DELETE may declare a JSON body and send none.
    return body.length === 0 && request.method === 'DELETE' ? null : parseJsonText(request.entryText)
  })
  app.addContentTypeParser<Buffer>('text/plain', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer): Promise<Json> => {
    const text = decodeText(body)
    request.entryText = JSON.stringify(text)
    return text
  })
}

type Linted = Pick<KindRoute, 'kind' | 'body'> & { readonly field: string }

const LintReply = Type.Object({ diagnostics: Type.Array(PlacedDiagnosticReply) })

export function lintRoutes (app: App, kindRoutes: readonly KindRoute[], { lintCandidate }: Pick<Service, 'lintCandidate'>): void {
  const linted = kindRoutes.flatMap(({ kind, body, lintedAs }) => lintedAs === undefined ? [] : [{ kind, body, field: lintedAs }])
  app.post('/api/lint', {
    config: { role: 'read', fails: ['LINT_BUSY'], keepsText: true },
    schema: { tags: ['Registry'], operationId: 'lint', summary: 'Check what may be registered', description: `Exactly one of ${linted.map(({ field }) => `\`${field}\``).join(', ')} and \`template\`. It is parsed as a registration is and linked with what is registered now; nothing is stored.`, body: bodyOf(linted), response: { 200: LintReply } }
  }, async request => {
    const body = request.body as JsonObject
    const whole = linted.find(({ field }) => body[field] !== undefined)
    const diagnostics = await lintCandidate(request.generation, readCandidate(body, whole), request.caller)
    return { diagnostics: locate(diagnostics, request.bodyText ?? '', whole === undefined ? [] : [whole.field]).map(placed) }
  })
}

function bodyOf (linted: readonly Linted[]) {
  const entries = linted.map(({ kind, body: entry, field }) => {
    return [field, Type.Optional(Type.Unsafe({ ...entry, description: describeCandidate(kind, entry) }))] as const
  })
  return Type.Object({
    ...Object.fromEntries(entries),
    template: Type.Optional(Type.String({ description: 'The text of a template alone' })),
    syntax: Type.Optional(oneOf(['go', 'handlebars'], { description: 'Of `template`; found out from the text when it is not given' })),
    id: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'The id that the prompt would have, by which it finds its neighbours as partials' }))
  }, {
    additionalProperties: false,
    oneOf: [...linted.map(({ field }) => field), 'template'].map(name => ({ required: [name] })),
    // A whole prompt names its syntax itself.
    dependentRequired: { syntax: ['template'] },
    examples: [{ template: 'Say hello to {{variables.name}}.' }]
  })
}

function describeCandidate (kind: Kind, { description = '' }: { readonly description?: string }): string {
  const words = `${withArticle(kind)} ${description.slice(0, 1).toLowerCase()}${description.slice(1)}`
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

function readCandidate (body: JsonObject, whole: Linted | undefined): LintRequest {
  const { template, syntax } = body
  const id = body['id'] as string | undefined
  if (whole === undefined) {
    return {
      kind: promptKind.key,
      id,
      text: stringifyJson({ userPrompt: template as string, syntax })
    }
  }
  const value = body[whole.field] as Json
  // A text of an agent, skill or plan profile is stored unquoted, like a file; that of a prompt as a JSON string.
  return { kind: whole.kind.key, id, text: typeof value === 'string' && isDefinitionKind(whole.kind) ? value : stringifyJson(value) }
}
