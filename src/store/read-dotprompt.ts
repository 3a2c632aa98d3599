import { basename } from 'node:path'
import { type JsonObject, stringifyJson, type TextPlace } from '../base/json.ts'
import { type CallNode, type Expression, type Hash, parse, type SourcePosition, type Program, type ProgramStatement } from '../template/handlebars/parse.ts'
import { TemplateSyntaxError } from '../template/language.ts'
import { prescan } from '../template/prescan.ts'
import type { StoredValue } from './store.ts'
import { DotpromptError, readHead, refuseVariant } from './dotprompt-head.ts'

interface TreeVisitor {
  onCall (call: CallNode & { readonly type: string }, depth: number): void
  /** `isAtRoot`: names are variables, because no block around has changed the context. */
  onExpression (expression: Expression, isAtRoot: boolean): void
}

/** The position of a walk in the template's syntax tree. */
interface WalkPlace {
  readonly depth: number
  readonly isAtRoot: boolean
}

/** Other blocks, such as `each`, change what names refer to. */
const SAME_CONTEXT: ReadonlySet<string> = new Set(['if', 'unless', 'ifEquals', 'unlessEquals'])

/**
 * Walks through the syntax tree of a template, in the order of the text. It recurses, which is safe because the nesting of a template is checked before it is
 * parsed.
 */
function walkTree (program: Program | undefined, visitor: TreeVisitor, place: WalkPlace = { depth: 0, isAtRoot: true }): void {
  for (const statement of program?.body ?? []) walkStatement(statement, visitor, place)
}

function walkStatement (statement: ProgramStatement, visitor: TreeVisitor, place: WalkPlace): void {
  switch (statement.type) {
    case 'ContentStatement':
    case 'CommentStatement': return
    case 'PartialStatement':
    case 'PartialBlockStatement':
      walkArguments(statement, visitor, place)
      if (statement.type === 'PartialBlockStatement') walkTree(statement.program, visitor, { depth: place.depth + 1, isAtRoot: false })
      return
    case 'BlockStatement':
      walkCall(statement, visitor, place)
      walkTree(statement.program, visitor, insideBlock(statement, place))
      return walkTree(statement.inverse, visitor, { ...place, depth: place.depth + 1 })
    case 'DecoratorBlock': return walkTree(statement.program, visitor, { depth: place.depth + 1, isAtRoot: false })
    default: walkCall(statement, visitor, place)
  }
}

function walkCall (call: CallNode & { readonly type: string }, visitor: TreeVisitor, place: WalkPlace): void {
  visitor.onCall(call, place.depth)
  walkExpression(call.path, visitor, place)
  walkArguments(call, visitor, place)
}

function walkArguments ({ params, hash }: { readonly params: readonly Expression[], readonly hash?: Hash }, visitor: TreeVisitor, place: WalkPlace): void {
  for (const param of params) walkExpression(param, visitor, place)
  for (const { value } of hash?.pairs ?? []) walkExpression(value, visitor, place)
}

function walkExpression (expression: Expression, visitor: TreeVisitor, place: WalkPlace): void {
  if (expression.type === 'SubExpression') walkCall(expression, visitor, { ...place, depth: place.depth + 1 })
  else visitor.onExpression(expression, place.isAtRoot)
}

function insideBlock ({ path }: CallNode, { depth, isAtRoot }: WalkPlace): WalkPlace {
  return { depth: depth + 1, isAtRoot: isAtRoot && path.type === 'PathExpression' && SAME_CONTEXT.has(path.original) }
}

class SourceLines {
  readonly #starts: readonly number[]

  constructor (text: string) {
    this.#starts = [0, ...Array.from(text.matchAll(/\r\n?|\n/g), match => match.index + match[0].length)]
  }

  offsetOf ({ line, column }: SourcePosition): number {
    return (this.#starts[line - 1] ?? 0) + column
  }

  placeAt (offset: number): TextPlace {
    let [low, high] = [0, this.#starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] as number) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 }
  }
}

/** These cut a template into messages; refused inside blocks, since the cuts must be known before a render. */
const MARKERS: ReadonlySet<string> = new Set(['role', 'history', 'media'])

const DATA: ReadonlySet<string> = new Set(['index', 'key', 'first', 'last', 'root', 'partial-block', 'level'])

/** @throws DotpromptError for forms of Dotprompt that this service does not have */
function checkTree (program: Program, lines: SourceLines, at: (offset: number) => TextPlace): void {
  const placeOf = ({ loc }: Pick<CallNode, 'loc'>) => at(lines.offsetOf(loc.start))
  walkTree(program, {
    onCall (call, depth) {
      const name = helperOf(call)
      if (name === undefined) return
      if (name === 'section') throw new DotpromptError('has a {{section}}, which messages do not have here', placeOf(call), { hint: 'write a heading' })
      if (!MARKERS.has(name) || (depth === 0 && call.type === 'MustacheStatement')) return
      const reason = `has {{${name}}} inside a block, where no ${name === 'media' ? 'part of a message' : 'message'} can begin`
      throw new DotpromptError(reason, placeOf(call), { code: 'ROLE_NESTED', hint: `write {{${name}}} outside of all blocks` })
    },
    onExpression (expression) {
      if (expression.type !== 'PathExpression' || !expression.data) return
      const [first = ''] = expression.parts
      if (DATA.has(first)) return
      throw new DotpromptError(`reads @${first}, which is no variable here`, placeOf(expression), { hint: 'write caller, which says who asks, or a variable' })
    }
  })
}

function helperOf ({ path }: CallNode): string | undefined {
  if (path.type !== 'PathExpression' || path.data || path.depth > 0) return undefined
  const [name, ...more] = path.parts
  return more.length === 0 && path.original === name ? name : undefined
}

const ROLES: ReadonlyMap<string, string> = new Map([
  ['model', 'assistant'],
  ...['system', 'developer', 'user', 'assistant', 'tool'].map(role => [role, role] as const)
])

/** Replaces a marker that was cut out: otherwise a tag beside it would be alone in its line, and Handlebars would remove the line's white space. */
const KEEPER = '{{!}}'
const BEGINS_ALONE = /^[ \t]*\{\{~?[#^>!/][^\n]*\}\}[ \t\r]*(?:\n|$)/
const ENDS_ALONE = /^[ \t]*\{\{~?(?:[#^>!/]|else\b)[^\n]*\}\}[ \t]*$/

interface Cut {
  role: string
  /** Texts and pictures, with their offsets in the template. */
  readonly pieces: Array<{ readonly at: number } & ({ readonly kind: 'text', readonly text: string } | { readonly kind: 'image', readonly url: string })>
}

interface TextStart {
  readonly message: number
  readonly part?: number
  readonly at: number
}

/** The cuts are made in the syntax tree, so the value of a variable can never begin a message. @throws DotpromptError */
function cutMessages (source: string, program: Program, lines: SourceLines, at: (offset: number) => TextPlace) {
  const messages: Array<Cut | 'history'> = []
  let current: Cut = { role: 'user', pieces: [] }
  let hasRoles = false
  let done = 0
  const begin = (role: string) => {
    if (current.pieces.length > 0) messages.push(current)
    current = { role, pieces: [] }
  }
  const takeText = (to: number) => {
    const text = source.slice(done, to)
    if (text.trim() === '') return
    const before = done > 0 && BEGINS_ALONE.test(text) ? KEEPER : ''
    const behind = to < source.length && ENDS_ALONE.test(text.slice(text.lastIndexOf('\n') + 1)) ? KEEPER : ''
    current.pieces.push({ kind: 'text', text: before + text + behind, at: done - before.length })
  }
  for (const statement of program.body) {
    const name = markerOf(statement)
    if (name === undefined) continue
    const call = statement as ProgramStatement & CallNode
    const from = lines.offsetOf(call.loc.start)
    takeText(from)
    done = lines.offsetOf(call.loc.end)
    if (name === 'media') current.pieces.push({ kind: 'image', url: urlOf(call, source, lines, at(from)), at: from })
    else if (name === 'role') begin(roleOf(call, at(from)))
    else {
      if (messages.includes('history')) throw new DotpromptError('has {{history}} twice', at(from))
      begin('assistant')
      messages.push('history')
    }
    hasRoles ||= name !== 'media'
  }
  takeText(source.length)
  begin('')
  return storedForm(messages, hasRoles)
}

function markerOf (statement: ProgramStatement): string | undefined {
  const name = statement.type === 'MustacheStatement' ? helperOf(statement) : undefined
  return name !== undefined && MARKERS.has(name) ? name : undefined
}

function roleOf ({ params }: CallNode, place: TextPlace): string {
  const [param] = params
  const role = param?.type === 'StringLiteral' ? ROLES.get(param.value) : undefined
  if (role !== undefined && params.length === 1) return role
  throw new DotpromptError('has a {{role}} that is none', place, { hint: `write {{role "user"}}; there are ${[...ROLES.keys()].join(', ')}` })
}

function urlOf ({ hash }: CallNode, source: string, lines: SourceLines, place: TextPlace): string {
  const valueOf = (name: string) => hash?.pairs.find(({ key }) => key === name)?.value
  const [url, type] = [valueOf('url'), valueOf('contentType')]
  if (url === undefined) throw new DotpromptError('has {{media}} without a url', place, { hint: 'write {{media url=…}}' })
  if (type?.type === 'StringLiteral' && !type.value.startsWith('image/')) {
    const hint = 'write the prompt as YAML, with a part of the type file or input_audio'
    throw new DotpromptError(`has {{media}} of the type ${type.value}; only pictures can be written so`, place, { hint })
  }
  return url.type === 'StringLiteral' ? url.value : `{{${expressionIn(source, url, lines)}}}`
}

function expressionIn (source: string, expression: Expression, lines: SourceLines): string {
  const text = source.slice(lines.offsetOf(expression.loc.start), lines.offsetOf(expression.loc.end)).trim()
  return expression.type === 'SubExpression' ? text.replace(/^\(([\s\S]*)\)$/, '$1') : text
}

function storedForm (messages: ReadonlyArray<Cut | 'history'>, hasRoles: boolean): { fields: JsonObject, starts: TextStart[] } {
  const [first] = messages
  if (!hasRoles && messages.length === 1 && typeof first === 'object' && first.pieces.length === 1 && first.pieces[0]?.kind === 'text') {
    return { fields: { userPrompt: first.pieces[0].text }, starts: [{ message: 0, at: first.pieces[0].at }] }
  }
  const starts = messages.flatMap((message, index): TextStart[] => message === 'history' ? [] : startsOf(message, index))
  return { starts, fields: { messages: messages.map(message => message === 'history' ? { placeholder: 'history' } : messageOf(message)) } }
}

function messageOf (message: Cut): JsonObject {
  return { role: message.role, content: contentOf(message) }
}

function startsOf ({ pieces }: Cut, message: number): TextStart[] {
  const isText = pieces.every(({ kind }) => kind === 'text')
  return isText ? [{ message, at: pieces[0]?.at ?? 0 }] : pieces.map(({ at }, part) => ({ message, part, at }))
}

function contentOf ({ pieces }: Cut): string | JsonObject[] {
  const texts = pieces.flatMap(piece => piece.kind === 'text' ? [piece.text] : [])
  if (texts.length === pieces.length) return texts.join('')
  return pieces.map((piece): JsonObject => piece.kind === 'text' ? { type: 'text', text: piece.text } : { type: 'image_url', image_url: { url: piece.url } })
}

interface TemplateEdit { readonly from: number, readonly to: number, readonly text: string }

const COMPARING: ReadonlyMap<string, string> = new Map([['ifEquals', 'if'], ['unlessEquals', 'unless']])

/** Lines keep their numbers. `{{this}}` outside of loops becomes `{{variables}}`, because here `this` has more members. */
function rewriteHelpers (source: string, program: Program, lines: SourceLines): { readonly text: string, readonly offsetBefore: (offset: number) => number } {
  const edits: TemplateEdit[] = []
  walkTree(program, {
    onCall (call) {
      const name = helperOf(call)
      const block = name === undefined ? undefined : COMPARING.get(name)
      if (name === 'json') edits.push(...indentOf(call, source, lines))
      if (block !== undefined && call.type === 'BlockStatement') edits.push(...comparisonOf(call, name as string, block, source, lines))
    },
    onExpression (expression, isAtRoot) {
      if (expression.type !== 'PathExpression' || !isAtRoot || expression.data || expression.depth > 0 || expression.parts.length > 0) return
      edits.push({ from: lines.offsetOf(expression.loc.start), to: lines.offsetOf(expression.loc.end), text: 'variables' })
    }
  })
  const ordered = edits.toSorted((one, other) => one.from - other.from)
  let text = ''
  let done = 0
  for (const { from, to, text: instead } of ordered) {
    text += source.slice(done, from) + instead
    done = to
  }
  return { text: text + source.slice(done), offsetBefore: offset => offsetBefore(ordered, offset) }
}

/** An offset in an inserted text gives the beginning of the part that it replaces. */
function offsetBefore (edits: readonly TemplateEdit[], offset: number): number {
  let shift = 0
  for (const { from, to, text } of edits) {
    const begins = from + shift
    if (offset < begins) break
    if (offset < begins + text.length) return from
    shift += text.length - (to - from)
  }
  return offset - shift
}

function comparisonOf (call: CallNode, name: string, block: string, source: string, lines: SourceLines): TemplateEdit[] {
  const last = call.params.at(-1)
  if (last === undefined) return []
  const from = lines.offsetOf(call.path.loc.start)
  const behind = lines.offsetOf(last.loc.end)
  const end = lines.offsetOf(call.loc.end)
  // A block `{{else ifEquals a b}}` has no closing tag of its own.
  const [closing] = new RegExp(`^\\{\\{~?/\\s*${name}\\s*~?\\}\\}$`).exec(source.slice(source.lastIndexOf('{{', end - 1), end)) ?? []
  return [
    { from, to: from + name.length, text: `${block} (eq` },
    { from: behind, to: behind, text: ')' },
    ...(closing === undefined ? [] : [{ from: end - closing.length, to: end, text: closing.replace(name, block) }])
  ]
}

function indentOf ({ path, hash }: CallNode, source: string, lines: SourceLines): TemplateEdit[] {
  const indent = hash?.pairs.find(({ key }) => key === 'indent')
  if (hash === undefined || indent === undefined || hash.pairs.length > 1) return []
  const behind = lines.offsetOf(path.loc.end)
  const value = source.slice(lines.offsetOf(indent.value.loc.start), lines.offsetOf(indent.value.loc.end))
  return [{ from: behind, to: behind, text: ` ${value}` }, { from: lines.offsetOf(hash.loc.start), to: lines.offsetOf(hash.loc.end), text: '' }]
}

/** In UTF-16 units: YAML up to 128 KiB, the template up to 64 KiB. */
const MAX_LENGTH = 256 * 1024

export interface Dotprompt {
  readonly prompt: JsonObject
  readonly starts: ReadonlyArray<{ readonly message: number, readonly part?: number, readonly place: TextPlace }>
}

/** Format: https://google.github.io/dotprompt/reference/frontmatter/ @throws DotpromptError */
export function readDotprompt (text: string, file: string): Dotprompt {
  if (text.length > MAX_LENGTH) throw new DotpromptError(`is longer than ${MAX_LENGTH / 1024} KiB`, { line: 1, column: 1 })
  const fileLines = new SourceLines(text)
  const { head, headAt, body, bodyAt } = splitFile(text)
  if (basename(file, '.prompt').includes('.')) throw refuseVariant({ line: 1, column: 1 })
  const fields = readHead(head, fileLines.placeAt(headAt))
  if (body.trim() === '') throw new DotpromptError('has no template', fileLines.placeAt(bodyAt))
  const at = (offset: number) => fileLines.placeAt(bodyAt + offset)
  const lines = new SourceLines(body)
  try {
    prescan(body)
    const program = parse(body)
    checkTree(program, lines, at)
    const { text: source, offsetBefore } = rewriteHelpers(body, program, lines)
    const isSame = source === body
    const placeOf = (offset: number) => at(isSame ? offset : offsetBefore(offset))
    const { fields: texts, starts } = cutMessages(source, isSame ? program : parse(source), isSame ? lines : new SourceLines(source), placeOf)
    return {
      prompt: { syntax: 'handlebars', ...fields, ...texts },
      starts: starts.map(({ at: offset, ...start }) => ({ ...start, place: placeOf(offset) }))
    }
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error
    throw new DotpromptError(`is no template: ${error.message}`, at(lines.offsetOf({ line: error.line, column: error.column - 1 })))
  }
}

export function dotpromptToJson (text: string, file: string): StoredValue {
  try {
    const { prompt } = readDotprompt(text, file)
    return { kind: 'text', text: stringifyJson(prompt) }
  } catch (error) {
    if (!(error instanceof DotpromptError)) throw error
    const { message: reason, place, hint, code } = error
    return { kind: 'bad', reason, place, hint, code }
  }
}

interface Line { readonly text: string, readonly at: number, readonly end: number }

/** Read line by line: the regular expression of Dotprompt itself takes minutes for a hostile file. */
function splitFile (text: string) {
  const lines = linesOf(text)
  let opening: Line | undefined
  for (const line of lines) {
    if (isDashes(line)) {
      opening = line
      break
    }
    if (!/^(?:#|[ \t]*$)/.test(line.text)) break
  }
  const closing = opening === undefined ? undefined : firstDashes(text, opening.end)
  if (opening === undefined || closing === undefined) return { head: '', headAt: 0, body: text, bodyAt: 0 }
  const body = text.slice(closing.end)
  return {
    head: text.slice(opening.end, closing.at).replace(/\r?\n$/, ''),
    headAt: opening.end,
    body: body.trim(),
    bodyAt: closing.end + body.length - body.trimStart().length
  }
}

function firstDashes (text: string, from: number): Line | undefined {
  for (const line of linesOf(text, from)) if (isDashes(line)) return line
  return undefined
}

function isDashes ({ text }: Line): boolean {
  return text.startsWith('---') && text.slice(3).trim() === ''
}

function * linesOf (text: string, from = 0): Generator<Line> {
  for (let at = from; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const end = newline === -1 ? text.length : newline + 1
    yield { text: text.slice(at, end).replace(/\r?\n?$/, ''), at, end }
    at = end
  }
}
