import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type AgentHistory } from '../../registry/kinds/agent/agent-setting.ts'
import { callsOf, contentOf, NO_ANSWER } from '../../llm/history.ts'

/**
 * The part of a dialogue that a request to the model carries, as the agent's definition says. Without `messages`, these are the last turns:
 * roles alternate, and each call has its results. With `messages`, they are the last messages as they are.
 * @param all in the form of the chat API, where `kind: 'status'` marks a line of the agent about its own work
 */
export function sentHistory (all: readonly JsonObject[], { turns, messages: most, status }: AgentHistory): readonly JsonObject[] {
  const said = all.flatMap(({ kind, ...message }) => kind === 'status' && !status ? [] : [message])
  return most === undefined ? alternating(said.slice(startOfTurns(said, turns))) : lastMessages(said, most)
}

/**
 * The index of the message at which the last turns of a dialogue begin. A turn begins with one or more messages of the user.
 * @param turns number of turns, the current one included
 */
export function startOfTurns (messages: readonly JsonObject[], turns: number): number {
  const starts = messages.flatMap(({ role }, index) => role === 'user' && messages[index - 1]?.['role'] !== 'user' ? [index] : [])
  return starts.at(-turns) ?? starts[0] ?? messages.length
}

/** Brings the messages of a dialogue into an order that every chat API takes: user and model alternate, and the user begins. */
export function alternating (messages: readonly JsonObject[]): JsonObject[] {
  const sent: JsonObject[] = []
  for (const message of withWholeCalls(messages)) {
    const last = sent.at(-1)
    if (last === undefined && message['role'] !== 'user') continue
    if (last !== undefined && isResult(last) && message['role'] === 'user') sent.push({ role: 'assistant', content: NO_ANSWER })
    const joined = last === undefined ? undefined : join(last, message)
    if (joined === undefined) sent.push(message)
    else sent[sent.length - 1] = joined
  }
  return sent
}

/** Yields the messages of a dialogue, except calls without a result and results without a call, which APIs refuse. */
function * withWholeCalls (messages: readonly JsonObject[]): Generator<JsonObject> {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as JsonObject
    if (isResult(message)) continue
    if (message['role'] !== 'assistant' || callsOf(message).length === 0) {
      yield message
      continue
    }
    const results = resultsFrom(messages, index + 1)
    if (areAnswered(message, results)) yield * [message, ...results]
    else if (contentOf(message) !== '') yield { role: 'assistant', content: contentOf(message) }
  }
}

function resultsFrom (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  const end = messages.findIndex((message, index) => index >= start && !isResult(message))
  return messages.slice(start, end < 0 ? messages.length : end)
}

/** Whether each call has its result. Both have the id that the call has in this message, which in old logs can be missing or stand twice. */
function areAnswered ({ tool_calls: calls, function_call: older }: JsonObject, results: readonly JsonObject[]): boolean {
  const asked = Array.isArray(calls) ? calls.filter(isJsonObject) : []
  if (asked.length > 0) return asked.length === results.length && asked.every(({ id = null }, index) => isOf(results[index], 'tool', 'tool_call_id', id))
  return results.length === 1 && isJsonObject(older) && isOf(results[0], 'function', 'name', older['name'] ?? null)
}

function isOf (result: JsonObject | undefined, role: string, member: string, value: Json): boolean {
  return result?.['role'] === role && (result[member] ?? null) === value
}

/** Joins two neighbouring messages of the same role into one; `undefined` when they cannot be joined. */
function join (last: JsonObject, next: JsonObject): JsonObject | undefined {
  if (last['role'] !== next['role'] || isResult(next)) return undefined
  return { ...next, content: joinedTexts(last['content'] ?? null, next['content'] ?? null) }
}

function joinedTexts (...contents: readonly Json[]): Json {
  const texts = contents.filter(content => typeof content === 'string' && content !== '')
  return texts.length === 0 ? contents.at(-1) ?? null : texts.join('\n\n')
}

function isResult ({ role }: JsonObject): boolean {
  return role === 'tool' || role === 'function'
}

/**
 * The last messages of a dialogue. They include all from the user's last message on, since a model that does not see the question answers
 * another one. They do not begin with a tool's result without its call, which APIs refuse.
 */
function lastMessages (messages: readonly JsonObject[], most: number): readonly JsonObject[] {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const start = Math.max(0, messages.length - most)
  if (question >= 0 && question <= start) return messages.slice(question)
  const first = messages.findIndex((message, index) => index >= start && !isResult(message))
  return first < 0 ? [] : messages.slice(first)
}
