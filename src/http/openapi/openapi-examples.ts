import * as errors from '../../base/errors.ts'
import { isDefinitionKind } from '../../registry/kind.ts'
import { errorBody } from '../error-handler.ts'
import { KIND_ROUTES } from '../kind-routes.ts'
import { errorShapeOf } from '../error-shapes.ts'

/** A call, as far as it decides which errors it can answer with. */
export interface DescribedCall {
  readonly method: string
  /** As OpenAPI has it: `/api/prompts/{id}`. */
  readonly path: string
  readonly hasBody: boolean
}

interface Example {
  readonly error: errors.ServiceError
  isOn (call: DescribedCall): boolean
}

/** What `x-request-id` is in the examples. */
const REQUEST_ID = 'c42fe880-6bab-4ea6-aaa0-5322ea741100'

const SESSION = '0123456789abcdef0123456789abcdef'
const REVISION = 'RpxSPWqS7NC1'
const DIAGNOSTIC = { severity: 'error', code: 'SYNTAX', message: '"if" is not closed', line: 1, column: 1, hint: 'Close it with {{/if}}' }

const everywhere = () => true
const isWrite = ({ method }: DescribedCall) => method === 'put' || method === 'delete'
const isBelow = (path: string) => (call: DescribedCall) => call.path.startsWith(path)
const isChat = ({ path }: DescribedCall) => path.includes('chat')
const isModelCall = (call: DescribedCall) => isChat(call) || call.path === '/v1/embeddings'
const isRender = (call: DescribedCall) => isChat(call) || call.path.includes('render')
const isOfPrompt = (call: DescribedCall) => isRender(call) || (call.path.startsWith('/api/prompts/{id}') && call.method === 'get')
const isOfReleases = ({ path }: DescribedCall) => /^\/api\/prompts\/\{id\}\/(?:versions|labels)/.test(path)
const isOfSession = ({ path }: DescribedCall) => /^\/api\/(?:sessions|approvals|agents\/sessions|skills|plans|traces)\/\{id\}/.test(path)
const isOf = (kind: string) => (call: DescribedCall) => call.method !== 'put' && call.method !== 'delete' && call.path.startsWith(`/api/${kind}/{id}`)

/** Errors as the service answers with them, and which calls can: some for every status that is declared. */
const EXAMPLES: readonly Example[] = [
  { error: errors.requestInvalid('headers: host is missing', { part: 'headers' }), isOn: everywhere },
  { error: errors.variableMissing('trial.hello', [{ path: 'variables.name', line: 1, column: 14 }], { syntax: 'handlebars' }), isOn: isRender },
  { error: errors.entryInvalid('trial.hello', ['SYNTAX at line 1, column 1: "if" is not closed'], [DIAGNOSTIC]), isOn: ({ method }) => method === 'put' },
  { error: errors.toolArgumentsInvalid('owners.find', [{ path: 'arguments.file', message: 'must be a string, not 7' }]), isOn: isBelow('/api/tools/{id}/call') },
  { error: errors.tokenRequired(), isOn: everywhere },
  { error: errors.tokenUnknown(), isOn: everywhere },
  { error: errors.roleMissing('ide', 'admin', ['read', 'render']), isOn: everywhere },
  { error: errors.hostNotAllowed('prompts.example.com'), isOn: everywhere },
  { error: errors.entryForbidden('ide', 'templates', 'trial.hello'), isOn: isWrite },
  { error: errors.promptNotFound('greeet', ['greet']), isOn: isOfPrompt },
  { error: errors.extensionNotFound('evaluater', ['evaluator']), isOn: isOf('extensions') },
  { error: errors.environNotFound('vscode.rule', ['vscode.rules']), isOn: isOf('environs') },
  { error: errors.toolNotFound('owners.fnd', ['owners.find']), isOn: isOf('tools') },
  { error: errors.definitionNotFound('agent', 'trial.gone', []), isOn: call => KIND_ROUTES.some(({ kind, path }) => isDefinitionKind(kind) && isOf(path)(call)) },
  { error: errors.definitionNotFound('skill', 'git-quick-comit', ['git-quick-commit']), isOn: ({ path }) => path === '/api/skills/start' },
  { error: errors.targetNotFound('wbe', ['web']), isOn: ({ path }) => path === '/api/skills/start' || path === '/api/targets/{name}/skills' },
  { error: errors.targetsNotOffered('web'), isOn: ({ path }) => path === '/api/skills/start' },
  { error: errors.workspaceNotFound('shpo', ['shop']), isOn: ({ path }) => path === '/api/plans' },
  { error: errors.workspaceNotFound('shpo', []), isOn: isBelow('/api/memory/project') },
  { error: errors.memoryUnusable('project.json cannot be used, and is left as it is: it is not JSON'), isOn: isBelow('/api/memory/') },
  { error: errors.skillNotWaiting('Skill is not waiting for user input'), isOn: ({ path }) => path === '/api/skills/{id}/message' },
  { error: errors.skillFailed(SESSION, 'Empty or invalid AI response'), isOn: isBelow('/api/skills/') },
  { error: errors.entryMissing('trial.gone', 'shenma:templates:trial:gone'), isOn: ({ method }) => method === 'delete' },
  { error: errors.sessionNotFound(SESSION), isOn: isOfSession },
  { error: errors.sessionBusy(SESSION, 'running'), isOn: isOfSession },
  { error: errors.keyReused('agents/helper'), isOn: ({ path }) => ['/api/skills/start', '/api/plans', '/api/agents/{id}/sessions'].includes(path) },
  { error: errors.sessionsUnavailable('Redis at 127.0.0.1:6379 has closed the connection'), isOn: isOfSession },
  { error: errors.modelNotFound('gpt-5', ['gpt-4o', 'gpt-4o-mini']), isOn: call => isModelCall(call) || call.path === '/v1/models/{model}' },
  { error: errors.storeReadOnly('redis'), isOn: call => isWrite(call) || isOfReleases(call) },
  { error: errors.requestTimeout(), isOn: everywhere },
  { error: errors.labelNotFound('greet', 'prodution', ['production', 'staging']), isOn: call => isOfPrompt(call) || isOfReleases(call) },
  { error: errors.versionNotFound('greet', 7, ['production']), isOn: call => isOfPrompt(call) || isOfReleases(call) },
  { error: errors.labelProtected('ide', 'production'), isOn: ({ path }) => path.includes('/labels/') },
  { error: errors.promptLabelled('trial.hello', ['production']), isOn: ({ method, path }) => method === 'delete' && path === '/api/prompts/{id}' },
  { error: errors.versionLabelled('greet', 7, ['production']), isOn: ({ method, path }) => method === 'delete' && path.includes('/versions/') },
  { error: errors.releasesUnreadable('shenma:releases:greet', 'no record of releases: it is no object'), isOn: call => isOfReleases(call) || (isWrite(call) && call.path === '/api/prompts/{id}') },
  { error: errors.revisionMoved('greet', REVISION, 'vX2mJ0bq8Kse'), isOn: isOfPrompt },
  { error: errors.toolNotCallable('everything', 'it is an MCP server; it offers "everything.echo"'), isOn: isBelow('/api/tools/{id}/call') },
  { error: errors.entryChanged('shenma:templates:trial:hello', REVISION, undefined), isOn: call => isWrite(call) || isOfReleases(call) },
  { error: errors.bodyTooLarge(1024 * 1024), isOn: everywhere },
  { error: errors.urlTooLong(), isOn: everywhere },
  { error: errors.mediaTypeUnsupported(['application/json'], 'application/xml'), isOn: ({ hasBody }) => hasBody },
  { error: errors.encodingUnsupported('gzip'), isOn: everywhere },
  { error: errors.expectationUnknown(), isOn: everywhere },
  { error: errors.rateLimited('ide', 'requests', 600, 12), isOn: everywhere },
  { error: errors.headersTooLarge(16 * 1024), isOn: everywhere },
  { error: errors.renderFailed('greet', 'index out of range: 7', { syntax: 'go', line: 1, column: 9 }), isOn: isRender },
  { error: errors.unexpected(), isOn: call => !isRender(call) },
  { error: errors.toolFailed('owners.find', 'TIMEOUT'), isOn: isRender },
  { error: errors.modelUpstream('openai', 'status 500', 3, undefined), isOn: isModelCall },
  { error: errors.overloaded(), isOn: everywhere },
  { error: errors.renderTimeout(500), isOn: isRender },
  { error: errors.storeUnavailable('connect ECONNREFUSED 127.0.0.1:6379'), isOn: call => call.path.startsWith('/api/') }
]

/** One example of an error in one of its two shapes. */
export interface NamedExample {
  /** Under which it is in the document. */
  readonly name: string
  readonly value: object
}

/** The errors that a call answers with under a status, as they are sent. */
export function exampleErrors (status: string, call: DescribedCall): readonly NamedExample[] {
  return EXAMPLES.filter(({ error, isOn }) => String(error.statusCode) === status && isOn(call)).map(({ error }) => {
    const shape = isBeforeRequest(status) ? undefined : errorShapeOf(call.path)
    return shape === undefined ? { name: error.code, value: errorBody(error, REQUEST_ID) } : { name: `${error.code}_${shape.suffix}`, value: shape.bodyOf(error, REQUEST_ID) }
  })
}

/** What is refused before there is a request knows no path, and so has the one shape everywhere. */
function isBeforeRequest (status: string): boolean {
  return status === '408' || status === '431'
}
