import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { placed } from '../../registry/diagnose/diagnostic-table.ts'
import { type Prompt } from '../../registry/generation.ts'
import { callersIn } from '../../registry/diagnose/inline-givers.ts'
import { lintPrompt } from '../../registry/diagnose/lint-prompt.ts'
import { Type } from '../../base/schema-builder.ts'
import { type ChoosePrompt } from '../../service/release/choose-prompt.ts'
import { requireRevision, whyNotRunnable } from '../../service/render/render-prompt.ts'
import { type App } from '../app-types.ts'
import { entityTag } from '../entity-tags.ts'
import { selectIds, sendPage } from '../listing.ts'
import { choose, WishQuery } from '../prompt-choice.ts'
import { RevisionQuery } from '../prompt-revision.ts'
import { listReply, PlacedDiagnosticReply, PromptId, replies, SupportsListQuery } from '../openapi/schemas.ts'

const PromptSummary = Type.Object({
  id: Type.String(),
  origin: Type.String({ description: 'direct, or extension' }),
  state: Type.String({ description: 'valid; invalid: mistakes in its text; unlinked: a tool or partial is not registered' }),
  syntax: Type.Optional(Type.String({ description: 'go or handlebars' })),
  form: Type.String({ description: 'text or messages: what it renders to' }),
  supports: Type.Array(Type.String()),
  description: Type.Optional(Type.Unknown()),
  revision: Type.String()
})

const PromptReply = Type.Object({
  id: Type.String(),
  origin: PromptSummary.properties.origin,
  syntax: PromptSummary.properties.syntax,
  revision: Type.String({ description: 'Hash of its content and of the prompts that it includes; the same on every replica' }),
  version: Type.Optional(Type.Integer({ description: 'Which version it is; left out for content that is none' })),
  label: Type.Optional(Type.String({ description: 'The label that it was asked for by' })),
  prompt: Type.Object({}, { additionalProperties: true, description: 'The prompt as it is registered' }),
  diagnostics: Type.Array(PlacedDiagnosticReply)
})

/** What prompts are registered. */
export function promptRoutes (app: App, { environs, choosePrompt }: { environs: VisibleEnvirons, choosePrompt: ChoosePrompt }): void {
  app.get('/api/prompts', {
    config: { role: 'read' },
    schema: { tags: ['Registry'], operationId: 'listPrompts', summary: 'List prompts', querystring: SupportsListQuery, response: replies(listReply(PromptSummary), 400) }
  }, (request, reply) => {
    const { prompts } = request.generation
    const { query } = request
    const ids = selectIds(prompts, query, ({ entry }) => query.supports === undefined || entry.definition.supports.includes(query.supports))
    return sendPage(request, reply, query, ids, id => summarise(prompts.get(id) as Prompt))
  })

  app.get('/api/prompts/:id', {
    config: { role: 'read', seeksPrompt: true },
    schema: { tags: ['Registry'], operationId: 'getPrompt', summary: 'Get a prompt', description: 'A prompt with a syntax error answers 400 with its diagnostics. The ETag is that of the plain key; a version and what a label means have none.', params: PromptId, querystring: Type.Object({ ...RevisionQuery.properties, ...WishQuery.properties }), response: replies(PromptReply, 400, 404, 409) }
  }, async (request, reply) => {
    const { generation, params, query } = request
    const { prompt, version, label } = await choose(choosePrompt, request, reply, params.id, query)
    requireRevision(prompt, params.id, query.revision)
    // A prompt of an extension has no key of its own that could be written.
    if (prompt.entry.origin === 'direct' && label === undefined && prompt.version === undefined) reply.header('etag', entityTag(prompt.entry.hash))
    const error = whyNotRunnable(prompt, generation)
    if (prompt.state === 'invalid' && error !== undefined) throw error
    const { id, entry, revision } = prompt
    const callersOf = await callersIn(generation, [prompt])
    const diagnostics = lintPrompt(prompt, { prompts: generation.everyPrompt, callersOf, environs: visibleEnvirons(environs, request.caller), visible: generation }).map(placed)
    return { id, origin: entry.origin, syntax: entry.compiled.syntax, revision, version, label, prompt: entry.definition.source, diagnostics }
  })
}

function summarise ({ id, entry, state, revision }: Prompt) {
  const { form, supports, source } = entry.definition
  return { id, origin: entry.origin, state, syntax: entry.compiled.syntax, form, supports, description: source['description'], revision }
}
