import { Type } from '../../base/schema-builder.ts'
import { BundleSchema } from '../../service/render/bundle.ts'
import { type JsonObject } from '../../base/json.ts'
import { nullable, oneOf } from '../base/schemas.ts'

/** The member `variables` of a body. */
export const variables = nullable(Type.Object({}, { additionalProperties: true }), { description: 'Values for the template, as `variables.*`' })
const args = nullable(Type.Object({}, { additionalProperties: true }), { description: 'Another name for variables' })

const user = nullable(Type.String(), { description: 'Who it is for: stands for the query\'s `key`' })

/** The schema that refuses a body with both `variables` and `args`, two names of one field; null counts as left out. */
const ONE_NAME = { not: { type: 'object', required: ['variables', 'args'], properties: { variables: { type: 'object' }, args: { type: 'object' } } } }

/** An example body for the prompt `greet` of `examples/`. */
const EXAMPLE = { variables: { name: 'Ada' } }

/** The roles of the caller's messages, and the most of them that a request may have. */
export const SPEAKERS = ['user', 'assistant', 'tool'] as const
export const MAX_MESSAGES = 1000

/** The member `messages` of a body: the conversation so far, as the caller sends it. */
export const messages = nullable(
  Type.Array(Type.Object({ role: oneOf(SPEAKERS) }, { additionalProperties: true }), { maxItems: MAX_MESSAGES }),
  { description: 'The conversation so far: it goes where the prompt has `history`, else behind, and is not rendered' })

/**
 * The schema of the body of a render. No body, `{}` and `variables: null` all mean "no variables"; a request with a bundle (a
 * recorded render) uses the bundle's variables.
 */
export const RenderBody = Type.Union([
  Type.Object({
    variables,
    args,
    messages,
    bundle: nullable(BundleSchema, { description: 'What a render with `?tools=record` gave: rendered again, without a call' }),
    user,
    safety_identifier: user
  }, ONE_NAME),
  Type.Null()
], { examples: [EXAMPLE] })

/** The schema of the body of a chat: variables, and any field of OpenAI's chat completion request. */
export const ChatBody = Type.Union([
  Type.Object({
    variables,
    args,
    stream: nullable(Type.Boolean(), { description: 'Whether to answer with server-sent events; not with `?explain=true`' }),
    fallbacks: nullable(Type.Array(Type.String({ minLength: 1 }), { maxItems: 20 }), { description: 'Models to ask when the first one fails' }),
    model: nullable(Type.String({ minLength: 1 }), { description: 'Left out: the prompt\'s default, then the service\'s' }),
    messages,
    temperature: nullable(Type.Number()),
    top_p: nullable(Type.Number()),
    n: nullable(Type.Integer()),
    max_tokens: nullable(Type.Integer()),
    frequency_penalty: nullable(Type.Number()),
    presence_penalty: nullable(Type.Number()),
    stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()])),
    user: nullable(Type.String())
  }, { additionalProperties: true, ...ONE_NAME }),
  Type.Null()
], { examples: [{ ...EXAMPLE, temperature: 0.2 }] })

/** The variables of a body, if it has any. */
export function givenVariables (body: { variables?: object | null, args?: object | null } | null): JsonObject | undefined {
  return (body?.variables ?? body?.args ?? undefined) as JsonObject | undefined
}
