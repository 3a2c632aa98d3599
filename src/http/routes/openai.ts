import { type FastifyReply, type FastifyRequest } from 'fastify'
import { modelNotFound } from '../../base/errors.ts'
import { type ModelDescription } from '../../llm/model-client.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { type Prompt } from '../../registry/generation/generation.ts'
import { runnablePrompts } from '../../registry/generation/offered.ts'
import { type Registry } from '../../registry/registry.ts'
import { type ChoosePrompt } from '../../service/versions/choose-prompt.ts'
import { type ChatWithPrompt } from '../../service/chat/chat-with-prompt.ts'
import { type CountedCall, type CountedModels } from '../../service/chat/counted-models.ts'
import { type ChatRequest } from '../../service/chat/prepare-chat.ts'
import { withDefaultModel } from '../../service/chat/llm-functions.ts'
import { splitFields } from '../../service/chat/split-fields.ts'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type App } from '../base/app-types.ts'
import { ASKS_MODEL, CHATS } from '../base/route-errors.ts'
import { passedOn } from '../base/closed-requests.ts'
import { abortWhenGone } from '../base/client-gone.ts'
import { CompletionBody, EmbeddingsBody, type PromptCall, readPromptCall } from '../openai/openai-body.ts'
import { responseFrom } from '../openai/responses/responses-object.ts'
import { responseStream } from '../openai/responses/response-stream.ts'
import { ResponsesBody, responsesReply } from '../openai/responses/responses-body.ts'
import { completionRequest } from '../openai/responses/responses-request.ts'
import { chooseToRender } from '../prompts/prompt-choice.ts'
import { completionReply, upstreamRefusals } from '../base/schemas.ts'
import { seekPrompt } from '../prompts/seek-prompt.ts'
import { sendReply, sendStream } from '../prompts/send-answer.ts'
import { setToolDefaults } from '../prompts/tool-defaults.ts'

/** The functions and settings that the routes of OpenAI's API need. */
export interface FrontDoorOptions {
  readonly chatWithPrompt: ChatWithPrompt
  readonly choosePrompt: ChoosePrompt
  readonly models: CountedModels
  readonly registry: Registry
  /** The model for embeddings requests that name none; empty for the provider's default. */
  readonly embeddingModel: string
}

const Model = Type.Object({ id: Type.String(), object: Type.Literal('model'), created: Type.Integer(), owned_by: Type.String({ description: 'The provider' }) })

const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })

const ModelParameters = Type.Object({ model: Type.String({ minLength: 1, maxLength: 512, description: 'Name or alias of a model, one that `GET /v1/models` lists' }) })

const EmbeddingsReply = Type.Object({ data: Type.Array(Type.Unknown()) }, { additionalProperties: true, description: 'The upstream\'s reply, as it came' })

/** The `created` time of every listed model, in seconds since 1970: clients expect one, and providers do not tell it. */
const STARTED = Math.floor(Date.now() / 1000)

/** The functions that send a model's answer: as a chat completion, or translated for OpenAI's Responses API. */
interface AnswerForm {
  readonly sendReply: typeof sendReply
  readonly sendStream: typeof sendStream
}

const OWN: ReadonlySet<string> = new Set(['prompt'])

const CHAT: AnswerForm = { sendReply, sendStream }

/** The routes below `/v1`, which have the form of OpenAI's API, so that its clients can use prompts and models unchanged. */
export function openAiRoutes (app: App, { chatWithPrompt, choosePrompt, models, registry, embeddingModel }: FrontDoorOptions): void {
  app.get('/v1/models', {
    config: { role: 'chat' },
    schema: { tags: ['OpenAI'], operationId: 'listModels', summary: 'List models, and prompts as models', description: 'A prompt is `prompt:{id}`, which `POST /v1/chat/completions` takes as a model.', response: { 200: ModelList } }
  }, ({ generation }) => ({ object: 'list' as const, data: [...models.list(), ...runnablePrompts(generation).map(promptAsModel)].map(asModel) }))

  app.get('/v1/models/:model', {
    config: { role: 'chat', fails: ['MODEL_NOT_FOUND'] },
    schema: { tags: ['OpenAI'], operationId: 'getModel', summary: 'Tell of a model', params: ModelParameters, response: { 200: Model } }
  }, ({ params, generation }) => {
    const known = models.list()
    const found = known.find(({ id }) => id === params.model) ?? runnablePrompts(generation).map(promptAsModel).find(({ id }) => id === params.model)
    if (found === undefined) throw modelNotFound(params.model, known.map(({ id }) => id))
    return asModel(found)
  })

  app.post('/v1/chat/completions', {
    config: { role: 'chat', fails: CHATS, headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label', 'x-tool-defaults'] },
    schema: {
      tags: ['OpenAI'],
      operationId: 'createChatCompletion',
      summary: 'Ask the model with a prompt, or as it is',
      description: 'With `prompt: {id, version, variables, revision}`, or `model: "prompt:{id}"` and `variables`, a registered prompt is run; without them the request goes to the model as it is.',
      body: CompletionBody,
      response: { 200: completionReply, ...upstreamRefusals }
    }
  }, (request, reply) => answer(request, reply, request.body, CHAT))

  app.post('/v1/responses', {
    config: { role: 'chat', fails: CHATS, headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label', 'x-tool-defaults'] },
    schema: {
      tags: ['OpenAI'],
      operationId: 'createResponse',
      summary: 'The same as OpenAI\'s Responses API',
      description: 'Asks as `POST /v1/chat/completions` does, with a prompt or without, in the form that OpenAI\'s and Vercel\'s clients use by default. No response is stored.',
      body: ResponsesBody,
      response: { 200: responsesReply, ...upstreamRefusals }
    }
  }, (request, reply) => {
    const body = request.body as JsonObject
    return answer(request, reply, completionRequest(body), {
      sendReply: (to, counted) => sendReply(to, { ...counted, body: Buffer.from(stringifyJson(responseFrom(counted, body))) }),
      sendStream: (to, stream) => sendStream(to, responseStream(stream, body))
    })
  })

  app.post('/v1/embeddings', {
    config: { role: 'chat', fails: [...ASKS_MODEL, 'INTERNAL'] },
    schema: { tags: ['OpenAI'], operationId: 'createEmbeddings', summary: 'Ask for embeddings', description: 'The request goes to the provider of its model as it is, and the reply comes back as it came. Without `model` it is that of `LLM_EMBEDDING_MODEL`.', body: EmbeddingsBody, response: { 200: EmbeddingsReply, ...upstreamRefusals } }
  }, async (request, reply) => {
    const asked = withDefaultModel(request.body as JsonObject, embeddingModel)
    return sendReply(reply, await models.ask({ kind: 'embeddings', request: asked, call: callOf(request, reply) }))
  })

  function answer (request: FastifyRequest, reply: FastifyReply, body: Static<typeof CompletionBody>, form: AnswerForm): Promise<FastifyReply> {
    const prompt = readPromptCall(body)
    return prompt === undefined ? proxy(request, reply, body, form) : runPrompt(request, reply, prompt, form)
  }

  async function proxy (request: FastifyRequest, reply: FastifyReply, body: Static<typeof CompletionBody>, form: AnswerForm): Promise<FastifyReply> {
    // The field `prompt` is this service's own, and null here; a model's API may refuse a field that it does not know.
    const { fields, fallbacks } = splitFields(passedOn(body, OWN))
    const call = callOf(request, reply, fallbacks)
    if (body.stream === true) return form.sendStream(reply, await models.ask({ kind: 'stream', request: fields, call }))
    return form.sendReply(reply, await models.ask({ kind: 'chat', request: fields, call }))
  }

  async function runPrompt (
    request: FastifyRequest,
    reply: FastifyReply,
    { id, version, revision, variables, conversation, fields }: PromptCall,
    form: AnswerForm
  ): Promise<FastifyReply> {
    await seekPrompt(request, reply, registry, id)
    const { generation, caller, id: requestId, activity, arrivedAt } = request
    const chosen = await chooseToRender(choosePrompt, request, reply, id, { version })
    const chat: ChatRequest = {
      generation,
      caller,
      id,
      chosen,
      revision,
      variables,
      fields,
      history: conversation,
      requestId,
      activity,
      arrivedAt,
      signal: abortWhenGone(reply),
      onToolDefaults: setToolDefaults(reply)
    }
    return fields['stream'] === true ? form.sendStream(reply, await chatWithPrompt.stream(chat)) : form.sendReply(reply, await chatWithPrompt.complete(chat))
  }
}

function promptAsModel ({ id }: Prompt): ModelDescription {
  return { id: `prompt:${id}`, provider: 'ai-prompt-shell' }
}

function asModel ({ id, provider }: ModelDescription): Static<typeof Model> {
  return { id, object: 'model', created: STARTED, owned_by: provider }
}

/** Describes a model call that belongs to no registered prompt, so that the tokens that the call uses are counted for its caller. */
function callOf ({ caller, id, activity }: FastifyRequest, reply: FastifyReply, fallbacks?: readonly string[]): CountedCall {
  return { caller, prompt: '', requestId: id, activity, signal: abortWhenGone(reply), fallbacks }
}
