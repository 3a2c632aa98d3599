import { requestInvalid } from '../../base/errors.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { type JsonObject } from '../../base/json.ts'
import { passedOn } from '../base/closed-requests.ts'
import { nullable } from '../base/schemas.ts'

const variables = nullable(Type.Object({}, { additionalProperties: true }), { description: 'Values for the template of the prompt that model names' })

/** The schema of OpenAI's request for a chat completion, which may name a registered prompt in place of messages. */
export const CompletionBody = Type.Object({
  model: nullable(Type.String(), { description: 'A model, or `prompt:{id}` for a registered prompt; `prompt:{id}@production` and `prompt:{id}@7` for what a label means and for a version' }),
  messages: nullable(Type.Array(Type.Object({ role: Type.String() }, { additionalProperties: true }), { maxItems: 1000 })),
  stream: nullable(Type.Boolean()),
  prompt: nullable(Type.Object({
    id: Type.String({ minLength: 1, maxLength: 512 }),
    version: nullable(Type.Union([Type.String({ pattern: '^[1-9][0-9]{0,14}$' }), Type.Integer({ minimum: 1, maximum: 1e15 - 1 })]), { description: 'A version of it' }),
    variables,
    revision: nullable(Type.String(), { description: 'Answer 409 when the prompt is at another revision' })
  }, { additionalProperties: false }), { description: 'A registered prompt; messages are appended to its own' }),
  variables,
  fallbacks: nullable(Type.Array(Type.String({ minLength: 1 }), { maxItems: 20 }), { description: 'Models to ask when the first one fails' })
}, { additionalProperties: true, examples: [{ model: 'prompt:greet', variables: { name: 'Ada' } }] })

/** The schema of OpenAI's request for embeddings. */
export const EmbeddingsBody = Type.Object({ model: nullable(Type.String()) }, {
  additionalProperties: true,
  examples: [{ model: 'text-embedding-3-small', input: 'Hello' }]
})

/**
 * The registered prompt that a chat completion request names, with its version and variables, and the other fields of the request, which go
 * to the model.
 */
export interface PromptCall {
  readonly id: string
  readonly version: number | undefined
  readonly revision: string | undefined
  readonly variables: JsonObject
  readonly conversation: readonly JsonObject[]
  readonly fields: JsonObject
}

const PROMPT_MODEL = 'prompt:'

/** The members of a request for a prompt that do not go to the model as they are. */
const OWN: ReadonlySet<string> = new Set(['prompt', 'variables', 'messages'])
const OWN_AND_MODEL: ReadonlySet<string> = new Set([...OWN, 'model'])

/**
 * Reads which prompt a completion request names; `undefined` when it names none and goes to the model unchanged.
 * @throws REQUEST_INVALID when the request names two prompts
 */
export function readPromptCall (body: Static<typeof CompletionBody>): PromptCall | undefined {
  const { prompt, variables, model: given, messages } = body
  const model = given ?? ''
  const named = model.startsWith(PROMPT_MODEL) ? model.slice(PROMPT_MODEL.length) : undefined
  const id = prompt?.id ?? named
  if (id === undefined) return undefined
  if (named !== undefined && named !== id) throw requestInvalid(`body: model names prompt "${named}", prompt.id names "${id}"`, { part: 'body' })
  return {
    id,
    version: prompt?.version == null ? undefined : Number(prompt.version),
    revision: prompt?.revision ?? undefined,
    variables: (prompt?.variables ?? variables ?? {}) as JsonObject,
    conversation: (messages ?? []) as readonly JsonObject[],
    // If the request names a model as well as a prompt, this model replaces the prompt's own one, as every field of the request does.
    fields: passedOn(body, named === undefined && model !== '' ? OWN : OWN_AND_MODEL)
  }
}
