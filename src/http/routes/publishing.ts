import { mediaTypeUnsupported, requestInvalid } from '../../base/errors.ts'
import { Type } from '../../base/schema-builder.ts'
import { promptKind } from '../../registry/kinds/prompt/prompt-kind.ts'
import { type Publisher } from '../../service/publish/publish-entry.ts'
import { type App } from '../base/app-types.ts'
import { ConditionalHeaders, entityTag, readPrecondition } from '../base/entity-tags.ts'
import { type KindRoute, withArticle } from '../kinds/kind-routes.ts'
import { readEntryBodies } from '../base/entry-body.ts'
import { idParameters, PlacedDiagnosticReply } from '../base/schemas.ts'

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

/** The routes that store and remove entries, for publishers without access to the store. */
export function publishingRoutes (app: App, kindRoutes: readonly KindRoute[], publisher: Publisher): void {
  app.register(async scope => {
    readEntryBodies(scope)
    for (const route of kindRoutes) {
      putRoute(scope, route, publisher)
      deleteRoute(scope, route, publisher)
    }
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

/** Gives the pattern of the URL of one entry, such as `/api/prompts/:id` or, with `below`, `/api/prompts/:id/tests`. */
function addressOf (path: string, below: string | undefined): string {
  return `/api/${path}/:id${below === undefined ? '' : `/${below}`}`
}
