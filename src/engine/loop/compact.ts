import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { callsOf, contentOf } from '../shared/choice.ts'
import { clip } from '../shared/clip.ts'
import { cutMiddle } from '../shared/cut-middle.ts'
import { startOfTurns } from '../shared/sent-history.ts'

/** The number of results, from the end of a dialogue, that are sent whole. */
const WHOLE_RESULTS = 8

/** The length to which older results are cut before they are sent, in code points. */
const OLD_RESULT = 400

/** The length of the text that is summarised, in UTF-16 units; a longer one loses its middle. */
const MAX_TRANSCRIPT = 200_000

/** A summary is cut at this length, in code points: it is sent with every question. */
export const MAX_SUMMARY = 8000

/** The number of characters in a token, roughly. */
const CHARACTERS = 4

/** A summary of the first messages of a dialogue, which is sent in their place. */
export interface Summary {
  readonly text: string
  /** How many messages the summary replaces, from the first on. */
  readonly upTo: number
}

/** A dialogue with its older results cut to their beginnings, since a model reads all of them again at every question. */
export function withShortResults (messages: readonly JsonObject[]): readonly JsonObject[] {
  const results = messages.flatMap((message, index) => isResult(message) ? [index] : [])
  const old = new Set(results.slice(0, -WHOLE_RESULTS))
  return messages.map((message, index) => old.has(index) ? { ...message, content: clip(contentOf(message), OLD_RESULT) } : message)
}

/** Roughly how many tokens messages are. */
export function tokensOf (messages: readonly JsonObject[]): number {
  return Math.ceil(messages.reduce((sum, message) => sum + stringifyJson(message).length, 0) / CHARACTERS)
}

/** The index before which messages may be summarised; `undefined` where there are no new ones. @param keep how many of the last turns stay as they are */
export function endOfSummary (messages: readonly JsonObject[], summary: Summary | undefined, keep: number): number | undefined {
  const end = startOfTurns(messages, keep)
  return end > (summary?.upTo ?? 0) && end < messages.length ? end : undefined
}

/** The text that a model summarises: the summary so far, and the messages from there to `end`. */
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
