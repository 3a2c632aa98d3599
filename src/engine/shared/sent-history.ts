import { type Json, type JsonObject } from '../../base/json.ts'
import { type AgentHistory } from '../../registry/kinds/agent/agent-setting.ts'
import { type AskedCall, callsOf, contentOf } from './choice.ts'

/** The content of a message of the model where the model gave no answer. */
export const NO_ANSWER = '(no answer)'

/**
 * The part of a dialogue that a model is sent. By turns: from the user's n-th last message on, so that roles alternate, and with each call
 * its results. By messages: the last ones as they are.
 * @param all in the form of the model's API, where `kind: 'status'` marks a line of the agent about its own work
 */
export function sentHistory (all: readonly JsonObject[], { turns, messages: most, status }: AgentHistory): readonly JsonObject[] {
  const said = all.flatMap(({ kind, ...message }) => kind === 'status' && !status ? [] : [message])
  return most === undefined ? alternating(said.slice(startOfTurns(said, turns))) : lastMessages(said, most)
}

/** The index at which the last turns begin. A turn begins with one or more messages of the user. @param turns how many; the current one counts */
export function startOfTurns (messages: readonly JsonObject[], turns: number): number {
  const starts = messages.flatMap(({ role }, index) => role === 'user' && messages[index - 1]?.['role'] !== 'user' ? [index] : [])
  return starts.at(-turns) ?? starts[0] ?? messages.length
}

/** The messages of a dialogue in an order that every API takes: user and model alternate, the user begins. */
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

/** The messages of a dialogue, except calls that have no result and results that have no call. */
function * withWholeCalls (messages: readonly JsonObject[]): Generator<JsonObject> {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as JsonObject
    if (isResult(message)) continue
    const calls = message['role'] === 'assistant' ? callsOf(message) : []
    if (calls.length === 0) {
      yield message
      continue
    }
    const results = resultsFrom(messages, index + 1)
    if (areAnswered(calls, results)) yield * [message, ...results]
    else if (contentOf(message) !== '') yield { role: 'assistant', content: contentOf(message) }
  }
}

function resultsFrom (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  const end = messages.findIndex((message, index) => index >= start && !isResult(message))
  return messages.slice(start, end < 0 ? messages.length : end)
}

function areAnswered (calls: readonly AskedCall[], results: readonly JsonObject[]): boolean {
  const isOf = ({ id, name, isOlder }: AskedCall, { role, tool_call_id: of, name: called }: JsonObject): boolean => {
    return isOlder === true ? role === 'function' && called === name : role === 'tool' && of === id
  }
  return calls.length === results.length && calls.every((call, index) => isOf(call, results[index] as JsonObject))
}

/** Two neighbouring messages of one role, joined into one; `undefined` for messages that cannot be joined. */
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
 * The end of a dialogue: the last messages, all from the user's last one on (a model that has lost the question answers another),
 * and no result of a tool without its call, which APIs refuse.
 */
function lastMessages (messages: readonly JsonObject[], most: number): readonly JsonObject[] {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const start = Math.max(0, messages.length - most)
  if (question >= 0 && question <= start) return messages.slice(question)
  const first = messages.findIndex((message, index) => index >= start && !isResult(message))
  return first < 0 ? [] : messages.slice(first)
}
