import { type EnvironNames } from '../../registry/needs/path-owner.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { ENGINE_VERSION } from '../../base/version.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { createSlices } from '../../runtime/slices.ts'
import { ErrorReply } from '../base/schemas.ts'
import { answerSchema, variablesSchema } from './prompt-schemas.ts'

/** The largest size of one document that describes prompts, in UTF-16 units; further prompts come in the next document. */
const MAX_LENGTH = 4 * 1024 * 1024

/**
 * One page of prompts as an OpenAPI document, from which clients can generate typed calls. It contains as many of the given prompts as fit.
 */
export interface PromptsDocument {
  readonly text: string
  /** The number of prompts in the document: at least one, if any were given. */
  readonly count: number
}

const PART = {
  type: 'object',
  properties: { type: { type: 'string', enum: ['text', 'image_url', 'input_audio', 'file'] } },
  required: ['type']
}

const MESSAGES = {
  type: 'array',
  items: {
    type: 'object',
    properties: { role: { type: 'string' }, content: { anyOf: [{ type: 'string' }, { type: 'array', items: PART }] } },
    required: ['role']
  }
}

/** The schemas of the fields of a chat request beside `variables`. */
const CHAT_FIELDS = {
  model: { type: 'string' },
  messages: MESSAGES,
  stream: { type: 'boolean' },
  temperature: { type: 'number' },
  max_tokens: { type: 'integer' }
}

const SHARED_SCHEMAS = {
  PromptMessages: MESSAGES,
  PromptError: ErrorReply,
  ChatCompletion: completionOf({ type: ['string', 'null'] })
}

/**
 * Describes prompts as an OpenAPI 3.1 document. Each prompt has two operations, one that renders it and one that asks the model with it,
 * with the types of its own variables and answer. The work is done in slices, between which other requests are served.
 * @param prompts sorted, each with the id by which requests name it
 */
export async function describePrompts (
  prompts: ReadonlyArray<readonly [id: string, prompt: Prompt]>,
  generation: Generation,
  environs: EnvironNames
): Promise<PromptsDocument> {
  const slices = createSlices()
  const names = new OperationNames()
  const paths: [string, JsonObject][] = []
  const schemas: [string, JsonObject][] = []
  let length = 0
  let count = 0
  for (const [id, prompt] of prompts) {
    if (slices.isDue()) await slices.pause()
    const described = describePrompt(id, prompt, names.nameOf(id), generation, environs)
    length += stringifyJson(described).length
    if (count > 0 && length > MAX_LENGTH) break
    count++
    paths.push(...described.paths)
    schemas.push(...described.schemas)
  }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Prompts', version: ENGINE_VERSION, description: 'Each prompt as an operation that renders it and one that asks the model with it.' },
    security: [{}, { token: [] }],
    paths: Object.fromEntries(paths),
    components: {
      schemas: { ...SHARED_SCHEMAS, ...Object.fromEntries(schemas) },
      responses: { Failure: { description: 'What is wrong, and where; of a chat it may be what the model\'s API has refused', content: { 'application/json': { schema: {} } } } },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } }
    }
  }
  return { text: stringifyJson(document), count }
}

/**
 * Gives each prompt a name that is valid for a function, for code generators. If two ids become the same name, the later one gets a number.
 */
class OperationNames {
  readonly #taken = new Set<string>()

  nameOf (id: string): string {
    const plain = id.replace(/[^A-Za-z0-9]+/g, '_')
    let name = plain
    for (let number = 2; this.#taken.has(name); number++) name = `${plain}_${number}`
    this.#taken.add(name)
    return name
  }
}

interface PromptDescription {
  readonly paths: ReadonlyArray<[string, JsonObject]>
  readonly schemas: ReadonlyArray<[string, JsonObject]>
}

function describePrompt (id: string, prompt: Prompt, name: string, generation: Generation, environs: EnvironNames): PromptDescription {
  const { entry } = prompt
  const variablesName = `variables_${name}`
  const answerName = `answer_${name}`
  const variables = variablesSchema(prompt, generation, environs, `#/components/schemas/${variablesName}`)
  const answer = answerSchema(prompt, `#/components/schemas/${answerName}`)
  const { source, form } = entry.definition
  const description = typeof source['description'] === 'string' ? { description: source['description'] } : {}
  const common = { 'x-prompt-id': id, tags: ['Prompts'], ...description }
  const rendered = form === 'text' ? { type: 'string' } : { $ref: '#/components/schemas/PromptMessages' }
  const completion = answer === undefined
    ? { $ref: '#/components/schemas/ChatCompletion' }
    : completionOf({ type: ['string', 'null'], contentMediaType: 'application/json', contentSchema: { $ref: `#/components/schemas/${answerName}` } })
  const isNeeded = Object.hasOwn(variables, 'required')
  const bodyOf = (properties: JsonObject): JsonObject => ({
    required: isNeeded,
    content: json({
      type: 'object',
      properties: { variables: { $ref: `#/components/schemas/${variablesName}` }, ...properties },
      ...(isNeeded ? { required: ['variables'] } : {})
    })
  })
  const failure = { default: { $ref: '#/components/responses/Failure' } }
  const path = encodeURIComponent(id)
  return {
    schemas: [[variablesName, variables], ...(answer === undefined ? [] : [[answerName, answer] as [string, JsonObject]])],
    paths: [
      [`/api/render/prompts/${path}`, {
        post: {
          ...common,
          operationId: `render_${name}`,
          summary: 'Render it',
          requestBody: bodyOf({ messages: MESSAGES }),
          responses: { 200: { description: 'The text, or the messages', content: json({ type: 'object', properties: { rendered_prompt: rendered, status: { const: 'success' } }, required: ['rendered_prompt', 'status'] }) }, ...failure }
        }
      }],
      [`/api/chat/prompts/${path}`, {
        post: {
          ...common,
          operationId: `chat_${name}`,
          summary: 'Ask the model with it',
          requestBody: bodyOf(CHAT_FIELDS),
          responses: {
            200: {
              description: 'A chat completion; with `stream: true` its pieces as events',
              content: { ...json(completion), 'text/event-stream': { schema: { type: 'string' } } }
            },
            ...failure
          }
        }
      }]
    ]
  }
}

function json (schema: JsonObject): JsonObject {
  return { 'application/json': { schema } }
}

/** The schema of a chat completion. @param content the schema of the text that the model writes */
function completionOf (content: JsonObject): JsonObject {
  const message = { type: 'object', properties: { role: { type: 'string' }, content } }
  const choice = { type: 'object', properties: { message, finish_reason: { type: ['string', 'null'] } } }
  return {
    type: 'object',
    properties: { id: { type: 'string' }, model: { type: 'string' }, choices: { type: 'array', items: choice } }
  }
}
