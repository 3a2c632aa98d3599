import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument, type Scalar } from 'yaml'
import { type TextPlace } from '../base/json.ts'
import { type JsonPath } from '../base/json-places.ts'

/** The place that a diagnostic names: a path into the value of an entry, or a line and a column of one of the entry's texts. */
export interface ValuePlace {
  readonly field?: JsonPath
  readonly messageIndex?: number
  readonly part?: number
  readonly member?: string
  readonly line?: number
  readonly column?: number
}

/** The paths at which a file can have the text of a prompt that is only one text. A diagnostic of such a prompt has no `messageIndex`. */
const ONE_TEXT: readonly JsonPath[] = [['userPrompt'], ['prompt'], []]

const START: TextPlace = { line: 1, column: 1 }

/**
 * Makes a function that finds the place of a diagnostic in a JSON or YAML file.
 * @param text the content of the file
 * @returns the function; `within` is the path to the prompt, if the prompt is only a part of the file, as in an extension's file. For a
 * place that the file does not have, the function gives the nearest value above it, or the beginning of the file
 */
export function createPlaceFinder (text: string): (place: ValuePlace, within?: JsonPath) => TextPlace {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, intAsBigInt: true, uniqueKeys: false, logLevel: 'silent' })
  const at = (offset: number): TextPlace => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }

  return function find ({ field, messageIndex, part, member, line, column = 1 }, within = []) {
    if (line === undefined) return field === undefined ? START : at(deepest(document.contents, [...within, ...field]))
    const inMessage: JsonPath = ['content', ...part === undefined ? [] : [part, ...(member ?? 'text').split('.')]]
    const inList = [['messages', messageIndex ?? 0, ...inMessage], [messageIndex ?? 0, ...inMessage]]
    const paths = messageIndex === undefined ? [...ONE_TEXT, ...inList] : inList
    for (const path of paths) {
      const node = nodeAt(document.contents, [...within, ...path])
      if (node !== undefined && isScalar(node) && typeof node.value === 'string') return placeInScalar(node as Scalar<string>, line, column)
    }
    return START
  }

  function placeInScalar (node: Scalar<string>, line: number, column: number): TextPlace {
    const [start = 0, end = start] = node.range ?? []
    const source = text.slice(start, end)
    if (node.type === 'BLOCK_LITERAL') {
      const content = source.slice(source.indexOf('\n') + 1)
      const indent = /^(?:[ \t]*\r?\n)*( *)/.exec(content)?.[1]?.length ?? 0
      return { line: at(start).line + line, column: indent + column }
    }
    if (node.type === 'BLOCK_FOLDED') return at(start)
    const wanted = offsetIn(node.value, line, column)
    return at(start + (node.type === 'PLAIN' ? wanted : quotedOffset(source, wanted)))
  }
}

/** Converts a line and a column of a text, both counted from 1, into an offset. */
function offsetIn (text: string, line: number, column: number): number {
  let offset = 0
  for (let each = 1; each < line; each++) offset = text.indexOf('\n', offset) + 1
  return offset + column - 1
}

/** Converts an offset in a value into an offset in the value's quoted YAML text, where an escape takes several characters. */
function quotedOffset (source: string, wanted: number): number {
  const escape = source.startsWith('"') ? /\\(?:x..|u....|U........|[^])/y : /''/y
  let offset = 1
  for (let count = 0; count < wanted && offset < source.length; count++) {
    escape.lastIndex = offset
    offset += escape.exec(source)?.[0].length ?? 1
  }
  return offset
}

function nodeAt (from: unknown, path: JsonPath): Node | undefined {
  let node = from
  for (const step of path) {
    if (isMap(node)) node = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))?.value
    // A JSON Schema error gives the index of an item as text.
    else if (isSeq(node) && /^\d+$/.test(String(step))) node = node.items[Number(step)]
    else return undefined
  }
  return (node ?? undefined) as Node | undefined
}

/** Finds the offset of the value at a path (for a member of an object, of the member's name) or, if there is none, of the nearest value above. */
function deepest (from: unknown, path: JsonPath): number {
  for (let length = path.length; length > 0; length--) {
    const above = nodeAt(from, path.slice(0, length - 1))
    const step = path[length - 1]
    if (isMap(above)) {
      const pair = above.items.find(each => isPair(each) && isScalar(each.key) && String(each.key.value) === String(step))
      if (pair !== undefined) return (pair.key as Scalar).range?.[0] ?? 0
    }
    const node = nodeAt(from, path.slice(0, length))
    if (node !== undefined) return node.range?.[0] ?? 0
  }
  return 0
}
