import { inputTooLong, inputUncounted, requestInvalid } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { mergeFields } from '../../llm/model-client.ts'
import type { CallableTool, Prompt } from '../../registry/generation.ts'
import type { AnswerSchema } from '../../registry/kinds/prompt-kind.ts'
import type { CallerSignal } from '../../runtime/deadline.ts'
import { modelNames } from '../../tool/definition.ts'
import type { Rendering, RenderPrompt, RenderRequest } from '../render-prompt.ts'
import { type CountedCall, estimateInputTokens } from './models.ts'
import type { ToolStep } from './model-tool-calls.ts'

/** The fields of a chat request, separated into those for the model's API and those that the service itself uses. */
interface SplitFields {
  /** The fields that go to the model's API. */
  readonly fields: JsonObject
  readonly fallbacks: readonly string[] | undefined
}

const MAX_FALLBACKS = 20

/**
 * Separates the service's own fields of a chat request from those for the model's API. A caller is allowed to choose the model, and the models to
 * fall back to. Only the prompt's publisher sets `toolLoop` (which tools the model is allowed to call) and `maxInputTokens`.
 * @throws REQUEST_INVALID
 */
export function splitFields (given: JsonObject): SplitFields {
  for (const name of ['toolLoop', 'maxInputTokens']) {
    if (Object.hasOwn(given, name)) throw requestInvalid(`body: ${name} is set by the prompt's defaults, not by a request`, { part: 'body', field: name })
  }
  if (!Object.hasOwn(given, 'fallbacks')) return { fields: given, fallbacks: undefined }
  const { fallbacks, ...fields } = given
  return { fields, fallbacks: fallbacks === null ? undefined : checkFallbacks(fallbacks) }
}

function checkFallbacks (fallbacks: unknown): readonly string[] {
  const isList = Array.isArray(fallbacks) && fallbacks.length <= MAX_FALLBACKS && fallbacks.every(name => typeof name === 'string')
  if (!isList) throw requestInvalid(`body: fallbacks must be a list of at most ${MAX_FALLBACKS} model names`, { part: 'body', field: 'fallbacks' })
  return fallbacks as readonly string[]
}

/** How many tokens one part of a message counts as, by its type, such as `image_url`. The operator sets this, as only he knows what his models take. */
type MediaTokens = ReadonlyMap<string, number>

/** The types of message parts that are texts: their tokens are estimated from their length instead. */
const TEXTS: ReadonlySet<unknown> = new Set(['text', 'refusal'])

/**
 * The tokens of all pictures, sounds and files in messages.
 * @param uncounted makes the error for a type of part whose tokens are not known
 */
function countMedia (messages: readonly JsonObject[], costs: MediaTokens, uncounted: (type: string) => Error): number {
  let tokens = 0
  for (const { content = null } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content as readonly Json[]) {
      const type = isJsonObject(part) ? part['type'] : 'text'
      if (TEXTS.has(type)) continue
      const cost = typeof type === 'string' ? costs.get(type) : undefined
      if (cost === undefined) throw uncounted(typeof type === 'string' ? type.slice(0, 40) : 'unknown')
      tokens += cost
    }
  }
  return tokens
}

/** A request to chat with a prompt: a request to render it, and the fields that go to the model beside the messages. */
export interface ChatRequest extends RenderRequest {
  /** Fields of the OpenAI request; they win over the prompt's `defaults`. */
  readonly fields: JsonObject
  /** The signal that is aborted when the caller closes the connection. */
  readonly signal: CallerSignal
  /** Called with each tool call of the model, when the call is over. */
  readonly onToolStep?: (step: ToolStep) => void
}

/** A chat that is ready to be sent to a model, with the rules for its answer. */
export interface PreparedChat {
  readonly promptId: string
  readonly body: JsonObject & { readonly messages: readonly JsonObject[] }
  readonly call: CountedCall
  /** The schema that the answer must fit; `undefined` if every answer is accepted. */
  readonly answer: AnswerSchema | undefined
  /** The tools that the model may call; `undefined` if the prompt lets it call none. */
  readonly offered: OfferedTools | undefined
  readonly onToolStep: (step: ToolStep) => void
}

/** The parts of the service, and the settings, that preparing a chat needs. */
export interface PreparationOptions {
  readonly renderPrompt: RenderPrompt
  /** A system message put in front of a prompt that is a single text; `''` for none. */
  readonly systemMessage: string
  /** How many tokens are counted for an image, or for another message part that is no text, when the prompt's `maxInputTokens` is checked. */
  readonly mediaTokens: MediaTokens
  /** The longest time for all turns (requests to the model) of a chat with tool calls together, in ms. */
  readonly total: number
}

/** Renders a prompt, and makes the request for the model's API from it. */
export async function prepareChat (request: ChatRequest, { renderPrompt, systemMessage, mediaTokens, total }: PreparationOptions): Promise<PreparedChat> {
  const { fields, fallbacks = undefined } = splitFields(withoutNulls(request.fields))
  checkConversation(request.history ?? [])
  const rendering = await renderPrompt(request)
  const { prompt } = rendering
  const { chat } = prompt.entry
  const answer = Object.hasOwn(fields, 'response_format') ? undefined : chat.answer
  const messages = asMessages(rendering, systemMessage)
  // The spread members come last where possible: adding a member to a copied object takes V8 some 2 µs.
  const plain = { messages, ...mergeFields(chat.fields, fields), ...(answer === undefined ? {} : { response_format: answer.responseFormat }) }
  const offered = chat.toolLoop === undefined ? undefined : offerTools(prompt.loopTools, plain, chat.toolLoop.maxTurns)
  if (offered !== undefined) checkChoices(plain)
  const body = offered === undefined ? plain : { ...plain, tools: offered.declarations }
  checkInput(prompt, body, mediaTokens)
  const call = {
    caller: request.caller,
    prompt: prompt.id,
    signal: request.signal,
    requestId: request.requestId,
    activity: request.activity,
    fallbacks: fallbacks ?? chat.fallbacks,
    optionalFormat: answer !== undefined,
    deadline: offered === undefined ? undefined : performance.now() + total
  }
  return { promptId: prompt.id, body, call, answer, offered, onToolStep: request.onToolStep ?? (() => {}) }
}

/** The request's fields without those that are null. Null counts as left out: it removes neither a default of the prompt nor the check of the answer. */
function withoutNulls (fields: JsonObject): JsonObject {
  return Object.values(fields).includes(null) ? Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) : fields
}

/** Refuses a request for several answers (`n` other than 1) if the model may call tools, as only one conversation can go on. @throws REQUEST_INVALID */
function checkChoices ({ n = 1 }: JsonObject): void {
  if (n !== 1 && n !== null) throw requestInvalid('body: n must be 1 for a prompt whose model calls tools', { part: 'body', field: 'n' })
}

function checkInput ({ id, entry }: Prompt, body: PreparedChat['body'], mediaTokens: MediaTokens): void {
  const { maxInputTokens } = entry.chat
  if (maxInputTokens === undefined) return
  const tokens = estimateInputTokens(body) + countMedia(body.messages, mediaTokens, type => inputUncounted(id, type, maxInputTokens))
  if (tokens > maxInputTokens) throw inputTooLong(id, tokens, maxInputTokens)
}

function asMessages ({ prompt, messages }: Rendering, systemMessage: string): readonly JsonObject[] {
  const needsSystem = prompt.entry.definition.form === 'text' && systemMessage !== ''
  return needsSystem ? [{ role: 'system', content: systemMessage }, ...messages] : messages
}

/** Roles of the messages that a caller may add to a prompt's own. `system` is not among them: a caller must not add instructions. */
const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool'])

/**
 * Checks the messages that a caller adds to a prompt's own.
 * @throws REQUEST_INVALID that names the first message whose role is not in `ROLES`
 */
function checkConversation (messages: readonly JsonObject[]): readonly JsonObject[] {
  const index = messages.findIndex(message => !ROLES.has(message['role']))
  if (index === -1) return messages
  const field = `messages.${index}.role`
  throw requestInvalid(`body: ${field} must be "user" or "assistant" or "tool": the prompt's publisher writes the others`, { part: 'body', field })
}

/** The registered tools that a chat lets its model call, as functions of OpenAI's API. */
export interface OfferedTools {
  /** The `tools` of the request to the model: first the functions that the caller or the prompt's defaults declare, then the registered tools. */
  readonly declarations: readonly Json[]
  /** The registered tools that the service calls for the model, by the name of the function that the model knows. */
  readonly byName: ReadonlyMap<string, CallableTool>
  /** The names of the functions that the request itself declares. When the model calls one of them, the caller has to answer the call. */
  readonly others: ReadonlySet<unknown>
  /** The most times that the model is asked in one chat. */
  readonly maxTurns: number
}

/**
 * Offers registered tools to a model as functions, beside those that the request declares. A function of the request with a tool's own name takes its
 * place; tools whose names become one for a model get names of their own.
 * @returns `undefined` when there is no tool to offer
 */
function offerTools (tools: readonly CallableTool[], request: JsonObject, maxTurns: number): OfferedTools | undefined {
  const given = Array.isArray(request['tools']) ? request['tools'] as readonly Json[] : []
  const others = new Set(given.map(nameOfFunction))
  const names = modelNames(tools.map(({ name }) => name).filter(name => !others.has(name)), others)
  const byName = new Map(tools.flatMap(tool => names.has(tool.name) ? [[names.get(tool.name) as string, tool]] : []))
  if (byName.size === 0) return undefined
  return { declarations: [...given, ...Array.from(byName, ([name, tool]) => declare(name, tool))], byName, others, maxTurns }
}

function declare (name: string, { definition }: CallableTool): JsonObject {
  const { description, parameters } = definition
  return { type: 'function', function: { name, description, parameters: parameters?.schema ?? { type: 'object' } } }
}

function nameOfFunction (declaration: Json): Json | undefined {
  const declared = isJsonObject(declaration) ? declaration['function'] : null
  return isJsonObject(declared) ? declared['name'] : undefined
}
