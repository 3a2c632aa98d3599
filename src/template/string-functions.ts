import type { Value } from './value.ts'
import { chargeText, countArgument, type FunctionContext, listArgument, printed, type TemplateFunction, textArgument } from './template-function.ts'

/** In UTF-16 units. V8 may compare the whole separator at each place; the charge for reading the text covers this much. */
const HEAD = 32

function partsBetween (text: string, separator: string, context: FunctionContext): string[] {
  if (separator.length > HEAD) return partsBetweenLong(text, separator, context)
  let parts = 1
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + separator.length)) parts++
  context.charge(parts)
  return text.split(separator)
}

/** V8 searches only for the beginning of a long separator; comparing the rest is charged. */
function partsBetweenLong (text: string, separator: string, context: FunctionContext): string[] {
  const head = separator.slice(0, HEAD)
  const parts: string[] = []
  let start = 0
  for (let at = text.indexOf(head); at >= 0;) {
    context.charge(1)
    chargeText(separator.length, context)
    const isFound = text.startsWith(separator, at)
    if (isFound) {
      parts.push(text.slice(start, at))
      start = at + separator.length
    }
    at = text.indexOf(head, isFound ? start : at + 1)
  }
  parts.push(text.slice(start))
  return parts
}

const LENGTHENED =
  '\\u00df\\u0149\\u01f0\\u0390\\u03b0\\u0587\\u1e96-\\u1e9a\\u1f50\\u1f52\\u1f54\\u1f56\\u1f80-\\u1faf\\u1fb2-\\u1fb4\\u1fb6\\u1fb7\\u1fbc\\u1fc2-\\u1fc4\\u1fc6\\u1fc7\\u1fcc\\u1fd2\\u1fd3\\u1fd6\\u1fd7\\u1fe2-\\u1fe4\\u1fe6\\u1fe7\\u1ff2-\\u1ff4\\u1ff6\\u1ff7\\u1ffc\\ufb00-\\ufb06\\ufb13-\\ufb17'
const HAS_LENGTHENED = new RegExp(`[${LENGTHENED}]`)
const OTHERS = new RegExp(`[^${LENGTHENED}]+`, 'g')

/** As Go's `strings.ToUpper`: a letter whose upper case would be several characters, such as `ß`, stays. */
function toUpperLetters (text: string): string {
  if (!HAS_LENGTHENED.test(text)) return text.toUpperCase()
  return text
    .replace(OTHERS, part => part.toUpperCase())
    // Each of these has a single upper-case letter in Unicode, at a fixed distance.
    .replace(/[\u1f80-\u1f87\u1f90-\u1f97\u1fa0-\u1fa7]/g, letter => later(letter, 8))
    .replace(/[\u1fb3\u1fc3\u1ff3]/g, letter => later(letter, 9))
}

/** As Go's `strings.ToLower`: `İ` loses its dot, and `Σ` becomes `σ` even at the end of a word. */
function toLowerLetters (text: string): string {
  return text.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase()
}

function later (letter: string, distance: number): string {
  return String.fromCharCode(letter.charCodeAt(0) + distance)
}

const unary = { least: 1, most: 1 }
const binary = { least: 2, most: 2 }

const trim: TemplateFunction = {
  name: 'trim',
  parameters: 'text',
  summary: 'The text without white space at both ends.',
  example: {
    go: '[{{ .variables.name | trim }}]',
    handlebars: '[{{trim variables.name}}]',
    variables: { name: '  main.go\n' },
    output: '[main.go]'
  },
  arity: unary,
  apply: ([text], context) => textArgument(text, 'text', context).trim()
}

const upper: TemplateFunction = {
  name: 'upper',
  parameters: 'text',
  summary: 'The text in upper case, letter by letter: `ß`, whose upper case would be two, stays.',
  example: {
    go: '{{ .variables.level | upper }}',
    handlebars: '{{upper variables.level}}',
    variables: { level: 'warning' },
    output: 'WARNING'
  },
  arity: unary,
  apply: ([text], context) => toUpperLetters(textArgument(text, 'text', context))
}

const lower: TemplateFunction = {
  name: 'lower',
  parameters: 'text',
  summary: 'The text in lower case.',
  example: {
    go: '{{ .variables.language | lower }}',
    handlebars: '{{lower variables.language}}',
    variables: { language: 'Go' },
    output: 'go'
  },
  arity: unary,
  apply: ([text], context) => toLowerLetters(textArgument(text, 'text', context))
}

const truncate: TemplateFunction = {
  name: 'truncate',
  parameters: 'length text',
  summary: 'The first `length` characters of the text, none cut in two.',
  example: {
    go: '{{ .variables.log | truncate 5 }}',
    handlebars: '{{truncate 5 variables.log}}',
    variables: { log: 'panic: nil map' },
    output: 'panic'
  },
  arity: binary,
  apply: ([length, text], context) => cut(textArgument(text, 'text', context), countArgument(length, 'length'))
}

const replace: TemplateFunction = {
  name: 'replace',
  parameters: 'old new text',
  summary: 'The text with every `old` replaced by `new`; both are plain texts, and an empty `old` is never found.',
  example: {
    go: '{{ .variables.path | replace "-" "_" }}',
    handlebars: '{{replace "-" "_" variables.path}}',
    variables: { path: 'a-b-c' },
    output: 'a_b_c'
  },
  arity: { least: 3, most: 3 },
  apply: ([old, replacement, text], context) => replaceAll(
    textArgument(text, 'text', context), textArgument(old, 'old', context), textArgument(replacement, 'new', context), context)
}

const split: TemplateFunction = {
  name: 'split',
  parameters: 'separator text',
  summary: 'The parts between separators; of an empty text none, with an empty separator the characters.',
  example: {
    go: '{{ range .variables.files | split "," }}<{{ . }}>{{ end }}',
    handlebars: '{{#each (split "," variables.files)}}<{{this}}>{{/each}}',
    variables: { files: 'a.go,b.go' },
    output: '<a.go><b.go>'
  },
  arity: binary,
  apply: ([separator, text], context) => splitText(textArgument(text, 'text', context), textArgument(separator, 'separator', context), context)
}

const join: TemplateFunction = {
  name: 'join',
  parameters: 'separator list',
  summary: 'The elements as one text, objects and lists as JSON.',
  example: {
    go: '{{ .variables.tags | join ", " }}',
    handlebars: '{{join ", " variables.tags}}',
    variables: { tags: ['go', 'redis', 3] },
    output: 'go, redis, 3'
  },
  arity: binary,
  apply: ([separator, list], context) => joinList(listArgument(list, 'list'), textArgument(separator, 'separator', context), context)
}

const indent: TemplateFunction = {
  name: 'indent',
  parameters: 'width text',
  summary: '`width` spaces (at most 80) before every line that is not empty.',
  example: {
    go: '{{ .variables.code | indent 2 }}',
    handlebars: '{{indent 2 variables.code}}',
    variables: { code: 'a\nb' },
    output: '  a\n  b'
  },
  arity: binary,
  apply: ([width, text], context) => indentLines(textArgument(text, 'text', context), countArgument(width, 'width', 80), context)
}

export const STRING_FUNCTIONS: readonly TemplateFunction[] = [join, split, replace, truncate, indent, trim, upper, lower]

/** The line ends of JavaScript's `^` with the flag `m`, which `indentLines` uses. */
const LINE_END = /\r\n?|[\n\u2028\u2029]/g

function cut (text: string, length: number): string {
  if (text.length <= length) return text
  let end = 0
  for (let count = 0; count < length && end < text.length; count++) {
    end += (text.codePointAt(end) as number) > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}

function replaceAll (text: string, old: string, replacement: string, context: FunctionContext): string {
  if (old === '') return text
  const parts = partsBetween(text, old, context)
  if (parts.length === 1) return text
  chargeText(text.length + (parts.length - 1) * (replacement.length - old.length), context)
  return parts.join(replacement)
}

function splitText (text: string, separator: string, context: FunctionContext): readonly string[] {
  if (text === '') return []
  if (separator !== '') return partsBetween(text, separator, context)
  context.charge(text.length)
  return [...text]
}

function joinList (list: readonly Value[], separator: string, context: FunctionContext): string {
  context.charge(list.length)
  chargeText(separator.length * list.length, context)
  let joined = ''
  for (let index = 0; index < list.length; index++) {
    const element = printed(list[index] as Value, context)
    chargeText(element.length, context)
    joined += index === 0 ? element : separator + element
  }
  return joined
}

function indentLines (text: string, width: number, context: FunctionContext): string {
  let lines = 1
  while (LINE_END.test(text)) lines++
  context.charge(lines)
  chargeText(text.length + lines * width, context)
  const spaces = ' '.repeat(width)
  return text.replace(/^(?=.)/gm, spaces)
}
