import { type JsonObject, type TextPlace } from '../../base/json.ts'
import { type Call, type Expression, type Program, type Statement } from '../../template/handlebars/syntax/ast.ts'
import { helperOf, MARKERS } from './check-tree.ts'
import { DotpromptError } from './dotprompt-error.ts'
import { type SourceLines } from './source-lines.ts'

const ROLES: ReadonlyMap<string, string> = new Map([
  ['model', 'assistant'],
  ...['system', 'developer', 'user', 'assistant', 'tool'].map(role => [role, role] as const)
])

/**
 * An empty comment that takes the place of a marker (`{{role}}`, `{{history}}` or `{{media}}`) that was cut out. Without the comment, a tag beside the
 * marker would now be alone in its line, and Handlebars would remove the line's white space together with the tag.
 */
const KEEPER = '{{!}}'
const BEGINS_ALONE = /^[ \t]*\{\{~?[#^>!/][^\n]*\}\}[ \t\r]*(?:\n|$)/
const ENDS_ALONE = /^[ \t]*\{\{~?(?:[#^>!/]|else\b)[^\n]*\}\}[ \t]*$/

/** A piece of a message: a text or a picture, with its offset in the template. */
type Piece = { readonly kind: 'text', readonly text: string, readonly at: number } | { readonly kind: 'image', readonly url: string, readonly at: number }

/** A message that is being made from pieces of the template. */
interface Cut { role: string, readonly pieces: Piece[] }

/** The place at which one of the prompt's texts begins. */
export interface TextStart {
  readonly message: number
  readonly part?: number
  /** The offset of the text in the template. */
  readonly at: number
}

/** The messages into which a template was cut. */
export interface CutTemplate {
  /** The fields of a stored prompt that hold the texts: a single text, or messages. */
  readonly fields: JsonObject
  readonly starts: readonly TextStart[]
}

/**
 * Cuts a template into messages at `{{role}}` and `{{history}}`, and messages into parts at `{{media}}`. The cuts are made in the syntax tree, so the
 * value of a variable can never begin a message. White space between messages is dropped, as Dotprompt does.
 * @param at gives the place in the file for an offset in the template
 * @throws DotpromptError
 */
export function cutMessages (source: string, program: Program, lines: SourceLines, at: (offset: number) => TextPlace): CutTemplate {
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
    const call = statement as Statement & Call
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

function markerOf (statement: Statement): string | undefined {
  const name = statement.type === 'MustacheStatement' ? helperOf(statement) : undefined
  return name !== undefined && MARKERS.has(name) ? name : undefined
}

function roleOf ({ params }: Call, place: TextPlace): string {
  const [param] = params
  const role = param?.type === 'StringLiteral' ? ROLES.get(param.value) : undefined
  if (role !== undefined && params.length === 1) return role
  throw new DotpromptError('has a {{role}} that is none', place, { hint: `write {{role "user"}}; there are ${[...ROLES.keys()].join(', ')}` })
}

function urlOf ({ hash }: Call, source: string, lines: SourceLines, place: TextPlace): string {
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

function storedForm (messages: ReadonlyArray<Cut | 'history'>, hasRoles: boolean): CutTemplate {
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
