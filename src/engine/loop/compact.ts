import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { callsOf, contentOf } from '../shared/choice.ts'
import { clip } from '../shared/clip.ts'
import { cutMiddle } from '../shared/cut-middle.ts'
import { startOfTurns } from '../shared/sent-history.ts'

/** So many results at the end of a dialogue are sent whole. */
const WHOLE_RESULTS = 8

/** Of an older result its beginning is sent, in code points. */
const OLD_RESULT = 400

/** What a summary is made of, in UTF-16 units; the middle of more is left out. */
const MAX_TRANSCRIPT = 200_000

/** A summary is cut at this length, in code points: it is sent with every question. */
export const MAX_SUMMARY = 8000

/** A token is so many characters, roughly. */
const CHARACTERS = 4

/** What a summary stands for. */
export interface Summary {
  readonly text: string
  /** How many messages, from the first on. */
  readonly upTo: number
}

/** The same dialogue with the beginnings of its older results, which a model reads again at every question. */
export function withShortResults (messages: readonly JsonObject[]): readonly JsonObject[] {
  const results = messages.flatMap((message, index) => isResult(message) ? [index] : [])
  const old = new Set(results.slice(0, -WHOLE_RESULTS))
  return messages.map((message, index) => old.has(index) ? { ...message, content: clip(contentOf(message), OLD_RESULT) } : message)
}

/** Roughly how many tokens messages are. */
export function tokensOf (messages: readonly JsonObject[]): number {
  return Math.ceil(messages.reduce((sum, message) => sum + stringifyJson(message).length, 0) / CHARACTERS)
}

/** Where a summary may end, so that the last turns stay; `undefined` where it would add nothing. @param keep turns */
export function endOfSummary (messages: readonly JsonObject[], summary: Summary | undefined, keep: number): number | undefined {
  const end = startOfTurns(messages, keep)
  return end > (summary?.upTo ?? 0) && end < messages.length ? end : undefined
}

/** What was said up to a message, as a text to be summarised. */
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
