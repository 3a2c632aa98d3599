import { mediaTypeUnsupported, requestInvalid } from '../../base/errors.ts'
import { type TSchema, Type } from '../../base/schema-builder.ts'
import { type Kind } from '../../registry/kind.ts'
import { environKind } from '../../registry/kinds/environ/environ-kind.ts'
import { extensionKind } from '../../registry/kinds/extension/extension-kind.ts'
import { promptKind } from '../../registry/kinds/prompt/prompt-kind.ts'
import { toolKind } from '../../registry/kinds/tool/tool-kind.ts'
import { type Publisher } from '../../service/publish/publish-entry.ts'
import { type App } from '../app-types.ts'
import { ConditionalHeaders, entityTag, readPrecondition } from '../entity-tags.ts'
import { readEntryBodies } from '../entry-body.ts'
import { errorReplies, idParameters, PlacedDiagnosticReply, replies, type Replies } from '../openapi/schemas.ts'

/** One kind of entry as the API names it. */
interface PublishedKind {
  readonly kind: Kind
  /** `Prompt`, in operation ids. */
  readonly name: string
  /** `a prompt`, in sentences. */
  readonly noun: string
  readonly body: TSchema
  /** Something to try it with, under an id that no file of `examples/` has. */
  readonly example: { readonly id: string, readonly value: object, /** The body as plain text, if it may be that. */ readonly text?: string }
  readonly about: string
}

const registration = (file: string) => Type.Object({}, { additionalProperties: true, description: `As in jsonschema/${file}.json` })

const TEMPLATE = 'Say hello to {{variables.name}}.'

const PUBLISHED_KINDS: readonly PublishedKind[] = [
  {
    kind: extensionKind,
    name: 'Extension',
    noun: 'an extension',
    body: registration('extension'),
    example: { id: 'trial', value: { name: 'trial', contributes: { prompts: [{ name: 'welcome', userPrompt: TEMPLATE }] } } },
    about: 'The id is that of the key; prompts are named by the `name` inside.'
  },
  {
    kind: promptKind,
    name: 'Prompt',
    noun: 'a prompt',
    body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Array(Type.Unknown()), Type.String()], { description: 'As in jsonschema/prompt.json: an object, a list of messages, or a text' }),
    example: { id: 'trial.hello', value: { userPrompt: TEMPLATE }, text: TEMPLATE },
    about: 'As `text/plain` the body is the template itself. A prompt of an extension is changed with its extension; one that is published under its id goes before it.'
  },
  {
    kind: environKind,
    name: 'Environ',
    noun: 'a shared variable',
    body: Type.Unknown({ description: 'Any JSON value' }),
    example: { id: 'trial.rules', value: { review: ['readability', 'tests'] }, text: 'readability, tests' },
    about: 'As `text/plain` the body is the value, a text.'
  },
  {
    kind: toolKind,
    name: 'Tool',
    noun: 'a tool',
    body: registration('tool'),
    example: { id: 'trial.find', value: { url: 'http://127.0.0.1:8090/references/{symbol}', method: 'GET', parameters: [{ name: 'symbol', type: 'string' }], default: {} } },
    about: ''
  }
]

const PublishedReply = Type.Object({
  id: Type.String(),
  key: Type.String({ description: 'The key in the store' }),
  diagnostics: Type.Array(PlacedDiagnosticReply, { description: 'What was noticed: warnings and hints' })
})

const PUT_REPLIES: Replies = { ...replies(PublishedReply, 400, 405, 412, 413, 415, 503), 201: PublishedReply }
const DELETE_REPLIES: Replies = { 204: Type.Null({ description: 'Removed' }), ...errorReplies(400, 404, 405, 412, 413, 415, 503) }

const CHECKED = 'It is checked as `POST /api/lint` and loading do; with an error in it, nothing is stored. When the reply comes, this process serves it; other replicas follow.'
const CONDITIONS = '`If-Match` with the ETag of a GET or PUT refuses to overwrite what somebody else has changed since; without it, what is there is replaced.'

/** Publishing without access to the store: entries are stored and removed as a publisher would do it. */
export function publishingRoutes (app: App, { publisher }: { publisher: Publisher }): void {
  app.register(async scope => {
    readEntryBodies(scope)
    for (const kind of PUBLISHED_KINDS) {
      putRoute(scope, kind, publisher)
      deleteRoute(scope, kind, publisher)
    }
  })
}

function putRoute (app: App, { kind, name, noun, body, example, about }: PublishedKind, publisher: Publisher): void {
  const content = {
    'application/json': { schema: { ...body, examples: [example.value] } },
    ...(example.text === undefined ? {} : { 'text/plain': { schema: Type.String({ examples: [example.text] }) } })
  }
  const types = Object.keys(content)
  app.put(`/api/${kind.name}/:id`, {
    config: { role: 'write' },
    schema: {
      tags: ['Publishing'],
      operationId: `put${name}`,
      summary: `Publish ${noun}`,
      description: [CHECKED, CONDITIONS, about].join(' ').trim(),
      params: idParameters(example.id),
      headers: ConditionalHeaders,
      body: { content },
      response: PUT_REPLIES
    }
  }, async (request, reply) => {
    const { generation, caller, params, headers, entryText: text } = request
    if (text === '') throw requestInvalid('body: expected the entry', { part: 'body' })
    if (!types.some(type => headers['content-type']?.toLowerCase().startsWith(type))) throw mediaTypeUnsupported(types, headers['content-type'])
    const { id, key, tag, isNew, diagnostics } = await publisher.publish({ generation, caller, kind, id: params.id, text, precondition: readPrecondition(headers) })
    if (tag !== undefined) reply.header('etag', entityTag(tag))
    return reply.code(isNew ? 201 : 200).send({ id, key, diagnostics })
  })
}

function deleteRoute (app: App, { kind, name, noun, example }: PublishedKind, publisher: Publisher): void {
  app.delete(`/api/${kind.name}/:id`, {
    config: { role: 'write' },
    schema: {
      tags: ['Publishing'],
      operationId: `delete${name}`,
      summary: `Withdraw ${noun}`,
      description: 'What uses it stops running until it is there again. `If-Match` refuses to remove what somebody else has changed since.',
      params: idParameters(example.id),
      headers: ConditionalHeaders,
      response: DELETE_REPLIES
    }
  }, async (request, reply) => {
    await publisher.withdraw({ caller: request.caller, kind, id: request.params.id, precondition: readPrecondition(request.headers) })
    return reply.code(204).send()
  })
}
