import { type ErrorCode } from '../../base/error-codes.ts'
import { type ReplyHeader } from '../base/app-types.ts'
import { exampleErrors } from './openapi-examples.ts'

/** The part of an OpenAPI document that this file completes. */
export interface ApiDocument {
  readonly components?: object
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/**
 * The error codes and headers of a route. They stand under the key `x-facts` in the OpenAPI document until `completeReplies` uses and removes
 * them.
 */
export interface CallFacts {
  'x-facts'?: { readonly codes: readonly ErrorCode[], readonly headers: readonly ReplyHeader[] }
}

interface Operation extends CallFacts {
  readonly security?: unknown
  readonly requestBody?: { required: boolean, readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<Record<string, Reply>>
}

interface Schema { readonly $ref?: string, readonly type?: string, readonly anyOf?: readonly Schema[] }

interface Reply {
  description: string,
  headers?: Record<string, object>,
  readonly content?: Readonly<Record<string, { readonly schema: Schema, examples?: Record<string, object> }>>
}

/** What decides which headers a reply has: its status, and `own`, the headers that its route declares. */
interface PlacedReply { readonly status: string, readonly own: readonly string[] }

/** The description that `@fastify/swagger` gives to a reply without one. */
const UNDESCRIBED = 'Default Response'

/** The meaning of each status, for replies without a description of their own. */
const MEANINGS: Readonly<Record<string, string>> = {
  200: 'What was asked for, or what was done',
  201: 'Made; nothing of it was there before',
  202: 'It goes on still; the events of the session have the rest',
  304: 'Nothing has changed since the reply with this ETag',
  400: 'The request is not as it should be, or what it names has a mistake in it; a model\'s API may have refused it',
  401: 'The service asks for a token, and this is none of them',
  403: 'The token may not do this; or, without tokens, it may only be done from this machine, or not by this host or page',
  404: 'There is nothing of this name, or nothing that the token may see',
  405: 'The service may not write to its store',
  408: 'Headers or body took too long to arrive',
  409: 'It is not as the request expects: at another revision, not to be called, or a session that takes this no more',
  412: '`If-Match` or `If-None-Match` does not hold',
  413: 'The body is too large',
  414: 'The id is too long',
  415: 'The body is compressed, in another charset than UTF-8, or of another media type',
  417: 'The header `expect` holds something other than `100-continue`',
  429: 'The token has used up its limit; or the model\'s API has too many requests',
  431: 'The URL and the headers are too large together',
  500: 'A template failed, or the service did',
  502: 'A model or a tool gave no usable answer',
  503: 'Not now: the store cannot be read, the render took too long or needs too much, or too much is going on'
}

/** Makes the rule for a header that only some routes send: a reply has it if it is a success and its route declares the header. */
const hasOwn = (name: ReplyHeader) => ({ status, own }: PlacedReply): boolean => isSuccess(status) && own.includes(name)

/** The headers of replies. `isOn` tells whether a reply has the header. */
const HEADERS: ReadonlyArray<{ readonly name: string, readonly description: string, isOn (reply: PlacedReply): boolean }> = [
  { name: 'x-request-id', description: 'The log has the request under this id', isOn: () => true },
  { name: 'etag', description: 'The tag of what is stored, for `If-Match`; not of what has no key of its own', isOn: hasOwn('etag') },
  { name: 'link', description: 'The next page, when there is one: `<…>; rel="next"`', isOn: hasOwn('link') },
  { name: 'x-prompt-revision', description: 'The revision of the prompt', isOn: hasOwn('x-prompt-revision') },
  { name: 'x-prompt-version', description: 'The version of the prompt; only where its content is one', isOn: hasOwn('x-prompt-version') },
  { name: 'x-prompt-label', description: 'The label that it was served under; only where there is one', isOn: hasOwn('x-prompt-label') },
  { name: 'x-tool-defaults', description: 'Functions of tools whose calls failed, percent-encoded: their defaults, or nothing, stood in for what they give; only when there are any', isOn: hasOwn('x-tool-defaults') },
  { name: 'www-authenticate', description: 'How a token is sent', isOn: ({ status }) => status === '401' },
  { name: 'retry-after', description: 'After how many seconds to try again; not where that would not help', isOn: ({ status }) => ['429', '502', '503'].includes(status) },
  { name: 'x-should-retry', description: '`false` where the same request would fail the same way', isOn: ({ status }) => ['409', '429', '502'].includes(status) },
  ...['requests', 'tokens'].flatMap(rated => [
    { name: `x-ratelimit-limit-${rated}`, description: `How many ${rated} the token may use a minute; on every reply to a token with limits`, isOn: isLimited },
    { name: `x-ratelimit-remaining-${rated}`, description: `How many ${rated} are left; on every reply to a token with limits`, isOn: isLimited },
    { name: `x-ratelimit-reset-${rated}`, description: 'When all are there again, such as `12s`; on every reply to a token with limits', isOn: isLimited }
  ])
]

/**
 * Completes an OpenAPI document with facts that the routes' schemas have no place for: the meaning of statuses, the headers of replies,
 * examples of errors, and whether a request needs a body.
 */
export function completeReplies<T extends object> (document: T): T {
  const { paths = {}, components } = document as ApiDocument
  const examples: Record<string, { readonly value: object }> = {}
  for (const [path, methods] of Object.entries(paths)) {
    for (const operation of Object.values(methods)) {
      const { codes = [], headers = [] } = operation['x-facts'] ?? {}
      delete operation['x-facts']
      completeOperation(operation, headers)
      addExamples(path, operation, codes, examples)
    }
  }
  const headers = Object.fromEntries(HEADERS.map(({ name, description }) => [name, { description, schema: { type: 'string' } }]))
  return { ...document, components: { ...components, headers, examples } }
}

function completeOperation ({ requestBody, responses }: Operation, own: readonly ReplyHeader[]): void {
  if (requestBody !== undefined && Object.values(requestBody.content).some(({ schema }) => takesNull(schema))) requestBody.required = false
  for (const [status, reply] of Object.entries(responses)) {
    if (reply.description === UNDESCRIBED) reply.description = MEANINGS[status] ?? UNDESCRIBED
    const headers = HEADERS.filter(header => header.isOn({ status, own }))
    reply.headers = Object.fromEntries(headers.map(({ name }) => [name, { $ref: `#/components/headers/${name}` }]))
  }
}

/** Adds examples of errors to the replies of a route. @param examples all examples of the document, to which the replies refer */
function addExamples (path: string, { responses }: Operation, codes: readonly ErrorCode[], examples: Record<string, { readonly value: object }>): void {
  for (const [status, { content }] of Object.entries(responses)) {
    const json = content?.['application/json']
    if (json === undefined || !isError(json.schema)) continue
    const found = exampleErrors(status, path, codes)
    if (found.length === 0) continue
    for (const { name, value } of found) examples[name] = { value }
    json.examples = Object.fromEntries(found.map(({ name }) => [name, { $ref: `#/components/examples/${name}` }]))
  }
}

function isError ({ $ref, anyOf = [] }: Schema): boolean {
  return /\/(?:OpenAi|Skill)?Error$/.test($ref ?? '') || anyOf.some(isError)
}

function isSuccess (status: string): boolean {
  return status.startsWith('2')
}

/** Whether the description of a reply lists the rate limit headers. Only 429 does: on all replies, they would be half of the OpenAPI document. */
function isLimited ({ status }: PlacedReply): boolean {
  return status === '429'
}

/** Whether a schema takes `null`. A request needs no body then, since a missing body is read as `null`. */
function takesNull ({ type, anyOf = [] }: Schema): boolean {
  return type === 'null' || anyOf.some(takesNull)
}
