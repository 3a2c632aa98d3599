import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { Type } from '../../schema/builder.ts'
import { placed } from '../../registry/diagnostic-table.ts'
import type { Prompt, PromptRelease } from '../../registry/generation.ts'
import { promptKind } from '../../registry/kinds/prompt-kind.ts'
import { sharesOf } from '../../registry/kinds/release-record.ts'
import { callersIn, lintPrompt } from '../../registry/lint-prompt.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'
import type { Registry } from '../../registry/registry.ts'
import type { ChoosePrompt } from '../../service/choose-prompt.ts'
import { requireRevision, whyNotRunnable } from '../../service/render-prompt.ts'
import type { App } from '../app.ts'
import { choose, RevisionQuery, SelectorQuery } from '../prompt-request.ts'
import { entityTag, ListedStored, ListedTag, pageOf, selectIds } from '../resource.ts'
import { CHOOSES_PROMPT, listReply, partPlace, PlacedDiagnosticReply, PromptId, SupportsListQuery } from '../schemas.ts'

const place = {
  line: Type.Integer(),
  column: Type.Integer(),
  messageIndex: Type.Optional(Type.Integer({ description: 'Which message, from 0, when the text has several' })),
  ...partPlace,
  in: Type.Optional(Type.String({ description: 'The partial whose text it is in; missing for the prompt\'s own' }))
}
const path = Type.String({ description: 'From the scope root; `*` is any name or index', examples: ['variables.user.name', 'chat.*'] })
const use = Type.String({ description: 'used: it reaches the output or a function; tested: it may be absent; possible: which path it is depends on a value' })

const reference = {
  name: Type.String({ description: 'As the prompt writes it' }),
  id: Type.Optional(Type.String({ description: 'What it stands for now; missing when nothing is registered under that name' })),
  arguments: Type.Array(Type.String(), { description: 'The argument expressions as written' }),
  ...place
}

export const Needs = Type.Object({
  variables: Type.Array(Type.Object({
    path,
    use,
    required: Type.Boolean({ description: 'Whether a render without it is refused: a required parameter, or used where nothing tests it, and without a default' }),
    default: Type.Optional(Type.Unknown()),
    ...place,
    line: Type.Optional(Type.Integer({ description: 'Missing for a required parameter that no text reads' })),
    column: Type.Optional(Type.Integer())
  }), { description: 'What the caller gives' }),
  environs: Type.Array(Type.Object({ path, use, registered: Type.Boolean({ description: 'Whether a shared variable is there, above it or below it' }), ...place }), { description: 'Shared variables' }),
  caller: Type.Array(Type.Object({ path, use, ...place }), { description: 'Facts about the identity of the caller' }),
  tools: Type.Array(Type.Object({
    ...reference,
    line: Type.Optional(Type.Integer({ description: 'Missing for a tool that the prompt offers its model in `toolLoop`' })),
    column: Type.Optional(Type.Integer())
  })),
  partials: Type.Array(Type.Object(reference)),
  complete: Type.Boolean({ description: 'False when there was too much in it, or in its partials, to look at all of it' })
})

const NeedsReply = Type.Object({ id: Type.String(), revision: Type.String(), ...Needs.properties })

export function needsRoutes (app: App, { environs, choosePrompt }: { environs: VisibleEnvirons, choosePrompt: ChoosePrompt }): void {
  app.get('/api/prompts/:id/needs', {
    config: { role: 'read', fails: CHOOSES_PROMPT, headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label'] },
    schema: { tags: ['Registry'], operationId: 'getPromptNeeds', summary: 'What a prompt needs: variables, shared variables, tools, partials', params: PromptId, querystring: SelectorQuery, response: { 200: NeedsReply } }
  }, async (request, reply) => {
    const { prompt } = await choose(choosePrompt, request, reply, request.params.id, request.query)
    const error = whyNotRunnable(prompt, request.generation)
    if (prompt.state === 'invalid' && error !== undefined) throw error
    return { id: prompt.id, revision: prompt.revision, ...collectNeeds(prompt, request.generation.everyPrompt, visibleEnvirons(environs, request.caller)) }
  })
}

const PromptSummary = Type.Object({
  id: Type.String(),
  origin: Type.String({ description: 'direct, or extension' }),
  state: Type.String({ description: 'valid; invalid: mistakes in its text; unlinked: a tool or partial is not registered' }),
  syntax: Type.Optional(Type.String({ description: 'go or handlebars' })),
  form: Type.String({ description: 'text or messages: what it renders to' }),
  supports: Type.Array(Type.String()),
  description: Type.Optional(Type.Unknown()),
  revision: Type.String(),
  etag: ListedTag,
  stored: ListedStored,
  updatedAt: Type.String({ format: 'date-time', description: 'When its version was made; of what is no version, when this process saw it change, or read it first' }),
  by: Type.String({ description: 'Who changed it, as far as it is known: `store`, since whoever writes to the store does not say' }),
  version: Type.Optional(Type.Integer({ description: 'Which version it is; left out for content that is none' })),
  labels: Type.Optional(Type.Array(
    Type.Object({ label: Type.String(), version: Type.Integer(), weight: Type.Integer({ description: 'Of 100' }) }),
    { description: 'What its labels mean; one that is spread over versions is there with each' }
  ))
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

/** Who is said to have made a change that was written directly into the store, which keeps no authors. */
const STORE = 'store'

export function promptRoutes (app: App, { registry, choosePrompt }: { registry: Registry, choosePrompt: ChoosePrompt }): void {
  const { environs } = registry
  app.get('/api/prompts', {
    config: { role: 'read', headers: ['link'] },
    schema: { tags: ['Registry'], operationId: 'listPrompts', summary: 'List prompts', querystring: SupportsListQuery, response: { 200: listReply(PromptSummary) } }
  }, async (request, reply) => {
    const { prompts, releases } = request.generation
    const { query } = request
    const { supports } = query
    const ids = await selectIds(prompts, query, supports === undefined ? undefined : ({ entry }) => entry.definition.supports.includes(supports))
    return await pageOf({ registry, kind: promptKind }, request, reply, query, ids, id => summarise(prompts.get(id) as Prompt, releases.get(id)))
  })

  app.get('/api/prompts/:id', {
    config: {
      role: 'read',
      seeksPrompt: true,
      fails: [...CHOOSES_PROMPT, 'PROMPT_REVISION'],
      headers: ['etag', 'x-prompt-revision', 'x-prompt-version', 'x-prompt-label']
    },
    schema: { tags: ['Registry'], operationId: 'getPrompt', summary: 'Get a prompt', description: 'A prompt with a syntax error answers 400 with its diagnostics. The ETag is that of the plain key; a version and what a label means have none.', params: PromptId, querystring: Type.Object({ ...RevisionQuery.properties, ...SelectorQuery.properties }), response: { 200: PromptReply } }
  }, async (request, reply) => {
    const { generation, params, query } = request
    const { prompt, version, label } = await choose(choosePrompt, request, reply, params.id, query)
    requireRevision(prompt, params.id, query.revision)
    // A prompt of an extension has no key of its own in the store, and so no entity tag.
    if (prompt.entry.origin === 'direct' && label === undefined && prompt.version === undefined) reply.header('etag', entityTag(prompt.entry.hash))
    const error = whyNotRunnable(prompt, generation)
    if (prompt.state === 'invalid' && error !== undefined) throw error
    const { id, entry, revision } = prompt
    const callersOf = await callersIn(generation, [prompt])
    const diagnostics = lintPrompt(prompt, {
      prompts: generation.everyPrompt,
      callersOf,
      environs: visibleEnvirons(environs, request.caller),
      visible: generation
    }).map(placed)
    return { id, origin: entry.origin, syntax: entry.compiled.syntax, revision, version, label, prompt: entry.definition.source, diagnostics }
  })
}

function summarise ({ id, entry, state, revision }: Prompt, release: PromptRelease | undefined) {
  const { form, supports, source } = entry.definition
  const note = release?.record.versions.find(({ n }) => n === release.latest)
  return {
    id,
    origin: entry.origin,
    state,
    syntax: entry.compiled.syntax,
    form,
    supports,
    description: source['description'],
    revision,
    etag: entry.origin === 'direct' ? entityTag(entry.hash) : undefined,
    updatedAt: note?.at ?? new Date(entry.seenAt).toISOString(),
    by: note?.by ?? STORE,
    version: note?.n,
    labels: release === undefined ? undefined : labelsOf(release)
  }
}

function labelsOf ({ record: { labels } }: PromptRelease) {
  return [...labels].flatMap(([label, target]) => sharesOf(target).map(({ version, weight }) => ({ label, version, weight })))
}
