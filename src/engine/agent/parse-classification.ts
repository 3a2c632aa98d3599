import { isJsonObject, type Json, JsonError, parseJson } from '../../base/json.ts'

/** The length up to which an answer of one word is read, in UTF-16 units. */
const MAX_ANSWER = 100

/** The length up to which a longer answer is read, in UTF-16 units. The model's thoughts before the answer do not count. */
const MAX_LENIENT = 4000

/**
 * Whether a model's answer to the question of relevance is yes or no: exactly one of these words, whatever its case and
 * the punctuation around it. A word somewhere in a sentence does not count: "not relevant, yes?" is no yes.
 * @returns `undefined` for any other answer
 */
export function parseClassification (answer: string): boolean | undefined {
  const [, word] = /^[\s\p{P}\p{S}]*(да|нет|yes|no)[\s\p{P}\p{S}]*$/iu.exec(answer.slice(0, MAX_ANSWER)) ?? []
  return meaningOf(word)
}

/**
 * Whether an answer in a loose form is yes or no: with thoughts, in a fence, as JSON with one field, as a sentence that begins with the word. This is
 * a filter of questions and no rule of security: "Yes, it is about …" is yes.
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

/** An answer without the thoughts of the model, which stand before `</think>`. Thoughts without an end have no answer behind them. */
function withoutThoughts (answer: string): string {
  const end = answer.lastIndexOf('</think>')
  if (end >= 0) return answer.slice(end + '</think>'.length)
  const start = answer.indexOf('<think>')
  return start < 0 ? answer : answer.slice(0, start)
}

/** A text without the marks of a block of code around it. */
function withoutFence (text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('```')) return trimmed
  const body = trimmed.slice(trimmed.indexOf('\n') + 1)
  const end = body.lastIndexOf('```')
  return (end < 0 ? body : body.slice(0, end)).trim()
}

/** The meaning of an answer in JSON: a boolean, or an object with one boolean or one yes or no. */
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
