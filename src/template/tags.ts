import type { TextPlace } from '../base/json.ts'

type TagRules = 'go' | 'handlebars' | 'either'

export interface Tag {
  /** In UTF-16 units. */
  readonly start: number
  /** Literals and comments are spaces of the same length, so that offsets stay right. */
  readonly inner: string
  /** A `\` before the tag makes it plain text in Handlebars. */
  readonly escaped: boolean
}

/** Handlebars also has `[segments]`, which can contain any character. */
const LITERALS: Readonly<Record<TagRules, RegExp>> = {
  go: /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`/y,
  handlebars: /"(?:\\"|[^"])*"|'(?:\\'|[^'])*'|\[(?:\\\]|[^\]])*\]/y,
  either: /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|\[(?:\\\]|[^\]])*\]/y
}

const GO_COMMENT = /\{\{(?:-\s+)?\/\*/y
const HANDLEBARS_COMMENT = /\{\{~?!(--)?/y
const RAW_OPEN = /\{\{\{\{(?!\/)/y
/** Matches the opening and closing tags inside a raw block. The name of an inner raw block does not matter. */
const RAW_BRACES = /\{\{\{\{(?!\/)|\{\{\{\{\/[^\s!"#%-,./;->@[-^`{-~]+\}\}\}\}/g

/** One scan, whether or not the tags make sense. A raw block is one tag; the scan ends at a literal that is not closed. */
export function * scanTags (text: string, rules: TagRules): Generator<Tag> {
  const hasGo = rules !== 'handlebars'
  const hasHandlebars = rules !== 'go'
  let at = 0
  for (;;) {
    const start = text.indexOf('{{', at)
    if (start < 0) return
    const escaped = hasHandlebars && text[start - 1] === '\\' && text[start - 2] !== '\\'
    if (escaped && !hasGo) {
      at = start + 2
      continue
    }
    const comment = commentAt(text, start, hasGo, hasHandlebars)
    if (comment !== undefined) {
      yield { start, inner: comment.opening, escaped }
      at = comment.end
      continue
    }
    const { inner, end } = readTag(text, start, LITERALS[rules])
    yield { start, inner, escaped }
    if (end === undefined) return
    at = hasHandlebars && !escaped && matchesAt(RAW_OPEN, text, start) ? endOfRawBlock(text, end) : end
  }
}

export function positionAt (text: string, offset: number): Position {
  const before = text.slice(0, offset)
  const lines = before.split(/\r\n?|\n/)
  return { line: lines.length, column: (lines.at(-1) as string).length + 1 }
}

function matchesAt (pattern: RegExp, text: string, offset: number): boolean {
  pattern.lastIndex = offset
  return pattern.test(text)
}

function commentAt (text: string, start: number, hasGo: boolean, hasHandlebars: boolean): { opening: string, end: number } | undefined {
  if (hasGo && matchesAt(GO_COMMENT, text, start)) return { opening: '/*', end: after(text, '*/', start) }
  if (!hasHandlebars) return undefined
  HANDLEBARS_COMMENT.lastIndex = start
  const match = HANDLEBARS_COMMENT.exec(text)
  if (match === null) return undefined
  return { opening: '!', end: match[1] === undefined ? after(text, '}}', start) : endOfDashedComment(text, start) }
}

function endOfDashedComment (text: string, start: number): number {
  const close = /--~?\}\}/g
  close.lastIndex = start
  return close.test(text) ? close.lastIndex : text.length
}

function after (text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found + mark.length
}

/** No end when a literal is not closed, where every parser stops. */
function readTag (text: string, start: number, literals: RegExp): { inner: string, end: number | undefined } {
  const close = text.indexOf('}}', start)
  const simple = text.slice(start + 2, close < 0 ? text.length : close)
  if (!LITERAL_START.test(simple)) return { inner: simple, end: Math.min(start + simple.length + 4, text.length) }

  const inner: string[] = []
  for (let at = start + 2; ;) {
    LITERAL_OR_END.lastIndex = at
    const found = LITERAL_OR_END.exec(text)
    inner.push(text.slice(at, found?.index))
    if (found === null) return { inner: inner.join(''), end: text.length }
    if (found[0] === '}}') return { inner: inner.join(''), end: LITERAL_OR_END.lastIndex }
    literals.lastIndex = found.index
    const literal = literals.exec(text)?.[0]
    if (literal === undefined) return { inner: inner.join(''), end: undefined }
    inner.push(found[0], ' '.repeat(literal.length - 2), found[0])
    at = literals.lastIndex
  }
}

const LITERAL_START = /["'`[]/
const LITERAL_OR_END = /["'`[]|\}\}/g

function endOfRawBlock (text: string, from: number): number {
  let depth = 1
  RAW_BRACES.lastIndex = from
  for (let match = RAW_BRACES.exec(text); match !== null; match = RAW_BRACES.exec(text)) {
    depth += match[0].startsWith('{{{{/') ? -1 : 1
    if (depth === 0) return RAW_BRACES.lastIndex
  }
  return text.length
}

export type Position = TextPlace
