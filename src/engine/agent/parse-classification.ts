import { isJsonObject, type Json, JsonError, parseJson } from '../../base/json.ts'
import { withoutThoughts } from '../../llm/answer.ts'

/** The length to which a model's one-word answer is read, in UTF-16 units. */
const MAX_ANSWER = 100

/** The length to which a model's longer answer is read, in UTF-16 units. The model's thoughts before the answer do not count. */
const MAX_LENIENT = 4000

/**
 * Parses a model's answer to the question whether the user's message concerns the agent: true for yes, false for no. The answer has to be
 * exactly one of these words, in English or Russian, whatever its case and the punctuation around it. A word somewhere in a sentence does
 * not count: "not relevant, yes?" is not a yes.
 * @returns `undefined` for any other answer
 */
export function parseClassification (answer: string): boolean | undefined {
  const [, word] = /^[\s\p{P}\p{S}]*(да|нет|yes|no)[\s\p{P}\p{S}]*$/iu.exec(answer.slice(0, MAX_ANSWER)) ?? []
  return meaningOf(word)
}

/**
 * Parses a model's yes or no in a loose form: after thoughts, in a code fence, as JSON with one field, or as a sentence that begins with
 * the word. "Yes, it is about …" counts as yes, which is safe enough: the answer only filters questions, and protects nothing.
 * @returns `undefined` for an answer that says neither
 */
export function parseLeniently (answer: string): boolean | undefined {
  const text = withoutFence(withoutThoughts(answer).slice(0, MAX_LENIENT))
  const known = parsedMeaning(text)
  if (known !== undefined) return known
  const [, word] = /^[\s\p{P}\p{S}]*([\p{L}\p{N}_]+)/u.exec(text) ?? []
  return meaningOf(word)
}

function meaningOf (word: string | undefined): boolean | undefined {
  if (word === undefined) return undefined
  if (/^(?:да|yes)$/iu.test(word)) return true
  return /^(?:нет|no)$/iu.test(word) ? false : undefined
}

/** Removes the marks of a Markdown code block around a text. */
function withoutFence (text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('```')) return trimmed
  const body = trimmed.slice(trimmed.indexOf('\n') + 1)
  const end = body.lastIndexOf('```')
  return (end < 0 ? body : body.slice(0, end)).trim()
}

/** Reads a yes or no from an answer in JSON: a boolean, or an object with exactly one member that is a boolean, yes or no; `undefined` for other texts. */
function parsedMeaning (text: string): boolean | undefined {
  const value = jsonIn(text)
  if (typeof value === 'boolean') return value
  if (!isJsonObject(value)) return undefined
  const meanings = Object.values(value).flatMap(member => {
    const meaning = typeof member === 'boolean' ? member : typeof member === 'string' ? parseClassification(member) : undefined
    return meaning === undefined ? [] : [meaning]
  })
  return meanings.length === 1 ? meanings[0] : undefined
}

function jsonIn (text: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return null
  }
}
