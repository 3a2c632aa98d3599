import { inputTooLong, inputUncounted, requestInvalid } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, listOf, ownField } from '../../base/json.ts'
import { mergeFields } from '../../llm/model-request.ts'
import { estimateInputTokens } from '../../llm/usage.ts'
import type { CallableTool, Prompt } from '../../registry/generation.ts'
import type { AnswerSchema } from '../../registry/kinds/prompt-kind.ts'
import type { CallerSignal } from '../../runtime/deadline.ts'
import { modelNames } from '../../tool/definition.ts'
import type { RenderResult, RenderPrompt, RenderRequest } from '../render-prompt.ts'
import type { CountedCall } from './models.ts'
import type { ToolStep } from './model-tool-calls.ts'

const MAX_FALLBACKS = 20

export const SET_BY_PROMPTS = ['toolLoop', 'maxInputTokens']

/** Callers choose the model and its fallbacks; only the publisher sets `toolLoop` and `maxInputTokens`. @throws REQUEST_INVALID */
export function splitFields (given: JsonObject): { readonly fields: JsonObject, readonly fallbacks: readonly string[] | undefined } {
  for (const name of SET_BY_PROMPTS) {
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

/** By type of part, such as `image_url`. The operator sets this, as only he knows what his models take. */
type MediaTokens = ReadonlyMap<string, number>

/** Their tokens are estimated from their length instead. */
const TEXTS: ReadonlySet<unknown> = new Set(['text', 'refusal'])

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

export interface ChatRequest extends RenderRequest {
  /** Fields of the OpenAI request; they win over the prompt's `defaults`. */
  readonly fields: JsonObject
  readonly signal: CallerSignal
  readonly onToolStep?: (step: ToolStep) => void
}

export interface PreparedChat {
  readonly promptId: string
  readonly body: JsonObject & { readonly messages: readonly JsonObject[] }
  readonly call: CountedCall
  readonly answer: AnswerSchema | undefined
  readonly offered: OfferedTools | undefined
  readonly onToolStep: (step: ToolStep) => void
}

export interface PrepareChatOptions {
  readonly renderPrompt: RenderPrompt
  readonly systemMessage: string
  readonly mediaTokens: MediaTokens
  /** For all turns together, in ms. */
  readonly total: number
}

export async function prepareChat (request: ChatRequest, { renderPrompt, systemMessage, mediaTokens, total }: PrepareChatOptions): Promise<PreparedChat> {
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

/** Null counts as left out: it removes neither a default of the prompt nor the check of the answer. */
function withoutNulls (fields: JsonObject): JsonObject {
  return Object.values(fields).includes(null) ? Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) : fields
}

/** Only one conversation can go on when the model calls tools. @throws REQUEST_INVALID */
function checkChoices ({ n = 1 }: JsonObject): void {
  if (n !== 1 && n !== null) throw requestInvalid('body: n must be 1 for a prompt whose model calls tools', { part: 'body', field: 'n' })
}

function checkInput ({ id, entry }: Prompt, body: PreparedChat['body'], mediaTokens: MediaTokens): void {
  const { maxInputTokens } = entry.chat
  if (maxInputTokens === undefined) return
  const tokens = estimateInputTokens(body) + countMedia(body.messages, mediaTokens, type => inputUncounted(id, type, maxInputTokens))
  if (tokens > maxInputTokens) throw inputTooLong(id, tokens, maxInputTokens)
}

function asMessages ({ prompt, messages }: RenderResult, systemMessage: string): readonly JsonObject[] {
  const needsSystem = prompt.entry.definition.form === 'text' && systemMessage !== ''
  return needsSystem ? [{ role: 'system', content: systemMessage }, ...messages] : messages
}

/** `system` is not among them: a caller must not add instructions. */
const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool'])

/** @throws REQUEST_INVALID that names the first message whose role is not in `ROLES` */
function checkConversation (messages: readonly JsonObject[]): readonly JsonObject[] {
  const index = messages.findIndex(message => !ROLES.has(message['role']))
  if (index === -1) return messages
  const field = `messages.${index}.role`
  throw requestInvalid(`body: ${field} must be "user" or "assistant" or "tool": the prompt's publisher writes the others`, { part: 'body', field })
}

export interface OfferedTools {
  readonly declarations: readonly Json[]
  readonly byName: ReadonlyMap<string, CallableTool>
  /** The functions that the request itself declares: their calls are the caller's to answer. */
  readonly others: ReadonlySet<unknown>
  readonly maxTurns: number
}

/** A function of the request with a tool's name takes its place; tools whose names become one for a model are renamed. */
function offerTools (tools: readonly CallableTool[], request: JsonObject, maxTurns: number): OfferedTools | undefined {
  const given = listOf(request['tools'])
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
  return ownField(ownField(declaration, 'function'), 'name')
}
