import type { ErrorCode } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { type Static, type TSchema, Type } from '../schema/builder.ts'

export const READS_SESSION: readonly ErrorCode[] = ['SESSION_NOT_FOUND', 'SESSIONS_UNAVAILABLE']

export const BEGINS_SESSION: readonly ErrorCode[] = [
  'DEFINITION_NOT_FOUND', 'TARGET_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'TOO_MANY_SESSIONS', 'SESSIONS_UNAVAILABLE'
]

/** Each such request checks again that the caller may use the session's definition and its target. */
export const DRIVES_SESSION: readonly ErrorCode[] = [
  ...READS_SESSION, 'SESSION_BUSY', 'SESSION_ENDED', 'SESSION_FULL', 'DEFINITION_NOT_FOUND', 'TARGET_NOT_FOUND'
]

export const DECIDES: readonly ErrorCode[] = [...DRIVES_SESSION, 'APPROVAL_OUTDATED', 'APPROVAL_DECIDED']

const READS_PROMPT: readonly ErrorCode[] = ['PROMPT_NOT_FOUND', 'TEMPLATE_SYNTAX']

export const CHOOSES_PROMPT: readonly ErrorCode[] = [...READS_PROMPT, 'LABEL_NOT_FOUND', 'VERSION_NOT_FOUND']

export const CHANGES_RELEASES: readonly ErrorCode[] = [
  'PROMPT_NOT_FOUND', 'VERSION_NOT_FOUND', 'ENTRY_FORBIDDEN', 'ENTRY_INVALID', 'ENTRY_CHANGED', 'STORE_READ_ONLY', 'RELEASES_UNREADABLE'
]

export const RENDERS: readonly ErrorCode[] = [
  ...CHOOSES_PROMPT,
  'PROMPT_REVISION',
  'TEMPLATE_LINK',
  'TEMPLATE_CYCLE',
  'VARIABLE_MISSING',
  'VARIABLES_INVALID',
  'ENVIRON_INVALID',
  'RENDER_FAILED',
  'RENDER_TIMEOUT',
  'RENDER_BUDGET',
  'RENDER_ENDLESS',
  'PART_INVALID',
  'TOOL_FAILED'
]

export const ASKS_MODEL: readonly ErrorCode[] = [
  'MODEL_NOT_FOUND', 'LLM_NOT_CONFIGURED', 'LLM_UPSTREAM', 'LLM_RATE_LIMITED', 'LLM_AUTH', 'LLM_BUSY', 'BUDGET_USED', 'PRICE_UNKNOWN'
]

export const CHATS: readonly ErrorCode[] = [...RENDERS, ...ASKS_MODEL, 'INPUT_TOO_LONG', 'INPUT_UNCOUNTED', 'ANSWER_INVALID', 'TOOL_LOOP_ENDLESS']

export const RUNS_SKILL: readonly ErrorCode[] = ['SKILL_NOT_WAITING', 'SKILL_FAILED', 'INTERNAL']

/** Includes errors of the skill's terminal, and of its text, which can be a template. */
export const STARTS_SKILL: readonly ErrorCode[] = [
  ...BEGINS_SESSION, 'TARGETS_NOT_OFFERED', 'TERMINAL_NOT_FOUND', 'TERMINAL_GONE', 'TERMINAL_UNSUPPORTED',
  'VARIABLE_MISSING', 'VARIABLES_INVALID', 'TEMPLATE_SYNTAX', ...RUNS_SKILL
]

export const ErrorReply = Type.Object({
  statusCode: Type.Integer({ description: 'HTTP status' }),
  code: Type.String({ description: 'Stable code for programs; docs/errors.md has all of them', examples: ['PROMPT_NOT_FOUND'] }),
  error: Type.String({ description: 'Name of the HTTP status' }),
  message: Type.String({ description: 'What was expected, what came, and where' }),
  requestId: Type.String({ description: 'The x-request-id of this request' }),
  details: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Facts for programs: near matches, missing paths, violations' }))
}, { $id: 'Error', title: 'Error' })

/** Left out and null mean the same, as in OpenAI's API. */
export const nullable = <T extends TSchema>(
  schema: T,
  options: { readonly description?: string } = {}
) => Type.Optional(Type.Union([schema, Type.Null()], options))

/** `type: string` too: the page at /docs offers the values for choice only then. */
export function oneOf<Values extends string[]> (values: readonly [...Values], options: { readonly description?: string } = {}) {
  return Type.Enum<Values>(values, { type: 'string', ...options })
}

/** @param example an entry of `examples/`, so that a call tried from the API page succeeds */
export function idParameters (example: string) {
  return Type.Object({ id: Type.String({ minLength: 1, maxLength: 512, description: 'Dotted id; `:` is accepted for `.`', examples: [example] }) })
}

export const ExtensionId = idParameters('evaluator')
export const PromptId = idParameters('greet')
export const EnvironId = idParameters('vscode.rules')
export const ToolId = idParameters('owners.find')

/** In characters: long keys must fit, and all headers together may have 16 KiB. */
const MAX_CURSOR = 4096

export const ListQuery = Type.Object({
  prefix: Type.Optional(Type.String({ maxLength: 512, description: 'Only ids that begin with this' })),
  after: Type.Optional(Type.String({ maxLength: MAX_CURSOR, description: 'Only ids that come after this one; the Link header of a page has it' })),
  limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 1000, description: 'Most ids of one page' }),
  detail: Type.Boolean({ default: false, description: 'Summaries instead of ids' })
})

/** Smaller pages, for rows larger than ids. */
export const PageQuery = Type.Object({
  after: Type.Optional(Type.String({ maxLength: MAX_CURSOR, description: 'Only what comes after this; the Link header of a page has it' })),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Most rows of one page' })
})

export type ListOptions = Static<typeof ListQuery>

export const SupportsListQuery = Type.Object({
  ...ListQuery.properties,
  supports: Type.Optional(Type.String({ maxLength: 100, description: 'Only those that support this scene: chat, completion, codereview' }))
})

const MessagePartReply = Type.Object({ type: Type.String({ description: 'text, image_url, input_audio or file' }) }, { additionalProperties: true })

export const RenderedMessageReply = Type.Object({
  role: Type.String(),
  content: Type.Optional(Type.Unsafe<Json>(Type.Union([Type.String(), Type.Array(MessagePartReply), Type.Null()], { description: 'A text, or parts; of a message of the caller\'s whatever it was' })))
}, { additionalProperties: true })

export const partPlace = {
  part: Type.Optional(Type.Integer({ description: 'Which part of the message, from 0; left out for a message that is a text' })),
  member: Type.Optional(Type.String({ description: 'Which member of the part; left out for its text', examples: ['image_url.url'] }))
}

export const DiagnosticReply = Type.Object({
  severity: Type.String({ description: 'error, warning or hint' }),
  code: Type.String(),
  message: Type.String(),
  messageIndex: Type.Optional(Type.Integer({ description: 'Which message of the prompt, from 0' })),
  ...partPlace,
  line: Type.Optional(Type.Integer()),
  column: Type.Optional(Type.Integer()),
  hint: Type.Optional(Type.String())
}, { $id: 'Diagnostic', title: 'Diagnostic' })

export const PlacedDiagnosticReply = Type.Object({
  ...DiagnosticReply.properties,
  line: Type.Integer({ description: 'In the template, from 1; 1 for what concerns the whole entry' }),
  column: Type.Integer({ description: 'From 1' }),
  hint: Type.String({ description: 'What to do about it' })
})

export function listReply (summary: TSchema) {
  return Type.Union([Type.Array(Type.String()), Type.Array(summary)], { description: 'Ids, sorted; with detail=true summaries. The next page, when there is one, is in the Link header.' })
}

export const OpenAiErrorReply = Type.Object({
  error: Type.Object({
    message: Type.String({ description: 'What was expected, what came, and where' }),
    type: Type.String({ description: 'invalid_request_error, server_error or upstream_error' }),
    param: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    code: Type.Optional(Type.Union([Type.String(), Type.Integer(), Type.Null()], { description: 'Stable code for programs; docs/errors.md has those of the service' }))
  }, { additionalProperties: true })
}, { $id: 'OpenAiError', title: 'OpenAiError', additionalProperties: true })

export const UpstreamErrorReply = Type.Object({
  error: Type.Optional(Type.Unknown({ description: 'Mostly an object with a `message`, as OpenAI has it; below `/v1` always an object' }))
}, { $id: 'UpstreamError', title: 'UpstreamError', additionalProperties: true, description: 'The model\'s API refused the request: its status and its error body, as they came' })

export const upstreamRefusals = { '4XX': Type.Ref('UpstreamError') }

export interface MediaReply {
  readonly description: string
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>
}

export const completionReply = {
  description: 'The model\'s reply as it came: a chat completion or, with `stream: true`, its chunks as server-sent events',
  content: {
    'application/json': {
      schema: Type.Object({
        id: Type.Optional(Type.String()),
        object: Type.Optional(Type.String()),
        created: Type.Optional(Type.Integer()),
        model: Type.Optional(Type.String()),
        choices: Type.Array(Type.Object({}, { additionalProperties: true }))
      }, { additionalProperties: true })
    },
    'text/event-stream': { schema: Type.String({ description: 'Ends with `data: [DONE]`, or with one error event' }) }
  }
} satisfies MediaReply
