import type * as errors from './errors.ts'

export type ErrorDetails = Readonly<Record<string, unknown>>

export type ErrorHeaders = Readonly<Record<string, string>>

/** Answered as `{ statusCode, code, error, message, requestId, details? }`. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: string
  readonly statusCode: number
  readonly details: ErrorDetails | undefined
  readonly headers: ErrorHeaders | undefined

  constructor (code: string, statusCode: number, message: string, details?: ErrorDetails, cause?: unknown, headers?: ErrorHeaders) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.statusCode = statusCode
    this.details = details
    this.headers = headers
  }
}

const STATUSES = new Map<string, number>()

type Errors = typeof errors

export type ErrorCode = { [Name in keyof Errors]: Errors[Name] extends { readonly code: infer Code extends string } ? Code : never }[keyof Errors]

export function statusOf (code: ErrorCode): number {
  return STATUSES.get(code) as number
}

function define<const Code extends string, A extends readonly unknown[]> (
  code: Code,
  statusCode: number,
  message: (...args: A) => string,
  details?: (...args: A) => ErrorDetails,
  headers?: (...args: A) => ErrorHeaders
): ((...args: A) => ServiceError) & { readonly code: Code } {
  const make = (...args: A): ServiceError => new ServiceError(code, statusCode, message(...args), details?.(...args), undefined, headers?.(...args))
  STATUSES.set(code, statusCode)
  return Object.assign(make, { code })
}

export interface TextName {
  /** From 0; left out for a prompt with one message. */
  readonly messageIndex?: number
  /** From 0; left out for a message that is a text. */
  readonly part?: number
  /** `image_url.url`; left out for the text of a text part. */
  readonly member?: string
  /** The id of a partial; left out for the prompt's own text. */
  readonly in?: string
}

export interface PartProblem extends TextName {
  readonly reason: string
}

export interface MissingPath extends TextName {
  readonly path: string
  /** Left out, like `column`, for a required parameter that no text uses. */
  readonly line?: number
  readonly column?: number
  /** Perhaps the missing value, misspelt or misplaced: `variables.nmae`, or `nmae` in the body of the request. */
  readonly near?: string
}

export interface Violation {
  /** As a template would write it: `arguments.list[0].name`. */
  readonly path: string
  readonly message: string
}

export function describeViolations (violations: readonly Violation[]): string {
  return violations.map(({ path, message }) => `${path} ${message}`).join('; ')
}

function describePlace ({ line, column, ...text }: TextName & { readonly line: number, readonly column: number }): string {
  return `${[...describeText(text), `line ${line}`, `column ${column}`].join(', ')}${text.in === undefined ? '' : ` of "${text.in}"`}`
}

export function describeText ({ messageIndex, part, member }: TextName): string[] {
  return [
    ...(messageIndex === undefined ? [] : [`message ${messageIndex}`]),
    ...(part === undefined ? [] : [`part ${part}${member === undefined ? '' : ` (${member})`}`])
  ]
}

function describeMiss (miss: MissingPath): string {
  const { path, near, line, column } = miss
  const facts = [
    ...(line === undefined || column === undefined ? [] : [describePlace({ ...miss, line, column })]),
    ...(near === undefined ? [] : [`${near} is there`])
  ]
  return facts.length === 0 ? path : `${path} (${facts.join('; ')})`
}

const quoted = (ids: readonly string[]): string => ids.map(id => `"${id}"`).join(', ')

const MAX_OFFERED = 20

function nearOrOffered (near: readonly string[], offered: readonly string[]): string {
  if (near.length > 0) return `; near matches: ${quoted(near)}`
  return offered.length === 0 ? '' : `; offered are ${quoted(offered.slice(0, MAX_OFFERED))}`
}

function notFound<const Code extends string> (kind: string, code: Code) {
  return define(code, 404,
    (id: string, near: readonly string[]) => `${kind} "${id}" not found${near.length > 0 ? `; near matches: ${quoted(near)}` : ''}`,
    (id, near) => ({ id, near }))
}

function notUsable<const Code extends string> (kind: string, code: Code) {
  return define(code, 404,
    (id: string, key: string, problems: readonly string[], _diagnostics: readonly object[]) =>
      `${kind} "${id}" not found; what is stored under ${key} cannot be used: ${problems.join('; ')}`,
    (id, key, _problems, diagnostics) => ({ id, near: [], key, diagnostics }))
}

// Errors of access: tokens, roles and hosts
/** In characters. */
const MAX_SHOWN_HOST = 100
const CHALLENGE = 'Bearer realm="ai-prompt-shell"'
/** @param metadata where an MCP client learns who gives tokens: https://www.rfc-editor.org/rfc/rfc9728#section-5.1 */
const challenge = (metadata: string | undefined): string => metadata === undefined ? CHALLENGE : `${CHALLENGE}, resource_metadata="${metadata}"`
export const tokenRequired = define('TOKEN_REQUIRED', 401,
  (_metadata?: string) => 'This call needs a token: authorization: Bearer ...',
  undefined, (metadata?: string) => ({ 'www-authenticate': challenge(metadata) }))
export const tokenUnknown = define('TOKEN_UNKNOWN', 401,
  (_metadata?: string, reason?: string) => `The token is none that this service knows${reason === undefined ? '' : `: ${reason}`}`,
  undefined, (metadata?: string, _reason?: string) => ({ 'www-authenticate': `${challenge(metadata)}, error="invalid_token"` }))
export const identityUnlisted = define('IDENTITY_UNLISTED', 403,
  (name: string, claims: readonly string[]) => `"${name}" may do nothing here: the operator's file has no row for what the token says of ${claims.join(', ')}`,
  (name, claims) => ({ token: name, claims }))
export const identityProviderAway = define('IDENTITY_PROVIDER_AWAY', 503,
  (issuer: string) => `The token cannot be checked: ${issuer} does not tell its keys now; try again`,
  undefined, () => ({ 'retry-after': '5' }))
export const roleMissing = define('ROLE_MISSING', 403,
  (name: string, role: string, given: readonly string[]) => `Token "${name}" may ${given.join(', ')}; this call needs the role ${role}`,
  (name, role, given) => ({ token: name, needs: role, roles: given }),
  (_name, role) => ({ 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${role}"` }))
export const entryForbidden = define('ENTRY_FORBIDDEN', 403,
  (name: string, kind: string, id: string) => `The patterns of token "${name}" do not let it change "${id}" among the ${kind}`,
  (name, kind, id) => ({ token: name, kind, id }))
export const writeNotLocal = define('WRITE_NOT_LOCAL', 403,
  (reason: string) => `Without tokens only this machine may write, and ${reason}; set API_TOKENS or API_TOKENS_FILE to let others write`)
export const originForeign = define('ORIGIN_FOREIGN', 403,
  (origin: string) =>
    `The request came from a page of "${origin.slice(0, MAX_SHOWN_HOST)}"; without tokens that is refused, since a browser may have been led here; CORS_ORIGINS lets pages in`)
export const hostNotAllowed = define('HOST_NOT_ALLOWED', 403,
  (host: string) =>
    `The request names the host "${host.slice(0, MAX_SHOWN_HOST)}", which is neither an address nor localhost; without tokens that is refused, since a browser may have been led here; ALLOWED_HOSTS lets names in`)
export const rateLimited = define('RATE_LIMITED', 429,
  (name: string, what: string, limit: number, _seconds: number) => `Token "${name}" has used up its ${limit} ${what} of this minute`,
  (name, what, limit) => ({ token: name, limit, what }),
  (_name, _what, _limit, seconds) => ({ 'retry-after': String(seconds) }))
export const budgetUsed = define('BUDGET_USED', 429,
  (name: string, bound: string, used: number, ends: number, _seconds: number) =>
    `Budget "${name}" of ${bound} is used up, with ${used} used and held; it begins anew at ${new Date(ends).toISOString()}`,
  (name, bound, used, ends) => ({ budget: name, bound, used, ends: new Date(ends).toISOString() }),
  (_name, _bound, _used, _ends, seconds) => ({ 'retry-after': String(seconds), 'x-should-retry': 'false' }))
export const priceUnknown = define('PRICE_UNKNOWN', 403,
  (model: string, budget: string) => `Budget "${budget}" is in USD, and the price of model "${model}" is not known here: PRICES_FILE can name it`,
  (model, budget) => ({ model, budget }))
export const overloaded = define('OVERLOADED', 503, () => 'More requests come than can be answered; try again', undefined, () => ({ 'retry-after': '1' }))

// Errors about requests: their form, and names in them that are unknown
/** In characters. */
export const MAX_ID_LENGTH = 512
export const requestInvalid = define('REQUEST_INVALID', 400, (message: string, _details: ErrorDetails) => message, (_message, details) => details)
export const bodyTooLarge = define('BODY_TOO_LARGE', 413,
  (limit: number, allowed: string) => `The body is larger than ${limit} bytes, the most that ${allowed}`,
  (limit, _allowed) => ({ limit }))
export const mediaTypeUnsupported = define('MEDIA_TYPE_UNSUPPORTED', 415,
  (accepted: readonly string[], given: string | undefined) =>
    `The body must have content-type: ${accepted.join(' or ')}, ${given === undefined ? 'none was given' : `"${given}" was given`}`,
  accepted => ({ accepted }))
/** A header lists the accepted encodings: https://www.rfc-editor.org/rfc/rfc9110#section-15.5.16 */
export const encodingUnsupported = define('ENCODING_UNSUPPORTED', 415,
  (encoding: string) => `Compressed bodies are not taken, and this one has content-encoding: ${encoding.slice(0, 100)}`,
  undefined, () => ({ 'accept-encoding': 'identity' }))
export const charsetUnsupported = define('CHARSET_UNSUPPORTED', 415,
  (charset: string) => `Bodies are taken in UTF-8 only, and this one has charset: ${charset.slice(0, 100)}`)
export const requestTimeout = define('REQUEST_TIMEOUT', 408, () => 'The request took too long to arrive')
export const headersTooLarge = define('HEADERS_TOO_LARGE', 431, (limit: number) => `The URL and the headers are larger than ${limit} bytes together`)
export const expectationUnknown = define('EXPECTATION_UNKNOWN', 417, () => 'The header expect holds something other than 100-continue')
export const urlTooLong = define('URL_TOO_LONG', 414, () => `An id in the path has more than ${MAX_ID_LENGTH} characters`)
export const clientClosed = define('CLIENT_CLOSED', 499, () => 'The client left before its answer was complete')
export const routeNotFound = define('ROUTE_NOT_FOUND', 404,
  (method: string, path: string) => `Route ${method} ${path} not found; the API is described at /docs`)
export const routeNearby = define('ROUTE_NOT_FOUND', 404,
  (method: string, path: string, near: readonly string[]) => `Route ${method} ${path} not found; there is ${near.join(', ')}; the API is described at /docs`,
  (_method, _path, near) => ({ near }))
/** A header lists the route's methods: https://www.rfc-editor.org/rfc/rfc9110#section-15.5.6 */
export const methodNotAllowed = define('METHOD_NOT_ALLOWED', 405,
  (method: string, path: string, allowed: readonly string[]) => `${path} does not take ${method}, only ${allowed.join(', ')}; the API is described at /docs`,
  (_method, _path, allowed) => ({ allowed }),
  (_method, _path, allowed) => ({ allow: allowed.join(', ') }))
export const responsesNotStored = define('ROUTE_NOT_FOUND', 404,
  (method: string, path: string) => `Route ${method} ${path} not found: no responses are stored; POST /v1/responses answers with the whole of one`,
  () => ({ near: ['POST /v1/responses'] }))
export const extensionNotFound = notFound('Extension', 'EXTENSION_NOT_FOUND')
export const extensionNotUsable = notUsable('Extension', 'EXTENSION_NOT_FOUND')
export const promptNotFound = notFound('Prompt', 'PROMPT_NOT_FOUND')
export const promptNotUsable = notUsable('Prompt', 'PROMPT_NOT_FOUND')
export const promptWithheld = define('PROMPT_NOT_FOUND', 404,
  (id: string, extension: string, reason: string) => `Prompt "${id}" not found; its extension "${extension}" offers none: ${reason}`,
  (id, extension) => ({ id, near: [], extension }))
export const environNotFound = notFound('Environ', 'ENVIRON_NOT_FOUND')
export const definitionNotFound = define('DEFINITION_NOT_FOUND', 404,
  (noun: string, id: string, near: readonly string[]) => `There is no ${noun} "${id}"${near.length > 0 ? `; near matches: ${quoted(near)}` : ''}`,
  (_noun, id, near) => ({ id, near }))
export const definitionNotUsable = define('DEFINITION_NOT_FOUND', 404,
  (noun: string, id: string, place: string, problems: readonly string[], _diagnostics: readonly object[]) =>
    `There is no ${noun} "${id}" that can be used; of ${place}: ${problems.join('; ')}`,
  (_noun, id, place, problems, diagnostics) => ({ id, near: [], place, problems, diagnostics }))
export const toolNotFound = notFound('Tool', 'TOOL_NOT_FOUND')
export const toolNotUsable = notUsable('Tool', 'TOOL_NOT_FOUND')

export const labelNotFound = define('LABEL_NOT_FOUND', 404,
  (id: string, label: string, labels: readonly string[]) => `Prompt "${id}" has no label "${label}"${labels.length > 0 ? `; it has ${quoted(labels)}` : ''}`,
  (id, label, labels) => ({ id, label, labels }))
export const versionNotFound = define('VERSION_NOT_FOUND', 404,
  (id: string, version: number, _labels: readonly string[], problem?: string) =>
    `Prompt "${id}" has no version ${version}${problem === undefined ? '' : ` that can be read: ${problem}`}`,
  (id: string, version: number, labels: readonly string[], _problem?: string) => ({ id, version, labels }))

// Errors about sessions
export const targetNotFound = define('TARGET_NOT_FOUND', 404,
  (name: string, near: readonly string[], offered: readonly string[] = []) => `There is no target "${name}"${nearOrOffered(near, offered)}`,
  (name: string, near: readonly string[], offered: readonly string[] = []) => ({ name, near, offered: offered.slice(0, MAX_OFFERED) }))
export const targetsNotOffered = define('TARGETS_NOT_OFFERED', 400,
  (name: string) => `There is no target "${name}": the operator of this service offers none to you; "manual" leaves commands to the user`)
export const terminalUnsupported = define('TERMINAL_UNSUPPORTED', 409,
  (target: string, reason: string) => `There are no terminals on target "${target}": ${reason}`,
  target => ({ target }))
export const terminalNotFound = define('TERMINAL_NOT_FOUND', 404, (id: string) => `There is no terminal "${id}"`, id => ({ id }))
export const terminalGone = define('TERMINAL_GONE', 409,
  (id: string, reason: string) => `The terminal "${id}" has ended${reason === '' ? '' : `: ${reason}`}`,
  (id, reason) => ({ id, reason: reason === '' ? undefined : reason }))
export const terminalElsewhere = define('TERMINAL_ELSEWHERE', 409,
  (id: string, at: string) => `The terminal "${id}" is in another process of this service${at === '' ? '' : `, at ${at}`}`,
  (id, at) => ({ id, at: at === '' ? undefined : at }))
export const tooManyTerminals = define('TOO_MANY_TERMINALS', 429,
  (most: number, whose: 'caller' | 'process') => `There are ${most} terminals, the most that one ${whose} may have; end some`)
export const terminalFailed = define('TERMINAL_FAILED', 502,
  (target: string, reason: string) => `No terminal could be opened on target "${target}": ${reason}`,
  target => ({ target }))
export const skillNotWaiting = define('SKILL_NOT_WAITING', 400, (reason: string) => reason)
export const skillFailed = define('SKILL_FAILED', 500, (_id: string, reason: string) => reason, id => ({ id }))
export const sessionNotFound = define('SESSION_NOT_FOUND', 404, (id: string) => `There is no session "${id}"`, id => ({ id }))
export const sessionEnded = define('SESSION_ENDED', 409,
  (id: string, status: string) => `Session "${id}" has ended: ${status}`,
  (id, status) => ({ id, status }))
export const sessionBusy = define('SESSION_BUSY', 409,
  (id: string, status: string, reason?: string) => `Session "${id}" does not take that now: ${reason ?? `it is ${status}`}`,
  (id: string, status: string, _reason?: string) => ({ id, status }))
export const approvalNotFound = define('APPROVAL_NOT_FOUND', 404, (id: string) => `There is no approval "${id}"`, id => ({ id }))
export const approvalOutdated = define('APPROVAL_OUTDATED', 409,
  (id: string, _next?: object) => `What waits for an approval in session "${id}" is something else than what was shown`,
  (id, next) => ({ id, next }))
export const approverRefused = define('APPROVER_REFUSED', 403,
  (id: string, _name: string, reason: string) => `Approval "${id}": ${reason}`,
  (id, name) => ({ id, token: name }))
export const commitDisabled = define('COMMIT_DISABLED', 409, (_id: string, reason: string) => reason, id => ({ id }))
export const commitDenied = define('COMMIT_DENIED', 409, (_id: string, reason: string) => reason, id => ({ id }))
export const approvalDecided = define('APPROVAL_DECIDED', 409,
  (id: string, { decision, by, at }: Readonly<Record<'decision' | 'by' | 'at', string>>, _next?: object) =>
    `Approval "${id}" has been decided: ${decision}, at ${at}${by === '' ? '' : ` by ${by}`}`,
  (id, { decision, by, at }, next) => ({ id, decision, by, at, next }))
export const sessionFull = define('SESSION_FULL', 409,
  (id: string, most: string) => `Session "${id}" has ${most}, the most that one may have; a fork of an earlier place goes on`,
  id => ({ id }))
export const definitionsTooMany = define('DEFINITIONS_TOO_MANY', 409,
  (definitions: number, bytes: number, most: number, mostBytes: number) =>
    `Within reach of this agent are ${definitions} agents, skills and plan profiles of ${bytes} bytes together; at most ${most} of ${mostBytes} bytes may be`,
  (definitions, bytes, most, mostBytes) => ({ definitions, bytes, most, mostBytes }))
export const tooManySessions = define('TOO_MANY_SESSIONS', 429,
  (most: number) => `You have ${most} sessions that have not ended, the most that one caller may have; cancel some`)
export const keyReused = define('IDEMPOTENCY_KEY_REUSED', 409,
  (definition: string) => `This Idempotency-Key has started a session of ${definition} already; send another one`,
  definition => ({ definition }))
export const forksTooLarge = define('TOO_MANY_SESSIONS', 429,
  (mebibytes: number) => `Forks among your last sessions hold ${mebibytes} MiB, the most that they may; fork an earlier place, or begin a new session`)
export const tooManyStreams = define('TOO_MANY_STREAMS', 503, (bound: string) => `There are too many event streams: ${bound}`)
export const tooManySockets = define('TOO_MANY_SOCKETS', 503, (most: number) => `There are too many sockets: one caller may have ${most}`)
export const forkImpossible = define('FORK_IMPOSSIBLE', 409, (id: string) => `Session "${id}" cannot be forked: it never waited for its user`, id => ({ id }))
export const workspaceNotFound = define('WORKSPACE_NOT_FOUND', 404,
  (name: string, near: readonly string[], offered: readonly string[] = []) =>
    `The operator of this service offers no workspace "${name}"${nearOrOffered(near, offered)}`,
  (name: string, near: readonly string[], offered: readonly string[] = []) => ({ id: name, near, offered: offered.slice(0, MAX_OFFERED) }))
export const noticeNotFound = define('NOTICE_NOT_FOUND', 404,
  (name: string, receivers?: readonly string[]) => receivers === undefined
    ? `There is no notice "${name}" that waits or is dead`
    : `No receiver of notices is called "${name}"; expected ${receivers.join(', ') || 'none, since OPERATOR_FILE has no notices'}`,
  (name: string, _receivers?: readonly string[]) => ({ id: name }))
export const memoryUnusable = define('MEMORY_UNUSABLE', 409, (reason: string) => `What is to be remembered cannot be read or written: ${reason}`)
export const sessionsUnavailable = define('SESSIONS_UNAVAILABLE', 503, (reason: string) => `Sessions cannot be kept now: ${reason}`)

// Errors about prompts that cannot run until their publisher mends them
export const templateSyntax = define('TEMPLATE_SYNTAX', 400,
  (id: string, problems: readonly string[], _diagnostics: readonly object[]) => `Prompt "${id}" is invalid: ${problems.join('; ')}`,
  (id, _problems, diagnostics) => ({ id, diagnostics }))
export const templateLink = define('TEMPLATE_LINK', 400,
  (id: string, problems: readonly string[], _diagnostics: readonly object[]) => `Prompt "${id}" uses names that are not registered: ${problems.join('; ')}`,
  (id, _problems, diagnostics) => ({ id, diagnostics }))
export const templateCycle = define('TEMPLATE_CYCLE', 400,
  (id: string, problems: readonly string[], _diagnostics: readonly object[]) => `Prompt "${id}" can never be rendered to its end: ${problems.join('; ')}`,
  (id, _problems, diagnostics) => ({ id, diagnostics }))
export const environInvalid = define('ENVIRON_INVALID', 400,
  (id: string, key: string, problems: readonly string[], _diagnostics: readonly object[]) =>
    `What is stored under ${key} cannot be used as the shared variable "${id}": ${problems.join('; ')}`,
  (id, key, _problems, diagnostics) => ({ id, key, diagnostics }))

// Errors of lints
export const lintBusy = define('LINT_BUSY', 503,
  (waiting: number) => `${waiting} lints are waiting already; try again`,
  undefined, () => ({ 'retry-after': '1' }))

// Errors of renders
export const variableMissing = define('VARIABLE_MISSING', 400,
  (id: string, missing: readonly MissingPath[], _read?: { readonly syntax: 'go' | 'handlebars' | undefined }, violations: readonly Violation[] = []) =>
    `Prompt "${id}" needs values that are missing: ${missing.map(describeMiss).join(', ')}${violations.length === 0 ? '' : `; and of what came, ${describeViolations(violations)}`}`,
  (id, missing, { syntax } = { syntax: undefined }, violations = []) => ({
    id,
    syntax,
    missing,
    violations: violations.length === 0 ? undefined : violations
  }))
export const variablesInvalid = define('VARIABLES_INVALID', 400,
  (id: string, violations: readonly Violation[]) => `Variables of prompt "${id}" are invalid: ${describeViolations(violations)}`,
  (id, violations) => ({ id, violations }))
export const renderFailed = define('RENDER_FAILED', 500,
  (id: string, reason: string, at: TextName & { readonly syntax: 'go' | 'handlebars', readonly line: number, readonly column: number }) =>
    `Prompt "${id}" failed to render as ${at.syntax === 'go' ? 'Go' : 'Handlebars'} at ${describePlace(at)}: ${reason}`,
  (id, reason, { syntax, line, column, messageIndex, part, member, in: partial }) =>
    ({ id, reason, syntax, line, column, messageIndex, part, member, in: partial }))
export const partInvalid = define('PART_INVALID', 400,
  (id: string, problems: readonly PartProblem[]) =>
    `Prompt "${id}" made parts that no model can take: ${problems.map(problem => `${describeText(problem).join(', ')} ${problem.reason}`).join('; ')}`,
  (id, problems) => ({ id, problems }))
export const toolFailed = define('TOOL_FAILED', 502,
  (name: string, reason: string) => `Tool "${name}" failed, and its registration ends the render then: ${reason}`,
  name => ({ tool: name }),
  () => finalHeaders())
export const renderTimeout = define('RENDER_TIMEOUT', 503, (milliseconds: number) => `Rendering took longer than ${milliseconds} ms`)
export const renderBudget = define('RENDER_BUDGET', 503, (what: string, limit: number) => `Rendering needs more than ${limit} ${what}`)
export const renderEndless = define('RENDER_ENDLESS', 500,
  (what: string, limit: number, text: TextName) =>
    `Rendering met more than ${limit} ${what}${text.in === undefined ? '' : `, the last of them in "${text.in}"`}: its values did not end what calls itself`,
  (_what, limit, text) => ({ limit, ...text }))
export const storeUnavailable = define('STORE_UNAVAILABLE', 503, (reason: string) => `The store cannot be read: ${reason}`)

// Errors about entries that callers publish
export const entryInvalid = define('ENTRY_INVALID', 400,
  (id: string, problems: readonly string[], _diagnostics: readonly object[]) => `"${id}" was not stored: ${problems.join('; ')}`,
  (id, _problems, diagnostics) => ({ id, diagnostics }))
export const labelProtected = define('LABEL_PROTECTED', 403,
  (name: string, label: string) => `Token "${name}" may not move the label "${label}": that is for the role admin, and for tokens with labels=${label}`,
  (name, label) => ({ token: name, label }))
export const promptLabelled = define('PROMPT_LABELLED', 409,
  (id: string, labels: readonly string[]) => `Prompt "${id}" has labels, ${quoted(labels)}: remove them first`,
  (id, labels) => ({ id, labels }))
export const versionLabelled = define('VERSION_LABELLED', 409,
  (id: string, version: number, labels: readonly string[]) => `Version ${version} of "${id}" is what ${quoted(labels)} means: move the label first`,
  (id, version, labels) => ({ id, version, labels }))
export const releasesUnreadable = define('RELEASES_UNREADABLE', 409,
  (key: string, reason: string) => `Nothing was changed: what is stored under ${key} cannot be read, and would be lost: ${reason}`,
  key => ({ key }))
export const testsUnreadable = define('TESTS_UNREADABLE', 409,
  (key: string, reason: string) => `The tests under ${key} cannot be read: ${reason}`,
  key => ({ key }))
export const entryUnstorable = define('ENTRY_INVALID', 400, (key: string) => `The store can hold nothing under ${key}: choose another id`, key => ({ key }))
export const entryMissing = define('ENTRY_NOT_FOUND', 404,
  (id: string, key: string) => `Nothing is stored under ${key}, the key of "${id}"`,
  (id, key) => ({ id, key }))
export const storeReadOnly = define('STORE_READ_ONLY', 405,
  (variant: string, reason?: string) => `This service may not write to its store (${variant})${reason === undefined ? '' : `: ${reason}`}`,
  undefined, () => ({ allow: 'GET, HEAD' }))
export const entryChanged = define('ENTRY_CHANGED', 412,
  (key: string, current: string | undefined, problem: string | undefined) =>
    `Nothing was changed: what is stored under ${key} is not what If-Match or If-None-Match allow; ${problem ?? `its ETag is "${current ?? ''}"`}`,
  (key, current) => ({ key, current }))
export const storeRefused = define('STORE_UNAVAILABLE', 503, (reason: string) => `Nothing was changed: ${reason}`)
export const storeUnwritable = define('STORE_UNAVAILABLE', 503,
  (reason: string) => `The store failed in the middle of this: it may hold the change or not. ${reason}`)

// Errors about recorded renders
export const bundleInvalid = define('BUNDLE_INVALID', 400, (reason: string) => `The bundle cannot be used: ${reason}`)
export const bundleStale = define('BUNDLE_STALE', 409,
  (id: string, recorded: string, current: string) => `The bundle was recorded from revision ${recorded} of prompt "${id}", which is at revision ${current} now`,
  (id, recorded, current) => ({ id, recorded, current }))
export const bundleIncomplete = define('BUNDLE_INCOMPLETE', 409, (what: string) => `The bundle does not hold ${what}: the recorded render did not ask for it`)

// Errors of calls that a person makes to try a tool
export const toolArgumentsInvalid = define('ARGUMENTS_INVALID', 400,
  (id: string, violations: readonly Violation[]) => `Arguments of tool "${id}" are invalid: ${describeViolations(violations)}`,
  (id, violations) => ({ id, violations }))
export const toolNotCallable = define('TOOL_NOT_CALLABLE', 409,
  (id: string, reason: string) => `Tool "${id}" cannot be called: ${reason}`,
  id => ({ id }))

// Errors that are the fault of the service
export const unexpected = define('INTERNAL', 500, () => 'An unexpected error occurred; the log has it under this request id')

// Errors of calls to models
export const modelNotConfigured = define('LLM_NOT_CONFIGURED', 503,
  () => 'No model is configured: set LLM_BASE_URL (and LLM_API_KEY, LLM_MODEL), or LLM_BASE_URL=builtin:echo to try things out')
export const modelNotFound = define('MODEL_NOT_FOUND', 404,
  (model: string, offered: readonly string[]) => `Model "${model}" not found; offered are ${quoted(offered.slice(0, MAX_OFFERED))}`,
  (model, offered) => ({ model, offered: offered.slice(0, MAX_OFFERED) }))
export const modelUpstream = define('LLM_UPSTREAM', 502,
  (provider: string, reason: string, attempts: number, _retryAfter: number | undefined, _upstream?: object) =>
    `The model gave no usable answer in ${attempts} attempt${attempts === 1 ? '' : 's'}; provider "${provider}": ${reason}`,
  (provider, _reason, attempts, _retryAfter, upstream) => ({ provider, attempts, ...(upstream === undefined ? {} : { upstream }) }),
  (_provider, _reason, _attempts, retryAfter) => finalHeaders(retryAfter))
export const modelRateLimited = define('LLM_RATE_LIMITED', 429,
  (provider: string, attempts: number, _retryAfter: number | undefined, _upstream?: object) =>
    `The API of model provider "${provider}" answered with status 429, too many requests or a quota used up, in ${attempts} attempt${attempts === 1 ? '' : 's'}`,
  (provider, attempts, _retryAfter, upstream) => ({ provider, attempts, ...(upstream === undefined ? {} : { upstream }) }),
  (_provider, _attempts, retryAfter) => finalHeaders(retryAfter))
export const modelAuth = define('LLM_AUTH', 502,
  (provider: string, status: number) => `The API of model provider "${provider}" refused the credentials of this service (status ${status}): check its key`,
  (provider, status) => ({ provider, status }),
  () => finalHeaders())
export const answerInvalid = define('ANSWER_INVALID', 502,
  (id: string, violations: readonly Violation[]) => `The model's answer is not what prompt "${id}" returns: ${describeViolations(violations)}`,
  (id, violations) => ({ id, violations }),
  () => finalHeaders())
export const toolLoopEndless = define('TOOL_LOOP_ENDLESS', 502,
  (id: string, reason: string) => `The model of prompt "${id}" found no end with its tools: ${reason}`,
  id => ({ id }),
  () => finalHeaders())
export const inputTooLong = define('INPUT_TOO_LONG', 400,
  (id: string, tokens: number, limit: number) => `The input for prompt "${id}" is about ${tokens} tokens; its maxInputTokens allows ${limit}`,
  (id, tokens, limit) => ({ id, estimatedTokens: tokens, maxInputTokens: limit }))
export const inputUncounted = define('INPUT_UNCOUNTED', 400,
  (id: string, type: string, _limit: number) =>
    `The input for prompt "${id}" has a part of the type ${type}, and nobody knows how many tokens that is; the prompt's maxInputTokens allows it where MEDIA_TOKENS says so`,
  (id, type, limit) => ({ id, type, maxInputTokens: limit }))
export const revisionMoved = define('PROMPT_REVISION', 409,
  (id: string, wanted: string, current: string) => `Prompt "${id}" is not at revision ${wanted} any more, but at ${current}`,
  (id, wanted, current) => ({ id, wanted, current }),
  () => finalHeaders())
export const modelBusy = define('LLM_BUSY', 503,
  (provider: string, _retryAfter: number) => `Too many calls of model provider "${provider}" are running and waiting`,
  provider => ({ provider }),
  (_provider, retryAfter) => ({ 'retry-after': String(retryAfter) }))

/** No retry helps: the service has tried again itself, or the same would fail. `retryAfter`: the wait that the API asked for, in s. */
function finalHeaders (retryAfter?: number): ErrorHeaders {
  return { 'x-should-retry': 'false', ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }) }
}
