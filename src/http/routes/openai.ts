import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { modelNotFound } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, objectOf, stringifyJson } from '../../base/json.ts'
import { type Static, Type } from '../../schema/builder.ts'
import { AnswerReader, errorIn, type OpenCall } from '../../llm/answer.ts'
import { MAX_EVENT_BYTES, type ModelDescription } from '../../llm/model-client.ts'
import { memberOf, type ModelRequest, RequestBytes } from '../../llm/model-request.ts'
import { UpstreamError } from '../../llm/upstream-error.ts'
import type { Prompt } from '../../registry/generation.ts'
import { runnablePrompts } from '../../registry/offered.ts'
import { EventScanner, type ServerSentEvent } from '../../runtime/server-sent-events.ts'
import { type CountedCall, withDefaultModel } from '../../service/chat/models.ts'
import { type ChatRequest, splitFields } from '../../service/chat/prepare-chat.ts'
import type { Service } from '../../service.ts'
import type { App } from '../app.ts'
import { abortWhenGone, sendReply, sendEvents } from '../send-reply.ts'
import { passedOn } from '../validation.ts'
import { ASKS_MODEL, CHATS, completionReply, nullable, upstreamRefusals } from '../schemas.ts'
import {
  begun, callItem, CompletionBody, completionRequest, EmbeddingsBody, finished, headOf, isForModel, messageItem, namesModel, newId, type PromptCall,
  readPromptCall, refusalPart, responseFrom, type ResponseHead, textPart, usageOf
} from './openai-bodies.ts'
import { chooseToRender, seekPrompt, setToolDefaults } from '../prompt-request.ts'

interface OpenMessage { readonly id: string, readonly place: number, readonly parts: JsonObject[], kind: 'text' | 'refusal', text: string }

/** All calls stay open until the end: the model may write pieces of several calls in turn. */
interface ResponseCall { readonly id: string, readonly place: number, readonly callId: string, written: number }

/** Translates chat completion chunks into events of OpenAI's Responses API; each method gives the events to send now. */
class ResponseEvents {
  readonly #body: JsonObject
  readonly #output: JsonObject[] = []
  readonly #calls: ResponseCall[] = []
  readonly #reader: AnswerReader
  #head: ResponseHead | undefined
  #message: OpenMessage | undefined
  #sequence = 0
  #said = ''

  /** Begins the events of one response. @param body the request, parts of which a response repeats */
  constructor (body: JsonObject) {
    this.#body = body
    this.#reader = new AnswerReader(body)
  }

  * add (chunk: JsonObject): Generator<Buffer, void> {
    yield * this.#begin(chunk)
    const { text, refusal, hasCall } = this.#reader.add(chunk)
    if (text !== '') yield * this.#write('text', text)
    if (refusal !== '') yield * this.#write('refusal', refusal)
    if (hasCall) yield * this.#writeCalls(this.#reader.openCalls())
  }

  * end (): Generator<Buffer, void> {
    const head = yield * this.#begin({})
    const { text, calls, cut, finishReason, usage } = this.#reader.answer()
    // The reader holds back what may be the beginning of thoughts.
    if (text.startsWith(this.#said) && text !== this.#said) yield * this.#write('text', text.slice(this.#said.length))
    const status = cut ? 'incomplete' : 'completed'
    yield * this.#closeMessage(status)
    yield * this.#writeCalls(calls, true)
    for (const [index, { name, arguments: given }] of calls.entries()) {
      const { id, place, callId } = this.#calls[index] as ResponseCall
      yield this.#event('response.function_call_arguments.done', { item_id: id, output_index: place, name, arguments: given })
      yield * this.#done(place, callItem({ id, callId, name, arguments: given }, status))
    }
    const response = finished(head, finishReason, this.#output, usageOf(usage))
    yield this.#event(`response.${String(response['status'])}`, { response })
  }

  /** OpenAI's clients raise it as an error. */
  fail (message: string, code: Json): Buffer {
    return this.#event('error', { code, message, param: null, error: { type: 'upstream_error', code, message, param: null } })
  }

  * #begin (chunk: JsonObject): Generator<Buffer, ResponseHead> {
    if (this.#head !== undefined) return this.#head
    const head = this.#head = headOf(chunk, this.#body)
    for (const type of ['response.created', 'response.in_progress']) yield this.#event(type, { response: begun(head) })
    return head
  }

  * #write (kind: 'text' | 'refusal', piece: string): Generator<Buffer, void> {
    if (this.#message !== undefined && this.#message.kind !== kind) yield * this.#closePart(this.#message)
    if (this.#message === undefined) {
      const message = { id: newId('msg'), place: this.#output.length, parts: [], kind, text: '' }
      const item = messageItem(message.id, [], 'in_progress')
      this.#output.push(item)
      this.#message = message
      yield this.#event('response.output_item.added', { output_index: message.place, item })
    }
    const message = this.#message
    if (message.text === '') {
      message.kind = kind
      yield this.#event('response.content_part.added', { ...placeOf(message), part: partOf(kind, '') })
    }
    message.text += piece
    if (kind === 'text') this.#said += piece
    const added = { ...placeOf(message), delta: piece }
    yield kind === 'text'
      ? this.#event('response.output_text.delta', { ...added, logprobs: [] })
      : this.#event('response.refusal.delta', added)
  }

  * #writeCalls (calls: readonly OpenCall[], isOver = false): Generator<Buffer, void> {
    for (const [index, { id, name, arguments: given }] of calls.entries()) {
      let open = this.#calls[index]
      if (open === undefined) {
        // Items are opened in the order of the calls, so those behind a call without a name wait for it.
        if (name === '' && !isOver) return
        yield * this.#closeMessage()
        const isTaken = id === '' || this.#calls.some(({ callId }) => callId === id)
        open = { id: newId('fc'), place: this.#output.length, callId: isTaken ? newId('call') : id, written: 0 }
        const item = callItem({ ...open, name, arguments: '' }, 'in_progress')
        this.#calls.push(open)
        this.#output.push(item)
        yield this.#event('response.output_item.added', { output_index: open.place, item })
      }
      const delta = given.slice(open.written)
      if (delta === '') continue
      open.written = given.length
      yield this.#event('response.function_call_arguments.delta', { item_id: open.id, output_index: open.place, delta })
    }
  }

  * #closePart (message: OpenMessage): Generator<Buffer, void> {
    const { kind, text } = message
    const part = partOf(kind, text)
    const place = placeOf(message)
    yield kind === 'text'
      ? this.#event('response.output_text.done', { ...place, text, logprobs: [] })
      : this.#event('response.refusal.done', { ...place, refusal: text })
    yield this.#event('response.content_part.done', { ...place, part })
    message.parts.push(part)
    message.text = ''
  }

  * #closeMessage (status = 'completed'): Generator<Buffer, void> {
    const message = this.#message
    if (message === undefined) return
    this.#message = undefined
    yield * this.#closePart(message)
    yield * this.#done(message.place, messageItem(message.id, message.parts, status))
  }

  * #done (place: number, item: JsonObject): Generator<Buffer, void> {
    this.#output[place] = item
    yield this.#event('response.output_item.done', { output_index: place, item })
  }

  #event (type: string, data: JsonObject): Buffer {
    return Buffer.from(`event: ${type}\ndata: ${stringifyJson({ type, sequence_number: this.#sequence++, ...data })}\n\n`)
  }
}

function placeOf ({ id, place, parts }: OpenMessage): JsonObject {
  return { item_id: id, output_index: place, content_index: parts.length }
}

function partOf (kind: 'text' | 'refusal', text: string): JsonObject {
  return kind === 'text' ? textPart(text) : refusalPart(text)
}

const { prompt, variables, fallbacks } = CompletionBody.properties

const items = (options: object) => nullable(Type.Array(Type.Object({}, { additionalProperties: true }), { maxItems: 1000 }), options)

const ResponsesBody = Type.Object({
  model: CompletionBody.properties.model,
  input: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Object({}, { additionalProperties: true }), { maxItems: 1000 }), Type.Null()], { description: 'A text, or messages, calls of functions and what they gave' })),
  instructions: nullable(Type.String(), { description: 'A system message in front; not with a registered prompt, which has its own' }),
  stream: nullable(Type.Boolean()),
  tools: items({ description: 'Functions; tools of OpenAI\'s own are refused' }),
  text: nullable(Type.Object({}, { additionalProperties: true }), { description: 'The `format` of the answer' }),
  reasoning: nullable(Type.Object({}, { additionalProperties: true })),
  max_output_tokens: nullable(Type.Integer()),
  store: nullable(Type.Boolean(), { description: 'false or left out: no response is stored' }),
  prompt,
  variables,
  fallbacks
}, { additionalProperties: true, examples: [{ model: 'prompt:greet', variables: { name: 'Ada' } }] })

const responsesReply = {
  description: 'A response or, with `stream: true`, its events',
  content: {
    'application/json': {
      schema: Type.Object({
        id: Type.String(),
        object: Type.Literal('response'),
        status: Type.String({ description: 'completed or incomplete' }),
        model: Type.String(),
        output: Type.Array(Type.Object({ type: Type.String({ description: 'message or function_call' }) }, { additionalProperties: true }))
      }, { additionalProperties: true })
    },
    'text/event-stream': { schema: Type.String({ description: 'Ends with `response.completed` or `response.incomplete`, or with one `error`' }) }
  }
}

const Model = Type.Object({ id: Type.String(), object: Type.Literal('model'), created: Type.Integer(), owned_by: Type.String({ description: 'The provider' }) })

const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })

const ModelParameters = Type.Object({ model: Type.String({ minLength: 1, maxLength: 512, description: 'Name or alias of a model, one that `GET /v1/models` lists' }) })

const EmbeddingsReply = Type.Object({ data: Type.Array(Type.Unknown()) }, { additionalProperties: true, description: 'The upstream\'s reply, as it came' })

/** In seconds since 1970: clients expect a `created` time, and providers do not tell it. */
const STARTED = Math.floor(Date.now() / 1000)

interface AnswerForm {
  readonly sendReply: typeof sendReply
  readonly sendEvents: typeof sendEvents
}

const OWN: ReadonlySet<string> = new Set(['prompt'])
const WITHOUT_OWN = { prompt: undefined, fallbacks: undefined }

const CHAT: AnswerForm = { sendReply, sendEvents }

/** In the form of OpenAI's API, so that its clients can use prompts and models unchanged. */
export function openAiRoutes (app: App, service: Pick<Service, 'chatWithPrompt' | 'choosePrompt' | 'models' | 'registry' | 'embeddingModel'>): void {
  const { chatWithPrompt, choosePrompt, models, registry, embeddingModel } = service
  app.get('/v1/models', {
    config: { role: 'chat' },
    schema: { tags: ['OpenAI'], operationId: 'listModels', summary: 'List models, and prompts as models', description: 'A prompt is `prompt:{id}`, which `POST /v1/chat/completions` takes as a model.', response: { 200: ModelList } }
  }, async ({ generation }) => ({ object: 'list' as const, data: [...models.list(), ...(await runnablePrompts(generation)).map(promptAsModel)].map(asModel) }))

  app.get('/v1/models/:model', {
    config: { role: 'chat', fails: ['MODEL_NOT_FOUND'] },
    schema: { tags: ['OpenAI'], operationId: 'getModel', summary: 'Tell of a model', params: ModelParameters, response: { 200: Model } }
  }, async ({ params, generation }) => {
    const known = models.list()
    const found = known.find(({ id }) => id === params.model) ?? (await runnablePrompts(generation)).map(promptAsModel).find(({ id }) => id === params.model)
    if (found === undefined) throw modelNotFound(params.model, known.map(({ id }) => id))
    return asModel(found)
  })

  app.post('/v1/chat/completions', {
    config: { role: 'chat', fails: CHATS, headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label', 'x-tool-defaults'], passesOn: isForModel },
    schema: {
      tags: ['OpenAI'],
      operationId: 'createChatCompletion',
      summary: 'Ask the model with a prompt, or as it is',
      description: 'With `prompt: {id, version, variables, revision}`, or `model: "prompt:{id}"` and `variables`, a registered prompt is run; without them the request goes to the model as it is.',
      body: CompletionBody,
      response: { 200: completionReply, ...upstreamRefusals }
    }
  }, (request, reply) => {
    const body: unknown = request.body
    // Members of the service's own are null here, and an API may refuse what it does not know.
    if (body instanceof RequestBytes) return ask(request, reply, body.with(WITHOUT_OWN), undefined, CHAT)
    return answer(request, reply, request.body, CHAT)
  })

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
      sendEvents: (to, events) => sendEvents(to, responseStream(events, body))
    })
  })

  app.post('/v1/embeddings', {
    config: { role: 'chat', fails: [...ASKS_MODEL, 'INTERNAL'], passesOn: namesModel },
    schema: { tags: ['OpenAI'], operationId: 'createEmbeddings', summary: 'Ask for embeddings', description: 'The request goes to the provider of its model as it is, and the reply comes back as it came. Without `model` it is that of `LLM_EMBEDDING_MODEL`.', body: EmbeddingsBody, response: { 200: EmbeddingsReply, ...upstreamRefusals } }
  }, async (request, reply) => {
    const asked = withDefaultModel(request.body as ModelRequest, embeddingModel)
    return sendReply(reply, await models.ask({ kind: 'embeddings', request: asked, call: callOf(request, reply) }))
  })

  function answer (request: FastifyRequest, reply: FastifyReply, body: Static<typeof CompletionBody>, form: AnswerForm): Promise<FastifyReply> {
    const prompt = readPromptCall(body)
    return prompt === undefined ? proxy(request, reply, body, form) : runPrompt(request, reply, prompt, form)
  }

  async function proxy (request: FastifyRequest, reply: FastifyReply, body: Static<typeof CompletionBody>, form: AnswerForm): Promise<FastifyReply> {
    // `prompt` is this service's own, and null here; a model's API may refuse a field that it does not know.
    const { fields, fallbacks } = splitFields(passedOn(body, OWN))
    return await ask(request, reply, fields, fallbacks, form)
  }

  async function ask (
    request: FastifyRequest,
    reply: FastifyReply,
    asked: ModelRequest,
    fallbacks: readonly string[] | undefined,
    form: AnswerForm
  ): Promise<FastifyReply> {
    const call = callOf(request, reply, fallbacks)
    if (memberOf(asked, 'stream') === true) return form.sendEvents(reply, (await models.ask({ kind: 'stream', request: asked, call })).events)
    return form.sendReply(reply, await models.ask({ kind: 'chat', request: asked, call }))
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
    return fields['stream'] === true ? form.sendEvents(reply, await chatWithPrompt.stream(chat)) : form.sendReply(reply, await chatWithPrompt.complete(chat))
  }
}

function promptAsModel ({ id }: Prompt): ModelDescription {
  return { id: `prompt:${id}`, provider: 'ai-prompt-shell' }
}

function asModel ({ id, provider }: ModelDescription): Static<typeof Model> {
  return { id, object: 'model', created: STARTED, owned_by: provider }
}

/** Belongs to no prompt; its tokens are counted for its caller. */
function callOf ({ caller, id, activity }: FastifyRequest, reply: FastifyReply, fallbacks?: readonly string[]): CountedCall {
  return { caller, prompt: '', requestId: id, activity, signal: abortWhenGone(reply), fallbacks }
}

/** Chunk by chunk; comments in the stream are passed on unchanged. */
function responseStream (events: Readable, body: JsonObject): Readable {
  return Readable.from(translated(events, new ResponseEvents(body)), { objectMode: false })
}

async function * translated (events: Readable, response: ResponseEvents): AsyncGenerator<Buffer, void> {
  const scanner = new EventScanner<ServerSentEvent>(MAX_EVENT_BYTES, event => event)
  try {
    for await (const bytes of events as AsyncIterable<Buffer>) {
      for (const event of scanner.feed(bytes)) yield * translate(event, response)
    }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    yield response.fail(error.message, 'LLM_UPSTREAM')
  }
}

function * translate ({ bytes, data }: ServerSentEvent, response: ResponseEvents): Generator<Buffer, void> {
  if (data === undefined) return yield bytes
  if (data.trim() === '[DONE]') return yield * response.end()
  // Cannot fail: the reader of the model's API has checked every event.
  const chunk = JSON.parse(data) as Json
  if (!isJsonObject(chunk)) return
  const error = errorIn(chunk)
  if (error === undefined) return yield * response.add(chunk)
  const { message, code = null } = objectOf(error)
  yield response.fail(typeof message === 'string' ? message : 'The model\'s answer was cut short', code)
}
