import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Answer, AnswerReader, type AskedCall, distinctIds, finishOf, isCut } from './answer.ts'
import { parseArguments } from './calls.ts'

// How answers are kept in logs and conversations, and how a conversation goes back to a model: in a form that the strictest API takes.

/** The content of a message that stands for a missing answer of the model, since APIs want one. */
export const NO_ANSWER = '(no answer)'

/** The content of an empty message of anybody else. */
const EMPTY = '(empty)'

/** The longest name of a function that APIs take, in characters: https://platform.openai.com/docs/api-reference/chat/create */
const MAX_NAME = 64

/**
 * The mark of a reply that this reader has read before it was logged. Replies without it were logged by earlier versions, which told no cut answer
 * from a whole one: a log has to be read as it was written, since what followed then is in the log as well.
 */
const READ = 1

/** A whole reply in the form in which a session keeps it: with what was read from it. @param reply further members of the reply, such as its model */
export function replyOf (answers: readonly Answer[], { choices: _choices, ...reply }: JsonObject): JsonObject {
  return {
    ...reply,
    read: READ,
    choices: answers.map((answer, index) => ({ index, message: messageOf(answer), finish_reason: answer.finishReason ?? null }))
  }
}

/** Reads a whole reply of a model's API. @param request that was answered */
export function readReply (reply: JsonObject, request: JsonObject): Answer {
  const reader = new AnswerReader(request)
  reader.add(reply)
  return reader.answer()
}

/** What the reply in a session's log says; `undefined` when it has no message. */
export function loggedAnswer (reply: Json): Answer | undefined {
  if (!isJsonObject(reply)) return undefined
  const { choices, read } = reply
  const choice = Array.isArray(choices) ? choices[0] as Json | undefined : undefined
  const message = isJsonObject(choice) ? choice['message'] : undefined
  if (!isJsonObject(choice) || !isJsonObject(message)) return undefined
  const { refusal } = message
  const finishReason = read === READ ? finishOf(choice) : undefined
  return {
    text: contentOf(message),
    thoughts: '',
    calls: callsOf(message),
    refusal: read === READ && typeof refusal === 'string' ? refusal : '',
    finishReason,
    cut: isCut(finishReason),
    reasoning: Object.fromEntries(Object.entries(message).filter(([name]) => name.startsWith('reasoning'))),
    usage: undefined,
    ...(read === READ ? {} : { isEarlier: true })
  }
}

/** An answer as a message: with the texts, and the calls in the field that the model used. */
export function messageOf ({ text, refusal, calls, thoughts, reasoning }: Answer): JsonObject {
  const told = thoughts === '' || Object.keys(reasoning).length > 0 ? {} : { thoughts }
  return { role: 'assistant', content: text === '' && calls.length > 0 ? null : text, ...(refusal === '' ? {} : { refusal }), ...reasoning, ...told, ...callFields(calls) }
}

/** A model's answer with function calls, as later requests repeat it. Some APIs want the thoughts back that led to the calls. */
export function askedMessage ({ text, calls, reasoning }: Answer): JsonObject {
  return { role: 'assistant', content: text === '' ? null : text, ...reasoning, ...callFields(calls) }
}

function callFields (calls: readonly AskedCall[]): JsonObject {
  const [first] = calls
  if (first === undefined) return {}
  if (first.isOlder === true) return { function_call: { name: first.name, arguments: first.arguments } }
  return { tool_calls: calls.map(({ id, name, arguments: text, extra }) => ({ ...extra, id, type: 'function', function: { name, arguments: text } })) }
}

/** The message that gives a model the result of its function call. */
export function resultMessage ({ id, name, isOlder }: Pick<AskedCall, 'name' | 'isOlder'> & { readonly id: Json }, content: string): JsonObject {
  return isOlder === true ? { role: 'function', name, content } : { role: 'tool', tool_call_id: id, content }
}

/** The text of a message of a conversation; empty when the message has none. */
export function contentOf ({ content }: JsonObject): string {
  return typeof content === 'string' ? content : ''
}

/** The function calls in a message of a conversation, in order. */
export function callsOf (message: JsonObject): readonly AskedCall[] {
  const { tool_calls: calls, function_call: older } = message
  if (!Array.isArray(calls) && !isJsonObject(older)) return []
  return readReply({ choices: [{ message: { tool_calls: calls ?? null, function_call: older ?? null } }] }, {}).calls
}

/** An answer as plain text, with its function calls as words. A model's API accepts such a text although the calls have no results. */
export function wordsOf ({ text, calls }: Pick<Answer, 'text' | 'calls'>): string {
  return [text, ...calls.map(({ name, arguments: given }) => `${name} ${given}`)].join('\n')
}

/**
 * A conversation in the form that strict APIs take, whatever models and callers have written into it: arguments are JSON objects, every call has its
 * type, a name of allowed characters and an id of its own, results stand behind their calls, no text is empty or has half a character. Members that
 * are not known here stay.
 */
export function strictMessages (messages: readonly JsonObject[]): JsonObject[] {
  const sent: JsonObject[] = []
  const taken = new Set<string>()
  /** The calls of the last message with calls that have no result yet: their ids as they came, and as they are sent. */
  let open: Array<{ readonly given: Json, readonly id: string }> = []
  let from = -1
  for (const message of messages) {
    const { role } = message
    if (role === 'tool') {
      const at = open.findIndex(({ given }) => given === (message['tool_call_id'] ?? ''))
      const result = { ...message, ...(at < 0 ? {} : { tool_call_id: open[at]?.id ?? '' }), content: strictContent(message['content'] ?? '', EMPTY) }
      open = open.filter((_, index) => index !== at)
      if (at < 0) sent.push(result)
      else sent.splice(++from, 0, result)
      continue
    }
    const calls = role === 'assistant' && Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isJsonObject) as readonly JsonObject[] : []
    const last = sent.at(-1)
    // A text beside calls may come as a message of its own, before them or behind them.
    const isBeside = role === 'assistant' && last?.['role'] === 'assistant' && (calls.length > 0 || (open.length > 0 && from === sent.length - 1))
    const joined = isBeside ? joinTexts(last, message) : message
    if (calls.length === 0 && !isBeside) {
      sent.push(plainMessage(message))
      continue
    }
    const ids = distinctIds(calls.map(({ id }) => typeof id === 'string' ? id.toWellFormed() : ''), taken)
    const strict = calls.map((call, index) => strictCall(call, ids[index] as string))
    const before = isBeside && Array.isArray(last['tool_calls']) ? last['tool_calls'] as readonly Json[] : []
    if (isBeside) sent.pop()
    from = sent.push({ ...joined, content: isEmpty(joined['content'] ?? null) ? null : strictContent(joined['content'] ?? null, NO_ANSWER), tool_calls: [...before, ...strict] }) - 1
    open = [...before.length > 0 ? open : [], ...calls.map(({ id = null }, index) => ({ given: id ?? '', id: ids[index] as string }))]
  }
  return sent
}

function plainMessage (message: JsonObject): JsonObject {
  const { role, content = null, function_call: older } = message
  if (role === 'assistant' && isJsonObject(older)) {
    const { name, arguments: given } = older
    return { ...message, content: isEmpty(content) ? null : strictContent(content, NO_ANSWER), function_call: { ...older, name: strictName(name), arguments: strictArguments(given) } }
  }
  return { ...message, content: strictContent(content, role === 'assistant' ? NO_ANSWER : EMPTY) }
}

function joinTexts (last: JsonObject, next: JsonObject): JsonObject {
  const texts = [last, next].map(({ content = null }) => content).filter(content => !isEmpty(content))
  const content = texts.length < 2 ? texts[0] ?? null : texts.every(each => typeof each === 'string') ? texts.join('\n\n') : texts.flatMap(partsOf)
  return { ...last, ...next, content }
}

function partsOf (content: Json): readonly Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content as readonly Json[] : []
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
  const given = isJsonObject(called) ? called : {}
  return { ...call, id, type: 'function', function: { ...given, name: strictName(given['name']), arguments: strictArguments(given['arguments']) } }
}

/** The name of a function in the characters that APIs take. */
function strictName (name: Json | undefined): string {
  return typeof name === 'string' && name !== '' ? name.replace(/[^\w-]/g, '_').slice(0, MAX_NAME) : 'unknown'
}

/** Arguments as the JSON text of an object; an empty object in place of what is none. */
function strictArguments (given: Json | undefined): string {
  const { arguments: text = '' } = callsOf({ tool_calls: [{ id: 'a', function: { name: 'a', arguments: given ?? '' } }] })[0] ?? {}
  return text.trim() === '' || typeof parseArguments(text) === 'string' ? '{}' : text
}
