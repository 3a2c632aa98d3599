import { type Json, JsonError, parseJson } from '../base/json.ts'

type JsonIn = { readonly value: Json, readonly text: string } | { readonly reason: string }

/** A bound, since each bracket that is never closed costs a walk to the end of the text. */
const MAX_TRIES = 20

/** Models fence JSON and write around it. The whole text is tried first (it may contain a fence), then fences, then brackets. */
export function jsonIn (answer: string, isEarlier?: true): JsonIn {
  const whole = answer.trim()
  const first = parsed(whole)
  if ('value' in first || !/[[{]/.test(whole)) return first
  let reason = /^[[{]/.test(whole) ? first.reason : undefined
  for (const text of isEarlier === true ? asBefore(whole) : [...fencedIn(whole), ...bracketed(whole)]) {
    const found = parsed(text)
    if ('value' in found) return found
    reason ??= found.reason
  }
  return { reason: reason ?? first.reason }
}

/** As earlier versions did, for their logs: from the first fence or bracket to the last. */
function asBefore (text: string): string[] {
  const fence = /```(?:json)?[ \t]*\r?\n/i.exec(text)
  const start = fence === null ? 0 : fence.index + fence[0].length
  const fenced = fence === null ? '' : text.slice(start, Math.max(text.lastIndexOf('```'), start)).trim()
  const cut = text.slice(text.search(/[[{]/), Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1)
  return [fenced, cut].filter(each => /^[[{]/.test(each))
}

function fencedIn (text: string): string[] {
  const blocks: string[] = []
  let lines: string[] | undefined
  for (const line of [...text.split('\n'), '```']) {
    const isFence = line.trimStart().startsWith('```')
    if (isFence && lines !== undefined && lines.length > 0) blocks.push(lines.join('\n'))
    lines = isFence ? lines === undefined ? [] : undefined : lines
    if (!isFence) lines?.push(line)
  }
  return blocks
}

function parsed (text: string): JsonIn {
  try {
    return { value: parseJson(text), text }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { reason: error.message }
  }
}

function bracketed (text: string): string[] {
  const found: string[] = []
  let tries = 0
  for (let start = nextBracket(text, 0); start >= 0 && tries < MAX_TRIES;) {
    const end = endOf(text, start)
    if (end < 0) tries++
    else found.push(text.slice(start, end))
    start = nextBracket(text, end < 0 ? start + 1 : end)
  }
  return found.sort((one, other) => other.length - one.length).slice(0, MAX_TRIES)
}

function nextBracket (text: string, from: number): number {
  for (let at = from; at < text.length; at++) if (text[at] === '{' || text[at] === '[') return at
  return -1
}

/** The index behind the bracket that closes the one at an index; -1 when none does. */
function endOf (text: string, start: number): number {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at++) {
    const code = text[at]
    if (inString) {
      if (code === '\\') at++
      else if (code === '"') inString = false
    } else if (code === '"') inString = true
    else if (code === '{' || code === '[') depth++
    else if ((code === '}' || code === ']') && --depth === 0) return at + 1
  }
  return -1
}
