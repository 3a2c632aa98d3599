import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument, type Scalar } from 'yaml'
import { type TextPlace } from '../base/json.ts'
import { type JsonPath } from '../base/json-places.ts'

/** A diagnostic of a prompt that is only one text has no `messageIndex`. */
const ONE_TEXT: readonly JsonPath[] = [['userPrompt'], ['prompt'], []]

const START: TextPlace = { line: 1, column: 1 }

/** A missing place gives the nearest value above, or the file's beginning. @param within the path to a prompt in an extension */
export function createPlaceFinder (text: string): (place: {
  readonly field?: JsonPath
  readonly messageIndex?: number
  readonly part?: number
  readonly member?: string
  readonly line?: number
  readonly column?: number
}, within?: JsonPath) => TextPlace {
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

/** Line and column count from 1. */
function offsetIn (text: string, line: number, column: number): number {
  let offset = 0
  for (let each = 1; each < line; each++) offset = text.indexOf('\n', offset) + 1
  return offset + column - 1
}

/** In quoted YAML an escape takes several characters. */
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

/** Or the nearest value above; for a member, the offset of its name. */
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
