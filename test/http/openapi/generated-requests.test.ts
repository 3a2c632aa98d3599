import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify'
import { undeclared } from '../../helpers/declared-replies.ts'
import { API } from '../../helpers/described-api.ts'
import { type GeneratedRequest, generatedRequests, type Vocabulary } from '../../helpers/generated-requests.ts'
import { createScratch, PAPAYU, REMEMBERING } from '../../plans/scratch.ts'
import { startRestfulToolServer } from '../../helpers/restful-tool-server.ts'
import { startService } from '../../helpers/service.ts'

const USUAL_COUNT = 3400

/** `npm run test:long` makes five times as many, others each time. */
const COUNT = Number(process.env['GENERATED_REQUESTS'] ?? USUAL_COUNT)
const SEED = Number(process.env['GENERATED_SEED'] ?? (COUNT > USUAL_COUNT ? Date.now() % 2 ** 31 : 3))

/** Dialogues that are talked to: many end by what they are told. */
const SESSIONS = 100

/** Plans of each state. */
const PLANS = 12

const variables = { name: 'Ada', list: ['a', 'b'], text: 'x' }

const GUIDE = { mode: 'steps', help: 'Ask me.', classify: { prompt: 'Yes or no?' }, select: { prompt: 'Which?' }, tools: [] }

/** Two versions of each, of which a label means the second. */
function releases (...keys: readonly string[]): Readonly<Record<string, unknown>> {
  const versions = [2, 1].map(n => ({ n, tag: `tag-${n}`, at: '2026-11-20T10:00:00Z', by: 'ana' }))
  return Object.fromEntries(keys.flatMap(key => [
    [`releases:${key}`, { next: 3, labels: { staging: 2, canary: 2 }, versions, moves: [] }],
    ...versions.map(({ n }) => [`versions:${key}:${n}`, { entry: `version ${n}` }])
  ]))
}

function registrations (tools: string): Readonly<Record<string, unknown>> {
  return {
    'templates:team:handlebars': 'Hello {{variables.name}} {{team.fact}} {{#each variables.list}}{{this}}{{/each}} {{m_echo variables.text}}',
    'templates:team:go': { syntax: 'go', userPrompt: 'Hello {{.variables.name}} {{.team.fact}}{{range .variables.list}}{{.}}{{end}} {{index .variables.list 7}}' },
    'templates:team:checked': { userPrompt: '{{variables.level}}', parameters: { type: 'object', properties: { level: { enum: ['low', 'high'] } }, required: ['level'] } },
    'templates:team:syntax': '{{#if}}',
    'templates:team:missing': '{{variables.not.there}}',
    'templates:team:failing': '{{m_fail variables.text}}',
    'environs:team:fact': 'a fact',
    ...Object.fromEntries(['scratch:a', 'scratch:b', 'scratch', 'team:handlebars'].map(key => [`tests:${key}`, [{ vars: variables }]])),
    ...releases('scratch:a', 'scratch'),
    'agents:guide': GUIDE,
    'skills:tidy': { description: 'Tidies up.', body: 'Tidy up.' },
    'skills:kept': { description: 'Keeps it.', body: 'Keep it.' },
    'plans:careful': { description: 'careful' },
    // Its changes are made at once, so that few requests have to follow each other.
    'plans:default': PAPAYU,
    'tools:m:echo': { url: `${tools}/echo`, parameters: [{ name: 'text', type: 'string' }] },
    'tools:m:fail': { url: `${tools}/500`, parameters: [{ name: 'text', type: 'string' }], onError: 'abort' },
    'extensions:evaluator': { name: 'evaluator', contributes: { prompts: [{ name: 'rate', messages: [{ role: 'user', content: 'Rate {{variables.text}}' }] }] } }
  }
}

const chat = { variables, messages: [{ role: 'user', content: 'Go on' }] }
const prompts = [{ userPrompt: 'Hi {{variables.name}}' }, 'Hi {{name}}', [{ role: 'system', content: '{{team.fact}}' }], { userPrompt: '{{#each' }, { userPrompt: '{{> scratch.b}}' }]
const renders = [{ variables }, { variables: { level: 'low' } }, { variables: { level: 'none' } }, { args: variables }, null]
const chats = [chat, { ...chat, stream: true }, { variables, model: 'other', temperature: 0.5 }]

const VOCABULARY: Omit<Vocabulary, 'below'> = {
  // The one goes on as long as its session does, the other as long as somebody reads it.
  without: new Set(['followSession', 'followChanges']),
  ids: ['team.handlebars', 'team.go', 'team.checked', 'team.syntax', 'team.missing', 'team.failing', 'team.fact', 'm.echo', 'm.fail', 'evaluator', 'evaluator.rate'],
  writableIds: ['scratch.a', 'scratch.b', 'scratch:c', 'scratch'],
  models: ['m', 'other'],
  bodies: {
    putPrompt: prompts,
    putEnviron: ['text', 7, { a: [1] }, null],
    putTool: [{ url: 'http://127.0.0.1:1/x', parameters: [] }, { url: 'nowhere' }, { grpc: { url: '127.0.0.1:1', method: 'a.B/C' } }],
    putExtension: [{ name: 'scratch', contributes: { prompts: [{ name: 'a', userPrompt: 'x' }] } }, { name: 'scratch' }],
    putSkill: ['---\nname: a\ndescription: Does it.\n---\nDo it.', { description: 'Does it.', body: 'Do it.' }, { description: 'x', body: '' }, 'Do it.'],
    putPromptLabel: [{ version: 1 }, { version: 'latest', note: 'x' }, { version: [{ version: 1, weight: 5 }, { version: 2, weight: 95 }] }, { version: [] }],
    putPromptTests: [[{ vars: variables, assert: [{ type: 'contains', value: 'Ada' }] }], [], [{ asserts: [] }]],
    runPromptTest: [{ case: { vars: variables } }, { case: { run: 'chat', vars: variables, assert: [{ type: 'regex', value: '(' }, { type: 'llm-rubric', value: 'x' }] } }, { case: { tools: 'x.json' } }, { case: {} }],
    restorePromptVersion: [null, { note: 'x' }],
    createPromptVersion: [null, { note: 'x' }],
    putPlan: [{ checks: [] }, { check: [] }],
    putAgent: [GUIDE, { mode: 'tools', tools: [] }, { help: 'x' }],
    startSkill: [{ terminalSessionId: 'manual', skillId: 'kept' }, { terminalSessionId: 'manual', skillId: 'kept', params: { a: 'b' }, autoContinue: true, maxSteps: 3 }, { terminalSessionId: 'web', skillId: 'kept' }],
    answerSkill: [{ userMessage: 'yes' }, { userMessage: '' }],
    sendCommandResult: [{ stdout: 'x', stderr: '', exitCode: 0 }, { skipped: true }],
    startPlan: [{ goal: 'plan: исправь тест', workspace: 'shop' }, { goal: 'x', workspace: 'nowhere' }, { goal: 'plan: исправь тест', workspace: 'shop', profile: 'nothing' }],
    talkToPlan: [{ text: 'ok' }, { text: 'undo' }, { text: 'reject' }],
    undoPlan: [null, { paths: ['src/price.js'] }, { paths: ['/etc/passwd'] }],
    redoPlan: [null, { paths: ['src/price.js'] }],
    changeUserMemory: [{ preferred_style: 'brief' }, { preferred_style: null }, { other: 1 }],
    changeProjectMemory: [{ default_test_command: 'npm test' }, { default_lint_command: 'npm run lint' }, { ci_notes: null }, { default_test_command: 7 }],
    talkToAgent: [{ text: 'hello' }, { text: '/help' }],
    sendInput: [{ text: '/help' }, { text: 'exit' }],
    approveCommand: [{ digest: 'x' }, { approvalId: 'x', command: 'ls' }],
    decideApproval: [{ decision: 'approve', digest: 'x' }, { decision: 'reject', reason: 'no' }],
    previewPrompt: [...prompts.map(prompt => ({ prompt, variables })), { prompt: '{{m_echo variables.text}}', variables, tools: 'live' }, { prompt: { syntax: 'go', userPrompt: '{{index .variables.list 7}}' }, variables }, { prompt: '{{m_fail variables.text}}', variables, tools: 'live' }, { prompt: 7 }],
    callTool: [{ arguments: { text: 'x' } }, { arguments: ['x'] }, { arguments: { text: 7 } }],
    lint: [{ template: 'Hi {{name}}' }, { template: '{{end}}', syntax: 'go' }, { prompt: prompts[0] }, { kind: 'tools', id: 'a.b', entry: { url: 'x' } }],
    renderPrompt: renders,
    renderPromptAlias: renders,
    chatWithPrompt: chats,
    chatWithPromptAlias: chats,
    createChatCompletion: [{ model: 'prompt:team.handlebars', variables }, { prompt: { id: 'evaluator.rate', variables } }, { model: 'm', messages: chat.messages }, { model: 'prompt:none', stream: true }],
    createResponse: [{ model: 'prompt:team.handlebars', variables }, { prompt: { id: 'evaluator.rate', variables } }, { model: 'm', input: 'Hi' }, { model: 'm', input: chat.messages, stream: true }, { model: 'm', input: 'Hi', store: true }],
    createEmbeddings: [{ model: 'm', input: 'x' }]
  }
}

describe('requests that are generated from openapi.json', () => {
  it(`are answered as it says, ${COUNT} of them (seed ${SEED})`, { timeout: 1_800_000 }, async t => {
    const tools = await startRestfulToolServer(t)
    // What the script has no reply to it repeats, as an echo would.
    const { environment: { STORE_DIR: _store, ...planning } } = await createScratch(t, REMEMBERING)
    const { app } = await startService(t, registrations(tools.origin) as Record<string, string>, { ...planning, LLM_MODEL: 'm', LOG_LEVEL: 'silent', RENDER_TIMEOUT_MS: '20000' })
    const below = await idsBelow(app)
    const problems = new Map<string, string>()
    const succeeded = new Set<string>()
    for (const request of generatedRequests({ ...VOCABULARY, below: { ...below, '/api/tools/{id}/call': ['m.echo', 'm.fail'] } }, { count: COUNT, seed: SEED })) {
      const { method, url, headers, payload } = request
      const reply = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) } as InjectOptions)
      const { operationId } = request.operation
      const problem = problemOf(request, reply)
      if (problem !== undefined) problems.set(`${operationId}: ${problem}`, `${method} ${url.slice(0, 300)} ${JSON.stringify(headers)} ${payload?.slice(0, 1000) ?? ''} ${reply.statusCode} ${reply.body.slice(0, 1000)}`)
      if (reply.statusCode < 300) succeeded.add(operationId)
    }
    assert.deepEqual(Object.fromEntries(problems), {})
    const operations = Object.values(API.paths).flatMap(methods => Object.values(methods))
    // Thirty random requests of an operation may all miss what is there: of more than a few, the requests would be of no use.
    const failed = operations.map(({ operationId }) => operationId).filter(id => !succeeded.has(id) && !NEVER_GOOD.has(id))
    assert.ok(failed.length <= 3, `no request succeeded of ${failed.join(', ')}`)
  })
})

/**
 * The model that repeats what it is told has no embeddings, and wants nothing remembered; a confirmation and an approval need the digest of
 * what was shown; what one plan alone can take back is often changed by another request first; no commit is allowed; no target has terminals; nobody is sent notices.
 */
const NEVER_GOOD: ReadonlySet<string> = new Set(['createEmbeddings', 'rememberPlan', 'confirmPlan', 'approveCommand', 'undoPlan', 'commitPlan', 'openTerminal', 'endTerminal', 'resendNotice', 'testNotices', ...VOCABULARY.without])

/** Sessions that wait for something, and what else can be named. */
async function idsBelow (app: FastifyInstance): Promise<Vocabulary['below']> {
  const post = async <Reply>(url: string, payload: object = {}) => (await app.inject({ method: 'POST', url, payload })).json<Reply>()
  const sessions: string[] = []
  for (let count = 0; count < SESSIONS; count++) sessions.push((await post<{ id: string }>('/api/agents/guide/sessions')).id)
  const skills: string[] = []
  for (let count = 0; count < SESSIONS; count++) {
    // The model repeats it: so each of them waits for something else.
    const prompt = ['[ASK] Which?', '[MESSAGE] Well.', '[CMD] ls'][count % 3]
    skills.push((await post<{ data: { skillSessionId: string } }>('/api/skills/start', { terminalSessionId: 'manual', skillId: 'kept', prompt })).data.skillSessionId)
  }
  const approvals: string[] = []
  for (let count = 0; count < SESSIONS; count++) {
    const { data: { approval } } = await post<{ data: { approval: { id: string } } }>('/api/skills/start', { terminalSessionId: 'shop', skillId: 'kept', prompt: '[CMD] ls' })
    approvals.push(approval.id)
  }
  const plans: string[] = []
  for (let count = 0; count < 3 * PLANS; count++) {
    // Some of those that wait want something remembered.
    const { id } = await post<{ id: string }>('/api/plans', { goal: count % 6 === 0 ? 'apply: запомни тесты' : 'plan: исправь тест', workspace: 'shop' })
    plans.push(id)
    // Planned; applied and undone; applied: of these only the last has changed something, as it was read by all.
    if (count % 3 > 0) await post(`/api/plans/${id}/apply`)
    if (count % 3 === 1 || count < 3 * PLANS - 1) await post(`/api/plans/${id}/undo`)
  }
  const prompts = ['team.handlebars', 'team.handlebars', 'team.go', 'team.checked', 'team.failing', 'team.missing', 'scratch.a']
  return {
    '/api/render/prompts/': prompts,
    '/api/chat/prompts/': prompts,
    '/api/prompts/{id}/': prompts,
    '/api/extensions/': ['evaluator', 'scratch'],
    '/api/agents/sessions/': sessions,
    '/api/agents/': ['guide', 'scratch.a'],
    '/api/skills/definitions/': ['tidy', 'scratch.a'],
    '/api/skills/': skills,
    '/api/targets/': ['shop'],
    '/api/plans/profiles/': ['careful', 'scratch.a'],
    '/api/plans/': plans,
    '/api/traces/': plans,
    '/api/tools/': ['m.echo', 'm.fail', 'scratch.a', 'scratch.b'],
    '/api/sessions/': sessions,
    '/api/approvals/': approvals
  }
}

/** What is wrong with a reply; `undefined` when it is as openapi.json says. */
function problemOf ({ method, path }: GeneratedRequest, reply: LightMyRequestResponse): string | undefined {
  if (reply.statusCode === 500 && reply.json<{ code?: string }>().code !== 'RENDER_FAILED') return 'an error that nobody expected'
  return undeclared(method, path, reply)
}
