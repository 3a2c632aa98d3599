import { Composer, CST, Document, isNode, isScalar, Lexer, LineCounter, Parser, visit } from 'yaml'
import { canonicalJson, MAX_DIGITS, MAX_JSON_DEPTH, parseJson, stringifyJson, type TextPlace } from '../base/json.ts'
import { beginningOf, utf8In } from '../base/text.ts'
import { MAX_VALUE_BYTES, type StoredValue } from './store.ts'

/** In bytes; parsing takes up to 3 microseconds a byte, and nothing else runs meanwhile. */
const MAX_YAML_BYTES = 128 * 1024

/** Parts (names, values, signs, blanks); the library takes some 10 microseconds for each. */
const MAX_PARTS = 40_000

/** For each alias, the library walks the document from its beginning. */
const MAX_ALIASES = 100

/** Repeated in a message, in UTF-16 units. */
const MAX_SHOWN = 40

/** Most of these mistakes are templates without quotes: YAML takes their braces for its own syntax. */
const HINT = 'correct the YAML there; a text with braces, ": " or " #" wants quotes, or lines of its own below "|"'

class YamlError extends Error {
  override readonly name = 'YamlError'
  readonly place: TextPlace | undefined

  constructor (message: string, place?: TextPlace) {
    super(message)
    this.place = place
  }
}

type Locate = (offset: number) => TextPlace

/** YAML 1.2; integers keep every digit. What JSON cannot express (`.inf`, `!include`, several documents) is refused, as is a repeated key. */
export function yamlToJson (text: string): StoredValue {
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_YAML_BYTES) return { kind: 'bad', reason: `is ${bytes} bytes of YAML; at most ${MAX_YAML_BYTES} are allowed, use JSON for more` }
  try {
    const json = stringifyJson(toPlain(parse(text)))
    const jsonBytes = Buffer.byteLength(json)
    return jsonBytes > MAX_VALUE_BYTES ? tooLarge(jsonBytes) : { kind: 'text', text: json }
  } catch (error) {
    const place = error instanceof YamlError ? error.place : undefined
    return { kind: 'bad', reason: `is not usable YAML: ${(error as Error).message}`, place, hint: place === undefined ? undefined : HINT }
  }
}

/** Long texts become blocks. `undefined` for no JSON, too large, or not read back as the same value. */
export function jsonToYaml (json: string): string | undefined {
  try {
    const value = parseJson(json)
    // Not folded, because the line ends of a template are part of it.
    const yaml = new Document(value, { aliasDuplicateObjects: false }).toString({ lineWidth: 0 })
    const read = yamlToJson(yaml)
    return read.kind === 'text' && canonicalJson(parseJson(read.text)) === canonicalJson(value) ? yaml : undefined
  } catch {
    return undefined
  }
}

function parse (text: string): unknown {
  const lines = new LineCounter()
  const at: Locate = offset => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  // The library would compare each key with all before it: 5 s for 20,000. `checkKeys` finds them.
  const composer = new Composer({ intAsBigInt: true, merge: true, resolveKnownTags: false, uniqueKeys: false })
  // Noting all of them, as the library does, takes 5 s for 100,000 brackets.
  let mistake: YamlError | undefined
  Object.assign(composer, {
    onError (source: number | { readonly offset: number } | readonly [number, number], _code: string, message: string) {
      const offset = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0]
      throw mistake ??= new YamlError(describe(message), at(offset))
    }
  })
  const [document, second] = [...composer.compose(tokenize(text, lines, at), true, text.length)]
  if (document === undefined) throw new YamlError('the text is empty')
  const [problem] = document.errors
  if (problem !== undefined) throw new YamlError(describe(problem.message), at(problem.pos[0]))
  if (second !== undefined) throw new YamlError('a second document begins', at(second.range[0]))
  // An empty text in quotes is a value; an empty text without quotes is none.
  const { contents } = document
  if (contents === null || (isScalar(contents) && contents.source === '' && contents.type === 'PLAIN')) throw new YamlError('the text is empty')
  checkKeys(document, at)
  // The library counts an anchor as its own alias (`+ 1`), and multiplies nested counts, so that no expansion is endless.
  return document.toJS({ maxAliasCount: MAX_ALIASES + 1 })
}

/** Bounds parts, aliases and nesting first: 100,000 times `[` would overflow the recursive composer's stack, which no `catch` helps. */
function tokenize (text: string, lines: LineCounter, at: Locate) {
  lines.addNewLine(0)
  const parser = new Parser(lines.addNewLine)
  const tokens = []
  let aliases = 0
  let parts = 0
  let last = ''
  for (const lexeme of new Lexer().lex(text)) {
    // `CST.SCALAR` announces plain text, also if it begins with `*` as an alias does.
    if (last !== CST.SCALAR && CST.tokenType(lexeme) === 'alias' && ++aliases > MAX_ALIASES) {
      throw new YamlError(`there are more than ${MAX_ALIASES} aliases`, at(parser.offset))
    }
    if (++parts > MAX_PARTS) throw new YamlError(`there are more than ${MAX_PARTS} names, values, signs and blanks; use JSON for more`, at(parser.offset))
    last = lexeme
    for (const token of parser.next(lexeme)) {
      if (token.type === 'error') throw new YamlError(`${token.message}: ${JSON.stringify(beginningOf(token.source, MAX_SHOWN))}`, at(token.offset))
      tokens.push(token)
    }
    // The parser's stack holds the document, its collections, and one scalar.
    if (parser.stack.length > MAX_JSON_DEPTH + 2) throw new YamlError(`nested deeper than ${MAX_JSON_DEPTH}`, at(parser.offset))
  }
  tokens.push(...parser.end())
  return tokens
}

/** The library would turn keys that are no text into text, with a warning to stderr. */
function checkKeys (document: Document.Parsed, at: Locate): void {
  visit(document, {
    Map (_, map) {
      const names = new Set<string>()
      for (const { key } of map.items) {
        const place = at(isNode(key) ? key.range?.[0] ?? 0 : 0)
        if (!isScalar(key)) throw new YamlError('a key is no text; braces without quotes mean a map', place)
        if (key.source === '<<') continue
        // The library turns a key that is null into an empty text.
        const name = String(key.value ?? '')
        if (names.has(name)) throw new YamlError(`the key "${name}" is there twice`, place)
        names.add(name)
      }
    }
  })
}

function describe (message: string): string {
  return message.split('\n', 1).join().replace(/ at line \d+, column \d+:?$/, '')
}

const TOO_MANY_DIGITS = 10n ** BigInt(MAX_DIGITS)

/** Integers that a double holds exactly become numbers. */
function toPlain (value: unknown, depth = 0): unknown {
  if (typeof value === 'bigint') {
    if (value >= TOO_MANY_DIGITS || value <= -TOO_MANY_DIGITS) throw new YamlError(`an integer has more than ${MAX_DIGITS} digits`)
    return Number.isSafeInteger(Number(value)) ? Number(value) : value
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw new YamlError(`JSON has no number ${value}`)
  if (typeof value !== 'object' || value === null) return value
  // Aliases can nest more deeply than the text, and one to its own parent never ends.
  if (depth >= MAX_JSON_DEPTH) throw new YamlError(`nested deeper than ${MAX_JSON_DEPTH}`)
  if (Array.isArray(value)) return value.map(item => toPlain(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPlain(item, depth + 1)]))
}

export function tooLarge (bytes: number): StoredValue {
  return { kind: 'bad', reason: `is ${bytes} bytes long; at most ${MAX_VALUE_BYTES} are allowed` }
}

/** Strict: a value in another encoding never becomes a prompt full of replacement characters. `expiresAt` is Unix time in ms. */
export function decodeBytes (bytes: Uint8Array, expiresAt?: number): StoredValue {
  if (bytes.length > MAX_VALUE_BYTES) return tooLarge(bytes.length)
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return { kind: 'bad', reason: 'begins with a byte order mark; save it as UTF-8 without BOM' }
  }
  const text = utf8In(bytes)
  if (text === undefined) return { kind: 'bad', reason: `is not valid UTF-8 (first wrong byte: ${firstWrongByte(bytes)})` }
  return expiresAt === undefined ? { kind: 'text', text } : { kind: 'text', text, expiresAt }
}

function firstWrongByte (bytes: Uint8Array): number {
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  for (let index = lenient.indexOf('\uFFFD'), offset = 0, from = 0; index !== -1; index = lenient.indexOf('\uFFFD', from)) {
    offset += Buffer.byteLength(lenient.slice(from, index))
    const isWrittenOut = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
    if (!isWrittenOut) return offset
    offset += 3
    from = index + 1
  }
  return bytes.length
}
