import { isJsonObject, type Json, type JsonObject, listOf, stringifyJson } from '../base/json.ts'
import { callsOf, contentOf, NO_ANSWER } from '../llm/history.ts'
import type { AgentHistory } from '../registry/kinds/agent-setting.ts'
import { clip, cutMiddle } from './clip.ts'

/** Results at the end of a dialogue that are sent uncut. */
const WHOLE_RESULTS = 8

/** Code points that older results are cut to. */
const OLD_RESULT = 400

/** UTF-16 units; a longer transcript loses its middle. */
const MAX_TRANSCRIPT = 200_000

/** Code points: each request to the model carries the summary. */
export const MAX_SUMMARY = 8000

/** A rough estimate, per token. */
const CHARACTERS = 4

export interface Summary {
  readonly text: string
  /** How many messages it replaces, from the first on. */
  readonly upTo: number
}

/** Saves tokens: a model reads all results again with every request. */
export function withShortResults (messages: readonly JsonObject[]): readonly JsonObject[] {
  const results = messages.flatMap((message, index) => isResult(message) ? [index] : [])
  const old = new Set(results.slice(0, -WHOLE_RESULTS))
  return messages.map((message, index) => old.has(index) ? { ...message, content: clip(contentOf(message), OLD_RESULT) } : message)
}

export function tokensOf (messages: readonly JsonObject[]): number {
  return Math.ceil(messages.reduce((sum, message) => sum + stringifyJson(message).length, 0) / CHARACTERS)
}

/** `undefined` when there is nothing new. @param keep last turns that stay as they are */
export function endOfSummary (messages: readonly JsonObject[], summary: Summary | undefined, keep: number): number | undefined {
  const end = startOfTurns(messages, keep)
  return end > (summary?.upTo ?? 0) && end < messages.length ? end : undefined
}

export function transcriptOf (messages: readonly JsonObject[], summary: Summary | undefined, end: number): string {
  const lines = withShortResults(messages.slice(summary?.upTo ?? 0, end)).map(lineOf)
  return cutMiddle([...summary === undefined ? [] : [summary.text], ...lines].join('\n'), MAX_TRANSCRIPT)
}

function lineOf (message: JsonObject): string {
  const calls = message['role'] === 'assistant' ? callsOf(message).map(({ name, arguments: given }) => `${name} ${given}`) : []
  return [`${String(message['role'])}: ${contentOf(message)}`, ...calls].join('\n')
}

function isResult ({ role }: JsonObject): boolean {
  return role === 'tool' || role === 'function'
}

/**
 * The part of a dialogue that a request to the model carries, as the agent's definition says. Without `messages`, these are the last turns:
 * roles alternate, and each call has its results. With `messages`, they are the last messages as they are.
 * @param all in the form of the chat API, where `kind: 'status'` marks a line of the agent about its own work
 */
export function sentHistory (all: readonly JsonObject[], { turns, messages: most, status }: AgentHistory): readonly JsonObject[] {
  const said = all.flatMap(({ kind, ...message }) => kind === 'status' && !status ? [] : [message])
  return most === undefined ? alternating(said.slice(startOfTurns(said, turns))) : lastMessages(said, most)
}

/** A turn begins with one or more messages of the user. @param turns the current one included */
function startOfTurns (messages: readonly JsonObject[], turns: number): number {
  const starts = messages.flatMap(({ role }, index) => role === 'user' && messages[index - 1]?.['role'] !== 'user' ? [index] : [])
  return starts.at(-turns) ?? starts[0] ?? messages.length
}

/** Every chat API takes: user and model alternate, and the user begins. */
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

/** APIs refuse calls without a result and results without a call. */
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

/** In old logs the id of a call can be missing or stand twice. */
function areAnswered ({ tool_calls: calls, function_call: older }: JsonObject, results: readonly JsonObject[]): boolean {
  const asked = listOf(calls).filter(isJsonObject)
  if (asked.length > 0) return asked.length === results.length && asked.every(({ id = null }, index) => isOf(results[index], 'tool', 'tool_call_id', id))
  return results.length === 1 && isJsonObject(older) && isOf(results[0], 'function', 'name', older['name'] ?? null)
}

function isOf (result: JsonObject | undefined, role: string, member: string, value: Json): boolean {
  return result?.['role'] === role && (result[member] ?? null) === value
}

/** `undefined` when they cannot be joined. */
function join (last: JsonObject, next: JsonObject): JsonObject | undefined {
  if (last['role'] !== next['role'] || isResult(next)) return undefined
  return { ...next, content: joinedTexts(last['content'] ?? null, next['content'] ?? null) }
}

function joinedTexts (...contents: readonly Json[]): Json {
  const texts = contents.filter(content => typeof content === 'string' && content !== '')
  return texts.length === 0 ? contents.at(-1) ?? null : texts.join('\n\n')
}

/** All from the user's last message on: a model that does not see the question answers another. No result without its call: APIs refuse that. */
function lastMessages (messages: readonly JsonObject[], most: number): readonly JsonObject[] {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const start = Math.max(0, messages.length - most)
  if (question >= 0 && question <= start) return messages.slice(question)
  const first = messages.findIndex((message, index) => index >= start && !isResult(message))
  return first < 0 ? [] : messages.slice(first)
}
