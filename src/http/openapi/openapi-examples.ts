import * as errors from '../../base/errors.ts'
import { type ErrorCode, statusOf } from '../../base/error-codes.ts'
import { errorBody } from '../base/error-handler.ts'
import { errorShapeOf } from '../base/error-shapes.ts'

/** The request id in all examples. */
const REQUEST_ID = 'c42fe880-6bab-4ea6-aaa0-5322ea741100'

const SESSION = '0123456789abcdef0123456789abcdef'
const REVISION = 'RpxSPWqS7NC1'
const DIAGNOSTIC = { severity: 'error', code: 'SYNTAX', message: '"if" is not closed', line: 1, column: 1, hint: 'Close it with {{/if}}' }

/** One example of every error that a route may list, by its code. */
const EXAMPLES: ReadonlyMap<string, errors.ServiceError> = new Map([
  errors.requestInvalid('headers: host is missing', { part: 'headers' }),
  errors.variableMissing('trial.hello', [{ path: 'variables.name', line: 1, column: 14 }], { syntax: 'handlebars' }),
  errors.entryInvalid('trial.hello', ['SYNTAX at line 1, column 1: "if" is not closed'], [DIAGNOSTIC]),
  errors.toolArgumentsInvalid('owners.find', [{ path: 'arguments.file', message: 'must be a string, not 7' }]),
  errors.tokenRequired(),
  errors.tokenUnknown(),
  errors.roleMissing('ide', 'admin', ['read', 'render']),
  errors.hostNotAllowed('prompts.example.com'),
  errors.entryForbidden('ide', 'templates', 'trial.hello'),
  errors.promptNotFound('greeet', ['greet']),
  errors.extensionNotFound('evaluater', ['evaluator']),
  errors.environNotFound('vscode.rule', ['vscode.rules']),
  errors.toolNotFound('owners.fnd', ['owners.find']),
  errors.definitionNotFound('skill', 'git-quick-comit', ['git-quick-commit']),
  errors.targetNotFound('wbe', ['web']),
  errors.targetsNotOffered('web'),
  errors.workspaceNotFound('shpo', []),
  errors.memoryUnusable('project.json cannot be used, and is left as it is: it is not JSON'),
  errors.skillNotWaiting('Skill is not waiting for user input'),
  errors.skillFailed(SESSION, 'Empty or invalid AI response'),
  errors.entryMissing('trial.gone', 'shenma:templates:trial:gone'),
  errors.sessionNotFound(SESSION),
  errors.sessionBusy(SESSION, 'running'),
  errors.keyReused('agents/helper'),
  errors.sessionsUnavailable('Redis at 127.0.0.1:6379 has closed the connection'),
  errors.modelNotFound('gpt-5', ['gpt-4o', 'gpt-4o-mini']),
  errors.storeReadOnly('redis'),
  errors.requestTimeout(),
  errors.revisionMoved('greet', REVISION, 'vX2mJ0bq8Kse'),
  errors.toolNotCallable('everything', 'it is an MCP server; it offers "everything.echo"'),
  errors.entryChanged('shenma:templates:trial:hello', REVISION, undefined),
  errors.bodyTooLarge(1024 * 1024),
  errors.urlTooLong(),
  errors.mediaTypeUnsupported(['application/json'], 'application/xml'),
  errors.encodingUnsupported('gzip'),
  errors.expectationUnknown(),
  errors.rateLimited('ide', 'requests', 600, 12),
  errors.headersTooLarge(16 * 1024),
  errors.labelNotFound('greet', 'prodution', ['production', 'staging']),
  errors.versionNotFound('greet', 7, ['production']),
  errors.labelProtected('ide', 'production'),
  errors.promptLabelled('trial.hello', ['production']),
  errors.versionLabelled('greet', 7, ['production']),
  errors.releasesUnreadable('shenma:releases:greet', 'no record of releases: it is no object'),
  errors.testsUnreadable('shenma:tests:greet', 'the value must be a list, not an object'),
  errors.renderFailed('greet', 'index out of range: 7', { syntax: 'go', line: 1, column: 9 }),
  errors.unexpected(),
  errors.toolFailed('owners.find', 'TIMEOUT'),
  errors.modelUpstream('openai', 'status 500', 3, undefined, undefined),
  errors.overloaded(),
  errors.renderTimeout(500),
  errors.storeUnavailable('connect ECONNREFUSED 127.0.0.1:6379'),
  errors.sessionEnded(SESSION, 'completed'),
  errors.sessionFull(SESSION, '100000 transitions'),
  errors.tooManySessions(100),
  errors.definitionsTooMany(17, 40_960, 16, 524_288),
  errors.terminalUnsupported('shop', 'the operator\'s file does not say terminal: true of it'),
  errors.terminalNotFound(SESSION),
  errors.terminalGone(SESSION),
  errors.tooManyTerminals(4, 'caller'),
  errors.terminalFailed('shop', 'target "shop" at shop.example.com:22 cannot be reached: connect ECONNREFUSED'),
  errors.tooManyStreams('one token may have 64'),
  errors.forkImpossible(SESSION),
  errors.approvalNotFound(`${SESSION}:4.0`),
  errors.approvalOutdated(SESSION, undefined),
  errors.commitDisabled(SESSION, 'Nothing is committed in the workspace "shop" by this plan: its operator and its profile would have to allow that'),
  errors.commitDenied(SESSION, 'refused: denied: rule "git commit *"'),
  errors.approvalDecided(`${SESSION}:4.0`, { decision: 'reject', by: 'ide', at: '2026-01-31T12:00:00.000Z' }, undefined),
  errors.templateSyntax('trial.hello', ['"if" is not closed at line 1, column 1'], [DIAGNOSTIC]),
  errors.templateLink(
    'trial.hello',
    ['partial "headr" is not registered at line 1, column 1'],
    [{ ...DIAGNOSTIC, code: 'PARTIAL_UNKNOWN', message: 'partial "headr" is not registered', hint: 'register the prompt, or correct the name' }]
  ),
  errors.templateCycle(
    'trial.hello',
    ['trial.hello includes itself'],
    [{ ...DIAGNOSTIC, code: 'PARTIAL_CYCLE', message: 'trial.hello includes itself', hint: 'leave one of the partials out' }]
  ),
  errors.environInvalid(
    'vscode.rules',
    'shenma:environs:vscode:rules',
    ['VALUE_INVALID: it is not JSON'],
    [{ ...DIAGNOSTIC, code: 'VALUE_INVALID', message: 'it is not JSON', hint: 'store JSON' }]
  ),
  errors.lintBusy(8),
  errors.variablesInvalid('trial.hello', [{ path: 'variables.name', message: 'must be a string, not 7' }]),
  errors.renderBudget('steps', 1_000_000),
  errors.renderEndless('nested partials', 100, { in: 'trial.hello' }),
  errors.partInvalid('trial.hello', [{ messageIndex: 1, part: 0, member: 'image_url.url', reason: 'must be an https: or data: URL, not http:' }]),
  errors.bundleInvalid('it has no revision'),
  errors.bundleStale('trial.hello', REVISION, 'vX2mJ0bq8Kse'),
  errors.bundleIncomplete('a call of owners.find'),
  errors.modelNotConfigured(),
  errors.modelRateLimited('openai', 3, 20, undefined),
  errors.modelAuth('openai', 401),
  errors.answerInvalid('trial.hello', [{ path: 'answer.title', message: 'is missing' }]),
  errors.toolLoopEndless('trial.hello', 'it called tools 10 times'),
  errors.inputTooLong('trial.hello', 5000, 4000),
  errors.inputUncounted('trial.hello', 'image_url', 4000),
  errors.modelBusy('openai', 1)
].map(error => [error.code, error]))

/** A named example of an error, in the form that clients of its route expect. */
export interface NamedExample {
  /** The name of the example in the OpenAPI document. */
  readonly name: string
  readonly value: object
}

/**
 * Gives one example for each error that a route can answer with under one HTTP status.
 * @param codes all error codes of the route, also those with other statuses
 * @throws Error for a code without an example
 */
export function exampleErrors (status: string, path: string, codes: readonly ErrorCode[]): readonly NamedExample[] {
  return codes.filter(code => String(statusOf(code)) === status).map(code => {
    const error = EXAMPLES.get(code)
    if (error === undefined) throw new Error(`a route lists ${code}, which has no example`)
    const shape = isBeforeRequest(code) ? undefined : errorShapeOf(path)
    return shape === undefined
      ? { name: code, value: errorBody(error, REQUEST_ID) }
      : { name: `${code}_${shape.suffix}`, value: shape.bodyOf(error, REQUEST_ID) }
  })
}

/** Whether an error is answered before a request is read: its path is unknown then, so the error has the service's own shape. */
export function isBeforeRequest (code: ErrorCode): boolean {
  return code === 'REQUEST_TIMEOUT' || code === 'HEADERS_TOO_LARGE'
}
