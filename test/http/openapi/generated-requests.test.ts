import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type InjectOptions, type LightMyRequestResponse } from 'fastify'
import { undeclared } from '../../helpers/declared-replies.ts'
import { API, type GeneratedRequest, generatedRequests, type Vocabulary } from '../../helpers/generated-requests.ts'
import { startRestfulToolServer } from '../../helpers/restful-tool-server.ts'
import { startService } from '../../helpers/service.ts'

const USUAL_COUNT = 2500

/** `npm run test:long` makes five times as many, others each time. */
const COUNT = Number(process.env['GENERATED_REQUESTS'] ?? USUAL_COUNT)
const SEED = Number(process.env['GENERATED_SEED'] ?? (COUNT > USUAL_COUNT ? Date.now() % 2 ** 31 : 11))

/** Dialogues that are talked to: many end by what they are told. */
const SESSIONS = 100

const variables = { name: 'Ada', list: ['a', 'b'], text: 'x' }

const GUIDE = { help: 'Ask me.', classify: { prompt: 'Yes or no?' }, select: { prompt: 'Which?' }, tools: [] }

function registrations (tools: string): Readonly<Record<string, unknown>> {
  return {
    'templates:team:handlebars': 'Hello {{variables.name}} {{team.fact}} {{#each variables.list}}{{this}}{{/each}} {{m_echo variables.text}}',
    'templates:team:go': { syntax: 'go', userPrompt: 'Hello {{.variables.name}} {{.team.fact}}{{range .variables.list}}{{.}}{{end}} {{index .variables.list 7}}' },
    'templates:team:checked': { userPrompt: '{{variables.level}}', parameters: { type: 'object', properties: { level: { enum: ['low', 'high'] } }, required: ['level'] } },
    'templates:team:syntax': '{{#if}}',
    'templates:team:missing': '{{variables.not.there}}',
    'templates:team:failing': '{{m_fail variables.text}}',
    'environs:team:fact': 'a fact',
    'agents:guide': GUIDE,
    'skills:tidy': { body: 'Tidy up.' },
    'skills:kept': { body: 'Keep it.' },
    'plans:careful': { description: 'careful' },
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
  // The one goes on as long as its session does; the other would run commands that are made up.
  without: new Set(['followSession', 'approveCommand']),
  ids: ['team.handlebars', 'team.handlebars', 'team.handlebars', 'team.go', 'team.checked', 'team.syntax', 'team.missing', 'team.failing', 'team.fact', 'm.echo', 'm.echo', 'm.fail', 'evaluator', 'evaluator.rate'],
  writableIds: ['scratch.a', 'scratch.b', 'scratch:c', 'scratch'],
  models: ['m', 'other'],
  bodies: {
    putPrompt: prompts,
    putEnviron: ['text', 7, { a: [1] }, null],
    putTool: [{ url: 'http://127.0.0.1:1/x', parameters: [] }, { url: 'nowhere' }, { grpc: { url: '127.0.0.1:1', method: 'a.B/C' } }],
    putExtension: [{ name: 'scratch', contributes: { prompts: [{ name: 'a', userPrompt: 'x' }] } }, { name: 'scratch' }],
    putSkill: ['---\nname: a\n---\nDo it.', { body: 'Do it.' }, { body: '' }],
    putPlan: [{ checks: [] }, { check: [] }],
    putAgent: [GUIDE, { mode: 'tools', tools: [] }, { help: 'x' }],
    startSkill: [{ terminalSessionId: 'manual', skillId: 'kept' }, { terminalSessionId: 'manual', skillId: 'kept', params: { a: 'b' }, autoContinue: true, maxSteps: 3 }, { terminalSessionId: 'web', skillId: 'kept' }],
    answerSkill: [{ userMessage: 'yes' }, { userMessage: '' }],
    sendCommandResult: [{ stdout: 'x', stderr: '', exitCode: 0 }, { skipped: true }],
    talkToAgent: [{ text: 'hello' }, { text: '/help' }],
    sendInput: [{ text: '/help' }, { text: 'exit' }],
    decideApproval: [{ decision: 'approve' }, { decision: 'reject', reason: 'no' }],
    callTool: [{ arguments: { text: 'x' } }, { arguments: ['x'] }, { arguments: { text: 7 } }],
    lint: [{ template: 'Hi {{name}}' }, { template: '{{end}}', syntax: 'go' }, { prompt: prompts[0] }, { kind: 'tools', id: 'a.b', entry: { url: 'x' } }],
    renderPrompt: renders,
    renderPromptAlias: renders,
    chatWithPrompt: chats,
    chatWithPromptAlias: chats,
    createChatCompletion: [{ model: 'prompt:team.handlebars', variables }, { prompt: { id: 'evaluator.rate', variables } }, { model: 'm', messages: chat.messages }, { model: 'prompt:none', stream: true }],
    createEmbeddings: [{ model: 'm', input: 'x' }]
  }
}

describe('requests that are generated from openapi.json', () => {
  it(`are answered as it says, ${COUNT} of them (seed ${SEED})`, { timeout: 1_800_000 }, async t => {
    const tools = await startRestfulToolServer(t)
    const { app } = await startService(t, registrations(tools.origin) as Record<string, string>, { LLM_BASE_URL: 'builtin:echo', LLM_MODEL: 'm', LOG_LEVEL: 'silent', RENDER_TIMEOUT_MS: '20000' })
    const sessions: string[] = []
    for (let count = 0; count < SESSIONS; count++) sessions.push((await app.inject({ method: 'POST', url: '/api/agents/guide/sessions' })).json<{ id: string }>().id)
    const skills: string[] = []
    for (let count = 0; count < SESSIONS; count++) {
      // The model repeats it: so each of them waits for something else.
      const prompt = ['[ASK] Which?', '[MESSAGE] Well.', '[CMD] ls'][count % 3]
      skills.push((await app.inject({ method: 'POST', url: '/api/skills/start', payload: { terminalSessionId: 'manual', skillId: 'kept', prompt } })).json<{ data: { skillSessionId: string } }>().data.skillSessionId)
    }
    const below = { '/api/agents/sessions/': sessions, '/api/agents/': ['guide', 'scratch.a'], '/api/skills/definitions/': ['tidy', 'scratch.a'], '/api/skills/': skills, '/api/plans/profiles/': ['careful', 'scratch.a'], '/api/tools/': ['m.echo', 'm.fail', 'scratch.a', 'scratch.b'], '/api/sessions/': sessions, '/api/approvals/': sessions.map(id => `${id}:2.0`) }
    const problems = new Map<string, string>()
    const succeeded = new Set<string>()
    for (const request of fc.sample(generatedRequests({ ...VOCABULARY, below }), { numRuns: COUNT, seed: SEED })) {
      const { method, url, headers, payload } = request
      const reply = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) } as InjectOptions)
      const { operationId } = request.operation
      const problem = problemOf(request, reply)
      if (problem !== undefined) problems.set(`${operationId}: ${problem}`, `${method} ${url.slice(0, 300)} ${JSON.stringify(headers)} ${payload?.slice(0, 1000) ?? ''} ${reply.statusCode} ${reply.body.slice(0, 1000)}`)
      if (reply.statusCode < 300) succeeded.add(operationId)
    }
    assert.deepEqual(Object.fromEntries(problems), {})
    const operations = Object.values(API.paths).flatMap(methods => Object.values(methods))
    assert.deepEqual(operations.map(({ operationId }) => operationId).filter(id => !succeeded.has(id) && !NEVER_GOOD.has(id)), [], 'every operation succeeds now and then')
  })
})

/** The model that repeats what it is told has no embeddings. */
const NEVER_GOOD: ReadonlySet<string> = new Set(['createEmbeddings', ...VOCABULARY.without])

/** What is wrong with a reply; `undefined` when it is as openapi.json says. */
function problemOf ({ method, path }: GeneratedRequest, reply: LightMyRequestResponse): string | undefined {
  if (reply.statusCode === 500 && reply.json<{ code?: string }>().code !== 'RENDER_FAILED') return 'an error that nobody expected'
  return undeclared(method, path, reply)
}
