import { entryForbidden, requestInvalid, roleMissing } from '../../base/errors.ts'
import { type Json } from '../../base/json.ts'
import { Type } from '../../schema/builder.ts'
import { type Caller } from '../../access/caller.ts'
import { mayPublish } from '../../access/rights.ts'
import { describeDiagnostic, RejectedEntry } from '../../registry/diagnostic.ts'
import { parseTests, type TestCase, testsKind } from '../../registry/kinds/tests-kind.ts'
import { BundleSchema } from '../../service/bundle.ts'
import type { CaseResult, PromptTests, RunCase } from '../../service/prompt-tests.ts'
import { type ChoosePrompt, resolveId } from '../../service/choose-prompt.ts'
import { toPath } from '../../store/store.ts'
import { type App } from '../app.ts'
import { abortWhenGone } from '../send-reply.ts'
import { entityTag, ListedTag, rowsOf } from '../resource.ts'
import { CHOOSES_PROMPT, ListQuery, listReply, nullable, PromptId } from '../schemas.ts'
import { choose, SelectorQuery } from '../prompt-request.ts'

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

interface PromptTestRoutesOptions {
  readonly promptTests: PromptTests
  readonly runCase: RunCase
  readonly choosePrompt: ChoosePrompt
}

export function promptTestRoutes (app: App, { promptTests, runCase, choosePrompt }: PromptTestRoutesOptions): void {
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

/** @throws ROLE_MISSING */
function requireChat ({ run, assertions }: TestCase, { name, roles }: Caller): void {
  const asksModel = run === 'chat' || assertions.some(({ kind }) => kind === 'llm-rubric')
  if (asksModel && !roles.has('chat')) throw roleMissing(name, 'chat', [...roles])
}

function asReply ({ checks, ...result }: CaseResult) {
  return { ...result, checks: checks.map(check => ({ ...check })) }
}
