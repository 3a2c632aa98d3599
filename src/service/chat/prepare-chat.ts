import { inputTooLong, inputUncounted, requestInvalid } from '../../base/errors.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { type Prompt } from '../../registry/generation/generation.ts'
import { type AnswerSchema } from '../../registry/kinds/prompt/prompt-chat.ts'
import { type JsonObject } from '../../base/json.ts'
import { mergeFields } from '../../llm/exclusive-fields.ts'
import { type CountedCall } from './counted-models.ts'
import { countMedia, type MediaTokens } from './count-media.ts'
import { estimateInputTokens } from './estimate-tokens.ts'
import { type Rendering, type RenderPrompt, type RenderRequest } from '../render/render-prompt.ts'
import { splitFields } from './split-fields.ts'
import { type ToolStep } from './model-tool-calls.ts'
import { offerTools, type OfferedTools } from './offered-tools.ts'

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
