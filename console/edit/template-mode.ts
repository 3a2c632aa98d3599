import { StreamLanguage, type StringStream } from '@codemirror/language'
import { type Syntax } from '../prompts/entry.ts'

/** The keywords in the tags of each template language. All other words in a tag are coloured as names. */
const WORDS: Readonly<Record<Syntax, ReadonlySet<string>>> = {
  go: new Set([
    'if',
    'else',
    'end',
    'range',
    'with',
    'define',
    'template',
    'block',
    'break',
    'continue',
    'and',
    'or',
    'not',
    'eq',
    'ne',
    'lt',
    'le',
    'gt',
    'ge',
    'len',
    'index',
    'print',
    'printf',
    'println',
    'nil',
    'true',
    'false',
    'default',
    'join',
    'toJson'
  ]),
  handlebars: new Set(['if', 'else', 'each', 'with', 'unless', 'lookup', 'as', 'this', 'true', 'false', 'null', 'undefined', 'default', 'join', 'inline'])
}

interface State { inTag: boolean, inComment: boolean, closes: string }

function readTag (stream: StringStream, state: State, words: ReadonlySet<string>): string | null {
  if (stream.match(/^-?\}\}\}?/)) {
    state.inTag = false
    return 'meta'
  }
  if (stream.eatSpace()) return null
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/) || stream.match(/^`[^`]*`?/)) return 'string'
  if (stream.match(/^-?\d+(?:\.\d+)?/)) return 'number'
  if (stream.match(/^[#/>^&]\s*[\w.]*/)) return 'keyword'
  if (stream.match(/^[$@]?\.?[\p{L}_][\p{L}\p{N}_.-]*/u)) return words.has(stream.current()) ? 'keyword' : 'variableName'
  stream.next()
  return 'operator'
}

function readComment (stream: StringStream, state: State): string {
  const at = stream.string.indexOf(state.closes, stream.pos)
  if (at < 0) stream.skipToEnd()
  else {
    stream.pos = at + state.closes.length
    state.inComment = false
  }
  return 'comment'
}

function readText (stream: StringStream, state: State): string | null {
  const comment = stream.match(/^\{\{-?\s*\/\*|^\{\{~?!(?:--)?/) as RegExpMatchArray | null
  if (comment !== null) {
    state.inComment = true
    state.closes = comment[0].endsWith('*') ? '*/' : comment[0].endsWith('--') ? '--}}' : '}}'
    return 'comment'
  }
  if (stream.match(/^\{\{\{?[-~]?/)) {
    state.inTag = true
    return 'meta'
  }
  const at = stream.string.indexOf('{{', stream.pos + 1)
  if (at < 0) stream.skipToEnd()
  else stream.pos = at
  return null
}

/** The colours of the tags of a template. This code does not look for mistakes: the service finds them. */
function modeOf (syntax: Syntax) {
  return StreamLanguage.define<State>({
    startState: () => ({ inTag: false, inComment: false, closes: '' }),
    copyState: state => ({ ...state }),
    token: (stream, state) => state.inComment ? readComment(stream, state) : state.inTag ? readTag(stream, state, WORDS[syntax]) : readText(stream, state)
  })
}

export const TEMPLATE_MODES = { go: modeOf('go'), handlebars: modeOf('handlebars') } as const
