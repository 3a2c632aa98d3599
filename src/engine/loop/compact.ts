import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { callsOf, contentOf } from '../../llm/history.ts'
import { clip } from '../shared/clip.ts'
import { cutMiddle } from '../shared/cut-middle.ts'
import { startOfTurns } from '../shared/sent-history.ts'

/** The number of tool results, from the end of a dialogue, that are sent to the model uncut. */
const WHOLE_RESULTS = 8

/** The length to which older tool results are cut before they are sent to the model, in code points. */
const OLD_RESULT = 400

/** The largest length of a text that a model summarises, in UTF-16 units; a longer one loses its middle. */
const MAX_TRANSCRIPT = 200_000

/** The largest length of a summary, in code points. It is limited because each request to the model carries the summary. */
export const MAX_SUMMARY = 8000

/** The rough number of characters in a token, for estimates. */
const CHARACTERS = 4

/** A summary of the first messages of a dialogue, which is sent in their place. */
export interface Summary {
  readonly text: string
  /** The number of messages that the summary replaces, from the first one on. */
  readonly upTo: number
}

/** The messages of a dialogue with the older tool results cut to their beginnings. That saves tokens: a model reads all results again with every request. */
export function withShortResults (messages: readonly JsonObject[]): readonly JsonObject[] {
  const results = messages.flatMap((message, index) => isResult(message) ? [index] : [])
  const old = new Set(results.slice(0, -WHOLE_RESULTS))
  return messages.map((message, index) => old.has(index) ? { ...message, content: clip(contentOf(message), OLD_RESULT) } : message)
}

/** Estimates the number of tokens in messages. */
export function tokensOf (messages: readonly JsonObject[]): number {
  return Math.ceil(messages.reduce((sum, message) => sum + stringifyJson(message).length, 0) / CHARACTERS)
}

/**
 * The index of the first message that must not be summarised; `undefined` when there is nothing new to summarise.
 * @param keep number of the last turns that stay as they are
 */
export function endOfSummary (messages: readonly JsonObject[], summary: Summary | undefined, keep: number): number | undefined {
  const end = startOfTurns(messages, keep)
  return end > (summary?.upTo ?? 0) && end < messages.length ? end : undefined
}

/** The text that a model is to summarise: the summary so far, and the messages after it up to index `end`. */
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
