import { visibleEnvirons } from '../../access/views.ts'
import { Type } from '../../schema/builder.ts'
import { placed } from '../../registry/diagnostic-table.ts'
import type { Prompt, PromptRelease } from '../../registry/generation.ts'
import { promptKind } from '../../registry/kinds/prompt-kind.ts'
import { sharesOf } from '../../registry/kinds/release-record.ts'
import { callersIn, lintPrompt } from '../../registry/lint-prompt.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'
import { missingPrompt, resolveId } from '../../service/choose-prompt.ts'
import { requireRevision, whyNotRunnable } from '../../service/render-prompt.ts'
import type { Service } from '../../service.ts'
import type { App } from '../app.ts'
import { choose, RevisionQuery, SelectorQuery, messages, variables, ExplanationReply, explainedMessage, Span } from '../prompt-request.ts'
import { entityTag, ListedStored, ListedTag, pageOf, selectIds, rowsOf } from '../resource.ts'
import {
  CHOOSES_PROMPT, listReply, partPlace, PlacedDiagnosticReply, PromptId, SupportsListQuery, nullable, oneOf, RenderedMessageReply, ListQuery
} from '../schemas.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { BundleSchema } from '../../service/recordings.ts'
import { entryForbidden, requestInvalid } from '../../base/errors.ts'
import { mayPublish } from '../../access/rights.ts'
import { describeDiagnostic, RejectedEntry } from '../../registry/diagnostic.ts'
import { parseTests, type TestCase, testsKind } from '../../registry/kinds/tests-kind.ts'
import { type CaseResult, requireChat } from '../../service/prompt-tests.ts'
import { toPath } from '../../store/store.ts'
import { abortWhenGone } from '../send-reply.ts'

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

const Needs = Type.Object({
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

export function needsRoutes (app: App, { registry: { environs }, choosePrompt }: Pick<Service, 'registry' | 'choosePrompt'>): void {
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
    Type.Object({
      label: Type.String(),
      version: Type.Integer(),
      weight: Type.Integer({ description: 'Of 100' }),
      isLatest: Type.Boolean({ description: 'Whether the version has the content that is served where nobody says a label' })
    }),
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

export function promptRoutes (app: App, { registry, choosePrompt }: Pick<Service, 'registry' | 'choosePrompt'>): void {
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
    schema: { tags: ['Registry'], operationId: 'getPrompt', summary: 'Get a prompt', description: 'A prompt with a syntax error answers 400 with its diagnostics, unless `broken` is asked for. The ETag is that of the plain key; a version and what a label means have none.', params: PromptId, querystring: Type.Object({ ...RevisionQuery.properties, ...SelectorQuery.properties, broken: Type.Optional(Type.Boolean({ description: 'Whether a prompt that is stored with a syntax error is answered as it is stored, to be mended: in place of 400, and of an earlier version that is served' })) }), response: { 200: PromptReply } }
  }, async (request, reply) => {
    const { generation, params, query } = request
    const { prompt, version, label } = await choose(choosePrompt, request, reply, params.id, query)
    requireRevision(prompt, params.id, query.revision)
    const broken = query.broken === true && label === undefined && prompt.version === undefined ? registry.broken(promptKind, prompt.id) : undefined
    // What is stored cannot be read at all, while an earlier version is served: `/stored` has its text.
    const isPlain = query.broken === true && broken === undefined && label === undefined && prompt.version === undefined
    if (isPlain && generation.findRejected(promptKind, prompt.id)?.servesLastGood === true) throw missingPrompt(generation, prompt.id)
    if (broken !== undefined) {
      reply.header('etag', entityTag(broken.hash))
      const { compiled, revision, definition: { source }, diagnostics } = broken
      return { id: prompt.id, origin: 'direct', syntax: compiled.syntax, revision, prompt: source, diagnostics: diagnostics.map(placed) }
    }
    // A prompt of an extension has no key of its own in the store, and so no entity tag.
    if (prompt.entry.origin === 'direct' && label === undefined && prompt.version === undefined) reply.header('etag', entityTag(prompt.entry.hash))
    const error = whyNotRunnable(prompt, generation)
    if (prompt.state === 'invalid' && error !== undefined && query.broken !== true) throw error
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
    labels: release === undefined ? undefined : labelsOf(release, entry.hash)
  }
}

function labelsOf ({ record: { labels, versions } }: PromptRelease, latest: string) {
  const isLatest = (n: number) => versions.find(version => version.n === n)?.tag === latest
  return [...labels].flatMap(([label, target]) => sharesOf(target).map(({ version, weight }) => ({ label, version, weight, isLatest: isLatest(version) })))
}

const stretch = (description: string) => Type.Object({
  from: Type.Integer({ minimum: 0 }),
  to: Type.Integer({ minimum: 0, description: 'Behind its last one' })
}, { description: `${description}, in UTF-16 units from its beginning` })

const PreviewBody = Type.Object({
  prompt: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Array(Type.Unknown()), Type.String()], { description: 'As it would be published: an object, a list of messages, or a text' }),
  variables,
  messages,
  tools: Type.Optional(oneOf(['known', 'live'], { description: 'known (default): a call that `known` has is answered from it, any other with its tool\'s default, and no tool is called; live: tools are called, and the reply has a bundle' })),
  known: nullable(BundleSchema, { description: 'What an earlier preview with live tools, or a render with `?tools=record`, gave; only its calls are read' })
}, { additionalProperties: false, examples: [{ prompt: { userPrompt: 'Hello {{variables.name}}!' }, variables: { name: 'Ada' } }] })

const MistakeReply = Type.Object({
  ...PlacedDiagnosticReply.properties,
  code: Type.String({ description: 'Of a diagnostic, or of the error that a render would answer with: VARIABLE_MISSING, RENDER_BUDGET' }),
  in: Type.Optional(Type.String({ description: 'The partial whose text is meant; left out for the prompt\'s own' })),
  path: Type.Optional(Type.String({ description: 'The variable that is meant', examples: ['variables.name'] })),
  near: Type.Optional(Type.String({ description: 'What is there and may be meant by it' })),
  field: Type.Optional(Type.String({ description: 'The part of the prompt that is meant, as a JSON pointer, where it is no text of a message', examples: ['/parameters'] }))
})

const PreviewReply = Type.Object({
  id: Type.String(),
  diagnostics: Type.Array(MistakeReply, { description: 'What is wrong with the prompt or its variables, then what else was noticed. With an error among them nothing was rendered' }),
  needs: Type.Optional(Type.Object(Needs.properties, { description: 'As `GET /api/prompts/{id}/needs`; left out where the text cannot be read' })),
  rendered_prompt: Type.Optional(Type.Union([
    Type.String(),
    Type.Array(RenderedMessageReply)
  ],
  { description: 'A text for a prompt with one text and no `messages` given, else a list of messages' })),
  explain: Type.Optional(Type.Object({
    ...ExplanationReply.properties,
    messages: Type.Array(Type.Object({
      ...explainedMessage,
      spans: Type.Array(Type.Object({
        ...Span.properties,
        output: stretch('Where it stands in the rendered message'),
        source: Type.Optional(stretch('What wrote it in the message\'s template, a tag with its braces or a piece of text; left out for what a partial wrote'))
      }), { description: 'Joined, their texts are the message\'s content' })
    }), { description: 'In the order of the prompt\'s messages' })
  }, { description: 'As `?explain=true` gives it, with the places of each span' })),
  bundle: Type.Optional(BundleSchema)
})

export function previewRoutes (app: App, { previewPrompt }: Pick<Service, 'previewPrompt'>): void {
  app.post('/api/prompts/:id/preview', {
    config: { role: 'write', fails: ['ENTRY_FORBIDDEN', 'LINT_BUSY'] },
    schema: {
      tags: ['Publishing'],
      operationId: 'previewPrompt',
      summary: 'Try a prompt without storing it',
      description: 'For whoever may publish it. It is checked as publishing does, linked with what is registered now, and rendered within the same bounds. A prompt with mistakes answers 200, too.',
      params: PromptId,
      body: PreviewBody,
      response: { 200: PreviewReply }
    }
  }, async (request, reply) => {
    const { generation, caller, params, body, activity, id: requestId } = request
    const { prompt, tools = 'known', known } = body
    const { id, mistakes, needs, rendered, explanation, bundle } = await previewPrompt({
      generation,
      caller,
      id: params.id,
      text: stringifyJson(prompt as Json),
      variables: (body.variables ?? {}) as JsonObject,
      history: (body.messages ?? undefined) as readonly JsonObject[] | undefined,
      tools,
      known: known ?? undefined,
      requestId,
      activity,
      isGone: () => reply.raw.destroyed
    })
    request.log.info({ action: 'preview', kind: 'templates', id, by: caller.name, tools, outcome: rendered === undefined ? 'mistakes' : 'rendered' }, 'audit')
    return {
      id,
      diagnostics: mistakes,
      needs,
      rendered_prompt: rendered,
      explain: explanation,
      bundle
    }
  })
}

const TestsReply = Type.Object({
  id: Type.String({ description: 'Of the prompt' }),
  tests: Type.Array(Type.Object({}, { additionalProperties: true }), { description: 'The cases as they are stored, as in jsonschema/tests.json' })
})

const TestsSummary = Type.Object({
  id: Type.String({ description: 'Of the prompt' }),
  cases: Type.Integer({ description: 'How many there are; 0 where they cannot be read' }),
  etag: ListedTag
})

const RunBody = Type.Object({
  case: Type.Object({}, { additionalProperties: true, description: 'One case, as in jsonschema/tests.json' }),
  known: nullable(BundleSchema, { description: 'Where the case names a file as its tools: the bundle in it, whose calls are answered from it' })
}, { additionalProperties: false, examples: [{ case: { description: 'greets by name', vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Ada' }] } }] })

const RunReply = Type.Object({
  id: Type.String(),
  version: Type.Optional(Type.Integer({ description: 'Which version was tested; left out for content that is none' })),
  label: Type.Optional(Type.String({ description: 'The label that it was asked for by' })),
  pass: Type.Boolean(),
  durationMs: Type.Integer({ description: 'How long the prompt or its model took; judges do not count' }),
  output: Type.Optional(Type.String({ description: 'What was looked at: the rendered texts, or the answer' })),
  checks: Type.Array(Type.Object({
    type: Type.String(),
    pass: Type.Boolean(),
    reason: Type.String({ description: 'Why it fails; of a judge, why either way; else empty' }),
    score: Type.Optional(Type.Number())
  }), { description: 'One for each assertion' }),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() }, { description: 'Why nothing could be looked at: the error of the render or of the chat' }))
})

export function promptTestRoutes (app: App, { promptTests, runCase, choosePrompt }: Pick<Service, 'promptTests' | 'runCase' | 'choosePrompt'>): void {
  app.get('/api/tests', {
    config: { role: 'read', headers: ['link'] },
    schema: { tags: ['Tests'], operationId: 'listPromptTests', summary: 'List the prompts that have tests', description: 'Each call reads the store.', querystring: ListQuery, response: { 200: listReply(TestsSummary) } }
  }, async (request, reply) => {
    const { query, caller } = request
    const prefix = toPath(query.prefix ?? '')
    const ids = (await promptTests.ids(caller)).filter(id => id.startsWith(prefix) && id > (query.after ?? '')).slice(0, query.limit + 1)
    const page = rowsOf(request, reply, query.limit, ids, id => id)
    if (!query.detail) return page
    return (await promptTests.rows(page)).map(({ id, cases, tag }) => ({ id, cases, etag: tag === undefined ? undefined : entityTag(tag) }))
  })

  app.get('/api/prompts/:id/tests', {
    config: { role: 'read', fails: ['ENTRY_NOT_FOUND', 'TESTS_UNREADABLE'], headers: ['etag'] },
    schema: {
      tags: ['Tests'],
      operationId: 'getPromptTests',
      summary: 'Get the tests of a prompt',
      description: 'As they are stored now. A prompt has one list of tests, whichever version of it is named.',
      params: PromptId,
      response: { 200: TestsReply }
    }
  }, async ({ caller, params }, reply) => {
    const { id, tests, tag } = await promptTests.read(caller, resolveId(params.id).id)
    reply.header('etag', entityTag(tag))
    return { id, tests: tests as object[] }
  })

  app.post('/api/prompts/:id/tests/run', {
    config: {
      role: 'write',
      seeksPrompt: true,
      fails: [...CHOOSES_PROMPT, 'ENTRY_FORBIDDEN'],
      headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label']
    },
    schema: {
      tags: ['Tests'],
      operationId: 'runPromptTest',
      summary: 'Run one case of a prompt\'s tests',
      description: 'For whoever may publish the prompt; a case that asks a model, as `run: chat` and `llm-rubric` do, needs the role chat, too. What fails is a result: the reply is 200.',
      params: PromptId,
      querystring: SelectorQuery,
      body: RunBody,
      response: { 200: RunReply }
    }
  }, async (request, reply) => {
    const { generation, caller, params, body, query, activity, id: requestId } = request
    const id = toPath(resolveId(params.id).id)
    if (!mayPublish(testsKind, id, caller)) throw entryForbidden(caller.name, testsKind.key, id)
    const testCase = readCase(body.case as Json)
    requireChat(testCase, caller)
    const chosen = await choose(choosePrompt, request, reply, params.id, query)
    const known = body.known ?? undefined
    const result = await runCase({ generation, caller, id: params.id, chosen, testCase, known, requestId, activity, signal: abortWhenGone(reply) })
    const { version, label } = chosen
    const { run, tools } = testCase
    request.log.info({ action: 'test', kind: testsKind.key, id, version, by: caller.name, run, tools, outcome: result.pass ? 'passed' : 'failed' }, 'audit')
    return { id: chosen.prompt.id, version, label, ...asReply(result) }
  })
}

/** @throws REQUEST_INVALID */
function readCase (value: Json): TestCase {
  try {
    return parseTests([value])[0] as TestCase
  } catch (error) {
    if (error instanceof RejectedEntry) {
      throw requestInvalid(`body: case: ${error.diagnostics.map(describeDiagnostic).join('; ')}`, { part: 'body', field: 'case' })
    }
    throw error
  }
}

function asReply ({ checks, ...result }: CaseResult) {
  return { ...result, checks: checks.map(check => ({ ...check })) }
}
