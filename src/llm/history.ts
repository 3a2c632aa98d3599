import { isJsonObject, type Json, JsonError, type JsonObject, listOf, objectOf, ownField, parseJson, stringifyJson, textOf } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
import { type Answer, AnswerReader, type AskedCall, distinctIds, finishOf, isCut } from './answer.ts'

/** In UTF-16 units. */
const MAX_SHOWN_NAME = 100

/** @returns the arguments, or a text that says what is wrong with them: then the call is never made */
export function parseArguments (text: string): JsonObject | string {
  if (text.trim() === '') return {}
  try {
    const value = parseJson(text)
    return isJsonObject(value) ? value : 'the arguments are not a JSON object'
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return `the arguments are not JSON: ${error.message}`
  }
}

export function describeResult (value: unknown): string {
  return typeof value === 'string' ? value : stringifyJson(value)
}

export function describeError (reason: string): string {
  return stringifyJson({ error: reason })
}

export function unknownFunction (name: string): string {
  return `there is no function ${JSON.stringify(beginningOf(name, MAX_SHOWN_NAME))}`
}

// How answers are kept in logs and conversations, and sent back in a form that the strictest API takes.

/** Stands for a missing answer of the model, since APIs want one. */
export const NO_ANSWER = '(no answer)'

const EMPTY = '(empty)'

/** In characters: https://platform.openai.com/docs/api-reference/chat/create */
const MAX_NAME = 64

/** Marks a reply whose answers were read before it was logged. In older logs no reply has it: their `finish_reason` is not looked at, so none counts as cut. */
const READ = 1

export function replyOf (answers: readonly Answer[], { choices: _choices, ...reply }: JsonObject): JsonObject {
  return {
    ...reply,
    read: READ,
    choices: answers.map((answer, index) => ({ index, message: messageOf(answer), finish_reason: answer.finishReason ?? null }))
  }
}

export function readReply (reply: JsonObject, request: JsonObject): Answer {
  const reader = new AnswerReader(request)
  reader.add(reply)
  return reader.answer()
}

export function loggedAnswer (reply: Json): Answer | undefined {
  if (!isJsonObject(reply)) return undefined
  const { choices, read } = reply
  const choice = Array.isArray(choices) ? choices[0] as Json | undefined : undefined
  const message = ownField(choice, 'message')
  if (!isJsonObject(choice) || !isJsonObject(message)) return undefined
  const { refusal } = message
  const finishReason = read === READ ? finishOf(choice) : undefined
  return {
    text: contentOf(message),
    thoughts: '',
    calls: callsOf(message),
    refusal: read === READ ? textOf(refusal) : '',
    finishReason,
    cut: isCut(finishReason),
    reasoning: Object.fromEntries(Object.entries(message).filter(([name]) => name.startsWith('reasoning'))),
    usage: undefined,
    ...(read === READ ? {} : { isEarlier: true })
  }
}

/** An answer as a message: with the texts, and the calls in the field that the model used. */
function messageOf ({ text, refusal, calls, thoughts, reasoning }: Answer): JsonObject {
  const told: JsonObject = thoughts === '' || Object.keys(reasoning).length > 0 ? {} : { thoughts }
  const refused: JsonObject = refusal === '' ? {} : { refusal }
  return { role: 'assistant', content: text === '' && calls.length > 0 ? null : text, ...refused, ...reasoning, ...told, ...callFields(calls) }
}

/** Some APIs want the thoughts back that led to the calls. */
export function askedMessage ({ text, calls, reasoning }: Answer): JsonObject {
  return { role: 'assistant', content: text === '' ? null : text, ...reasoning, ...callFields(calls) }
}

function callFields (calls: readonly AskedCall[]): JsonObject {
  const [first] = calls
  if (first === undefined) return {}
  if (first.isOlder === true) return { function_call: { name: first.name, arguments: first.arguments } }
  return { tool_calls: calls.map(({ id, name, arguments: text, extra }) => ({ ...extra, id, type: 'function', function: { name, arguments: text } })) }
}

export function resultMessage ({ id, name, isOlder }: Pick<AskedCall, 'name' | 'isOlder'> & { readonly id: Json }, content: string): JsonObject {
  return isOlder === true ? { role: 'function', name, content } : { role: 'tool', tool_call_id: id, content }
}

export function contentOf ({ content }: JsonObject): string {
  return textOf(content)
}

export function callsOf (message: JsonObject): readonly AskedCall[] {
  const { tool_calls: calls, function_call: older } = message
  if (!Array.isArray(calls) && !isJsonObject(older)) return []
  return readReply({ choices: [{ message: { tool_calls: calls ?? null, function_call: older ?? null } }] }, {}).calls
}

/** An answer as plain text, with its function calls as words. A model's API accepts such a text although the calls have no results. */
export function wordsOf ({ text, calls }: Pick<Answer, 'text' | 'calls'>): string {
  return [text, ...calls.map(({ name, arguments: given }) => `${name} ${given}`)].join('\n')
}

/** What strict APIs take: JSON arguments, valid names, distinct ids, results behind their calls, no empty or ill-formed text. Other members stay. */
export function strictMessages (messages: readonly JsonObject[]): JsonObject[] {
  const conversation = new StrictConversation()
  for (const message of messages) conversation.add(message)
  return conversation.sent
}

class StrictConversation {
  readonly sent: JsonObject[] = []
  readonly #ids = new Set<string>()
  #open: ReadonlyArray<{ readonly given: Json, readonly id: string }> = []
  #from = -1

  add (message: JsonObject): void {
    const { role, tool_calls: given } = message
    if (role === 'tool') return this.#addResult(message)
    const calls = role === 'assistant' ? listOf(given).filter(isJsonObject) : []
    const waits = this.#open.length > 0 && this.#from === this.sent.length - 1
    // A text beside calls may come as a message of its own, before them or behind them.
    const isBeside = role === 'assistant' && this.sent.at(-1)?.['role'] === 'assistant' && (calls.length > 0 || waits)
    if (calls.length === 0 && !isBeside) this.sent.push(plainMessage(message))
    else this.#addCalls(isBeside ? this.sent.pop() ?? {} : {}, message, calls)
  }

  #addCalls (last: JsonObject, message: JsonObject, calls: readonly JsonObject[]): void {
    const before = listOf(last['tool_calls'])
    const ids = distinctIds(calls.map(({ id }) => typeof id === 'string' ? id.toWellFormed() : ''), this.#ids)
    const joined = { ...last, ...message, ...strictText(joinedContent(last, message)) }
    this.#from = this.sent.push({ ...joined, tool_calls: [...before, ...calls.map((call, index) => strictCall(call, ids[index] as string))] }) - 1
    const opened = calls.map(({ id = null }, index) => ({ given: id ?? '', id: ids[index] as string }))
    this.#open = before.length > 0 ? [...this.#open, ...opened] : opened
  }

  #addResult (message: JsonObject): void {
    const content = strictContent(message['content'] ?? '', EMPTY)
    const call = this.#open.find(({ given }) => given === (message['tool_call_id'] ?? ''))
    if (call === undefined) {
      this.sent.push({ ...message, content })
      return
    }
    this.#open = this.#open.filter(each => each !== call)
    this.sent.splice(++this.#from, 0, { ...message, tool_call_id: call.id, content })
  }
}

function plainMessage (message: JsonObject): JsonObject {
  const { role, content = null, function_call: older } = message
  if (role !== 'assistant') return { ...message, content: strictContent(content, EMPTY) }
  if (!isJsonObject(older)) return { ...message, content: strictContent(content, NO_ANSWER) }
  const call = { ...older, name: strictName(older['name']), arguments: strictArguments(older['arguments']) }
  return { ...message, ...strictText(content), function_call: call }
}

function strictText (content: Json): JsonObject {
  return { content: isEmpty(content) ? null : strictContent(content, NO_ANSWER) }
}

function joinedContent (last: JsonObject, next: JsonObject): Json {
  const texts = [last, next].map(({ content = null }) => content).filter(content => !isEmpty(content))
  if (texts.length < 2) return texts[0] ?? null
  return texts.every(each => typeof each === 'string') ? texts.join('\n\n') : texts.flatMap(partsOf)
}

function partsOf (content: Json): readonly Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
}

function isEmpty (content: Json): boolean {
  return content === null || (typeof content === 'string' && content.trim() === '') || (Array.isArray(content) && content.length === 0)
}

function strictContent (content: Json, otherwise: string): Json {
  if (isEmpty(content)) return otherwise
  if (typeof content === 'string') return content.toWellFormed()
  if (!Array.isArray(content)) return content
  return content.map((part: Json) => isJsonObject(part) && typeof part['text'] === 'string' ? { ...part, text: part['text'].toWellFormed() } : part)
}

function strictCall ({ function: called, ...call }: JsonObject, id: string): JsonObject {
  const given = objectOf(called)
  return { ...call, id, type: 'function', function: { ...given, name: strictName(given['name']), arguments: strictArguments(given['arguments']) } }
}

function strictName (name: Json | undefined): string {
  return typeof name === 'string' && name !== '' ? name.replace(/[^\w-]/g, '_').slice(0, MAX_NAME) : 'unknown'
}

function strictArguments (given: Json | undefined): string {
  const { arguments: text = '' } = callsOf({ tool_calls: [{ id: 'a', function: { name: 'a', arguments: given ?? '' } }] })[0] ?? {}
  return text.trim() === '' || typeof parseArguments(text) === 'string' ? '{}' : text
}
