import { distance } from 'fastest-levenshtein'
import { type Json, type JsonObject, listOf, objectOf } from '../../base/json.ts'
import { FileRefusal } from '../workspace-files.ts'
import { type ActionKind, MAX_ACTIONS, MAX_CONTENT_BYTES, MAX_TOTAL_BYTES, ORDER } from './change-rules.ts'

/** `keep` leaves line ends as they are in the new text; `lf` also puts one at the end of the file. */
export type Eol = 'keep' | 'lf'

/** An action of a change: it creates, updates or deletes the file or folder at one path. A model or a person has asked for it. */
export interface FileAction {
  readonly kind: ActionKind
  readonly path: string
  readonly content?: Buffer
  /** In place of `content`, which is computed from these when the file is read. */
  readonly edits?: readonly Edit[]
}

/**
 * A first check, of the shape alone: files are looked at just before the write.
 * @throws FileRefusal ERR_SCHEMA_VALIDATION, ERR_TOO_MANY_ACTIONS, ERR_CONTENT_REQUIRED, ERR_CONTENT_TOO_LARGE
 */
export function parseActions (given: Json | undefined, eol: Eol): FileAction[] {
  if (!Array.isArray(given)) throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a list of actions')
  if (given.length > MAX_ACTIONS) throw new FileRefusal('ERR_TOO_MANY_ACTIONS', `expected at most ${MAX_ACTIONS} actions, got ${given.length}`)
  const actions = given.map((action: Json) => parseAction(action, eol))
  refuseTooLarge(actions)
  return actions
}

/** @throws FileRefusal ERR_CONTENT_TOO_LARGE */
export function refuseTooLarge (actions: readonly FileAction[]): void {
  const total = actions.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  if (total > MAX_TOTAL_BYTES) throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${MAX_TOTAL_BYTES} bytes of content in all, got ${total}`)
}

function parseAction (given: Json, eol: Eol): FileAction {
  const { kind, path, content, edits } = objectOf(given)
  if (kind !== 'EDIT_FILE' && !isActionKind(kind)) {
    throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected as kind one of ${ORDER.join(', ')}, EDIT_FILE, got ${JSON.stringify(kind)}`)
  }
  if (typeof path !== 'string') throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected a path with ${kind}`)
  if (kind === 'EDIT_FILE') return { kind: 'UPDATE_FILE', path, edits: parseEdits(edits, path) }
  if (kind !== 'CREATE_FILE' && kind !== 'UPDATE_FILE') return { kind, path }
  if (typeof content !== 'string') throw new FileRefusal('ERR_CONTENT_REQUIRED', `expected content for ${kind} of ${JSON.stringify(path)}`)
  return { kind, path, content: contentFrom(content, eol, path) }
}

/** @throws FileRefusal ERR_CONTENT_TOO_LARGE, ERR_SCHEMA_VALIDATION for half of a character */
export function contentFrom (text: string, eol: Eol, path: string): Buffer {
  if (!text.isWellFormed()) throw new FileRefusal('ERR_SCHEMA_VALIDATION', `expected text for ${JSON.stringify(path)}, got half of a character`)
  const bytes = Buffer.from(withLineEnds(text, eol))
  if (bytes.length > MAX_CONTENT_BYTES) {
    throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${MAX_CONTENT_BYTES} bytes for ${JSON.stringify(path)}, got ${bytes.length}`)
  }
  return bytes
}

function parseEdits (given: Json | undefined, path: string): Edit[] {
  const edits = listOf(given).map(objectOf)
  const isEdit = ({ search, replace }: JsonObject) => isEditText(search) && search !== '' && isEditText(replace)
  if (edits.length === 0 || edits.length > MAX_EDITS || !edits.every(isEdit)) {
    throw new FileRefusal(
      'ERR_SCHEMA_VALIDATION',
      `expected 1 to ${MAX_EDITS} edits of ${JSON.stringify(path)}, each with "search" and "replace" of at most ${MAX_EDIT_TEXT} whole characters, and no empty "search"`
    )
  }
  return edits.map(({ search, replace }) => ({ search: String(search), replace: String(replace) }))
}

function isEditText (text: Json | undefined): boolean {
  return typeof text === 'string' && text.length <= MAX_EDIT_TEXT && text.isWellFormed()
}

function withLineEnds (content: string, eol: Eol): string {
  if (eol === 'keep') return content
  const plain = content.replaceAll('\r\n', '\n')
  return plain === '' || plain.endsWith('\n') ? plain : `${plain}\n`
}

function isActionKind (kind: unknown): kind is ActionKind {
  return ORDER.some(known => known === kind)
}

export interface Edit {
  readonly search: string
  readonly replace: string
}

/** The lengths of `search` and `replace` are in UTF-16 units. */
export const MAX_EDITS = 100
export const MAX_EDIT_TEXT = 20_000

const MAX_NAMED = 10

/** In UTF-16 units. */
interface Match {
  readonly start: number
  readonly end: number
}

/**
 * Applies edits to a file's text. All are located in the original text, so their order does not matter. Each `search` has to occur
 * exactly once, every character counts, but `\n` also matches `\r\n`; a replacement gets the line ends of its place. Nothing is guessed,
 * so a model never changes the wrong lines.
 * @param path the path for messages
 * @throws FileRefusal ERR_EDIT_NOT_FOUND with the closest lines, ERR_EDIT_AMBIGUOUS with the lines, ERR_EDIT_OVERLAP
 */
export function applyEdits (text: string, edits: readonly Edit[], path: string): string {
  const found = edits
    .map(({ search }, index) => ({ index, ...onlyMatch(text, search, `${JSON.stringify(path)}, edits[${index}]`) }))
    .sort((a, b) => a.start - b.start)
  let [result, end] = ['', 0]
  for (const [place, { index, ...match }] of found.entries()) {
    if (match.start < end) {
      throw new FileRefusal(
        'ERR_EDIT_OVERLAP',
        `${JSON.stringify(path)}: edits[${index}] overlaps edits[${found[place - 1]?.index}]; make one edit of both`
      )
    }
    result += text.slice(end, match.start) + withLineEndsOf(text, match, edits[index]?.replace ?? '')
    end = match.end
  }
  return result + text.slice(end)
}

function onlyMatch (text: string, search: string, place: string): Match {
  const { matches, count } = matchesOf(text, search)
  const [match] = matches
  if (match === undefined) {
    throw new FileRefusal('ERR_EDIT_NOT_FOUND', `${place}: "search" is not in the file, where every character counts. ${closestLines(text, search)}`)
  }
  if (count === 1) return match
  const lines = matches.map(({ start }) => lineAt(text, start)).join(', ')
  throw new FileRefusal(
    'ERR_EDIT_AMBIGUOUS',
    `${place}: "search" occurs ${count} times, at the lines ${lines}${count > MAX_NAMED ? ' and more' : ''}; write more of the lines around the one that is meant`
  )
}

/** Knuth, Morris and Pratt: linear time, where `indexOf` can try a search text anew at each place. `\n` also matches `\r\n`. */
function matchesOf (text: string, wanted: string): { readonly matches: readonly Match[], readonly count: number } {
  const skipsReturns = !wanted.includes('\r')
  const borders = bordersOf(wanted)
  const places = new Int32Array(wanted.length)
  const matches: Match[] = []
  let count = 0
  for (let [at, seen, length] = [0, 0, 0]; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (skipsReturns && code === RETURN && text.charCodeAt(at + 1) === LINE_FEED) continue
    while (length > 0 && code !== wanted.charCodeAt(length)) length = borders[length - 1] as number
    if (code === wanted.charCodeAt(length)) length++
    places[seen++ % wanted.length] = skipsReturns && code === LINE_FEED && text.charCodeAt(at - 1) === RETURN ? at - 1 : at
    if (length < wanted.length) continue
    if (count++ < MAX_NAMED) matches.push({ start: places[seen % wanted.length] as number, end: at + 1 })
    length = borders[length - 1] as number
  }
  return { matches, count }
}

const [LINE_FEED, RETURN] = [0x0a, 0x0d]

/** By its length less one: the longest shorter beginning with which each beginning ends. */
function bordersOf (text: string): Int32Array {
  const borders = new Int32Array(text.length)
  for (let [at, length] = [1, 0]; at < text.length; at++) {
    while (length > 0 && text.charCodeAt(at) !== text.charCodeAt(length)) length = borders[length - 1] as number
    if (text.charCodeAt(at) === text.charCodeAt(length)) length++
    borders[at] = length
  }
  return borders
}

function withLineEndsOf (text: string, { start, end }: Match, replacement: string): string {
  const matched = text.slice(start, end)
  const model = matched.includes('\n') ? matched : text
  return model[model.indexOf('\n') - 1] === '\r' ? replacement.replace(/\r?\n/g, '\r\n') : replacement
}

function lineAt (text: string, place: number): number {
  return text.slice(0, place).split('\n').length
}

/** Places compared with a search text; the part compared at each is in UTF-16 units. */
const MAX_WINDOWS = 2000
const MAX_COMPARED = 400

/** In UTF-16 units. */
const MAX_SHOWN = 2000

/** The model can correct its edit by these lines. */
function closestLines (text: string, search: string): string {
  const lines = text.split(/\r?\n/)
  const height = Math.min(search.trimEnd().split('\n').length, lines.length)
  const step = Math.ceil((lines.length - height + 1) / MAX_WINDOWS)
  const wanted = search.slice(0, MAX_COMPARED)
  let closest = { line: 0, distance: Infinity }
  for (let line = 0; line + height <= lines.length; line += step) {
    const apart = distance(wanted, beginningAt(lines, line, height))
    if (apart < closest.distance) closest = { line, distance: apart }
  }
  const shown = lines.slice(closest.line, closest.line + height).join('\n').slice(0, MAX_SHOWN)
  return `The closest lines are ${closest.line + 1} to ${closest.line + height}:\n${shown}`
}

function beginningAt (lines: readonly string[], first: number, height: number): string {
  let text = ''
  for (let line = first; line < first + height && text.length <= MAX_COMPARED; line++) text += `${lines[line]?.slice(0, MAX_COMPARED)}\n`
  return text.slice(0, Math.min(text.length - 1, MAX_COMPARED))
}
