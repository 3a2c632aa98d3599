/*
 * Reads the Markdown of a model's answer: headings, lists, code, tables, quotes, emphasis and links. HTML is text, a picture is a link to
 * it, and an address that is not http, https or mailto makes no link. Line breaks are kept. It takes linear time, whoever wrote the text.
 */

export type Inline = string
  | { readonly kind: 'code', readonly text: string }
  | { readonly kind: 'emphasis' | 'strong' | 'struck', readonly inlines: readonly Inline[] }
  | { readonly kind: 'link' | 'picture', readonly address: string, readonly inlines: readonly Inline[] }

export type Block =
  | { readonly kind: 'heading', readonly level: number, readonly inlines: readonly Inline[] }
  | { readonly kind: 'paragraph', readonly inlines: readonly Inline[] }
  | { readonly kind: 'code', readonly language: string, readonly text: string }
  | { readonly kind: 'quote', readonly blocks: readonly Block[] }
  /** `start` is the number of the first item; left out for a list without numbers. */
  | { readonly kind: 'list', readonly start?: number, readonly items: ReadonlyArray<readonly Block[]> }
  | { readonly kind: 'table', readonly heads: ReadonlyArray<readonly Inline[]>, readonly rows: ReadonlyArray<ReadonlyArray<readonly Inline[]>> }
  | { readonly kind: 'rule' }

/** How deep lists and quotes are read; what lies deeper is a paragraph. */
const DEEPEST = 12

export function parseMarkdown (text: string): readonly Block[] {
  return parseBlocks(text.replaceAll('\r\n', '\n').split('\n'), 0)
}

function parseBlocks (lines: readonly string[], depth: number): readonly Block[] {
  const blocks: Block[] = []
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) at++
    else {
      const [block, next] = parseBlock(lines, at, depth)
      blocks.push(block)
      at = next
    }
  }
  return blocks
}

type Parsed = readonly [block: Block, next: number]

function parseBlock (lines: readonly string[], at: number, depth: number): Parsed {
  const line = lines[at] as string
  const fence = fenceIn(line)
  if (fence !== undefined) return parseCode(lines, at, fence)
  const heading = HEADING.exec(line)
  if (heading !== null) {
    const { 1: marks = '', 2: words = '' } = heading
    const open = withoutEnd(words.trim(), '#')
    return [{ kind: 'heading', level: marks.length, inlines: parseInlines(open === '' || open.endsWith(' ') ? open.trim() : words.trim()) }, at + 1]
  }
  if (isRule(line)) return [{ kind: 'rule' }, at + 1]
  if (depth < DEEPEST && isQuote(line)) return parseQuote(lines, at, depth)
  if (depth < DEEPEST && itemIn(line) !== undefined) return parseList(lines, at, depth)
  if (isTable(lines, at)) return parseTable(lines, at)
  let end = at + 1
  while (end < lines.length && !isBlank(lines[end]) && !beginsBlock(lines, end)) end++
  return [{ kind: 'paragraph', inlines: parseInlines(lines.slice(at, end).join('\n').trim()) }, end]
}

const HEADING = /^ {0,3}(#{1,6})(?:[ \t](.*))?$/

const isBlank = (line = ''): boolean => line.trim() === ''
const isQuote = (line: string): boolean => line.trimStart().startsWith('>') && indentOf(line) < 4

function isRule (line: string): boolean {
  const marks = line.replaceAll(/[ \t]/g, '')
  return marks.length >= 3 && (/^-+$/.test(marks) || /^\*+$/.test(marks) || /^_+$/.test(marks))
}

function indentOf (line: string): number {
  return line.length - line.trimStart().length
}

function withoutEnd (text: string, mark: string): string {
  let end = text.length
  while (text[end - 1] === mark) end--
  return text.slice(0, end)
}

function beginsBlock (lines: readonly string[], at: number): boolean {
  const line = lines[at] as string
  const item = itemIn(line)
  return fenceIn(line) !== undefined || HEADING.test(line) || isRule(line) || isQuote(line) || isTable(lines, at) ||
    // A paragraph may have a line that begins with a year.
    (item !== undefined && (item.number ?? 1) === 1)
}

interface Fence { readonly mark: string, readonly count: number, readonly words: string }

function fenceIn (line: string): Fence | undefined {
  const text = line.trim()
  const mark = text.startsWith('~') ? '~' : '`'
  let count = 0
  while (text[count] === mark) count++
  const words = text.slice(count).trim()
  return count < 3 || words.includes('`') ? undefined : { mark, count, words }
}

/** Code that is not closed goes to the end, as while an answer is being written. */
function parseCode (lines: readonly string[], at: number, { mark, count, words }: Fence): Parsed {
  const indent = indentOf(lines[at] as string)
  const isEnd = (line: string) => {
    const fence = fenceIn(line)
    return fence?.mark === mark && fence.count >= count && fence.words === ''
  }
  let end = at + 1
  while (end < lines.length && !isEnd(lines[end] as string)) end++
  const text = lines.slice(at + 1, end).map(line => line.slice(Math.min(indent, indentOf(line)))).join('\n')
  return [{ kind: 'code', language: words.split(/\s/, 1)[0] as string, text }, end + 1]
}

function parseQuote (lines: readonly string[], at: number, depth: number): Parsed {
  let end = at
  while (end < lines.length && isQuote(lines[end] as string)) end++
  const inner = lines.slice(at, end).map(line => line.trimStart().slice(1)).map(line => line.startsWith(' ') ? line.slice(1) : line)
  return [{ kind: 'quote', blocks: parseBlocks(inner, depth + 1) }, end]
}

/** `width` is that of the indent and the mark, in characters. */
interface Item { readonly indent: number, readonly width: number, readonly number: number | undefined, readonly text: string }

function itemIn (line: string): Item | undefined {
  const [, indent = '', mark = '', text = ''] = /^( *)([-*+]|\d{1,9}[.)])(?: (.*))?$/.exec(line.replaceAll('\t', '    ')) ?? []
  if (mark === '' || (text === '' && mark.length > 1) || isRule(line)) return undefined
  const width = indent.length + mark.length + 1
  return { indent: indent.length, width, number: mark.length > 1 ? Number.parseInt(mark, 10) : undefined, text: text.trimStart() }
}

function parseList (lines: readonly string[], at: number, depth: number): Parsed {
  const first = itemIn(lines[at] as string) as Item
  const items: Array<readonly Block[]> = []
  let end = at
  for (let item: Item | undefined = first; item !== undefined; item = itemIn(lines[end] ?? '')) {
    if (item.indent > first.indent + 1 || (item.number === undefined) !== (first.number === undefined)) break
    const from = end + 1
    end = endOfItem(lines, from, item)
    const own = lines.slice(from, end).map(line => line.slice(Math.min(indentOf(line), item.width)))
    items.push(parseBlocks([item.text, ...own], depth + 1))
    const next = firstText(lines, end)
    if (itemIn(lines[next] ?? '') !== undefined) end = next
  }
  return [first.number === undefined ? { kind: 'list', items } : { kind: 'list', items, start: first.number }, end]
}

/** What is indented by two more than an item's mark belongs to the item, since models are not exact about it; so does a line that goes on. */
function endOfItem (lines: readonly string[], from: number, { indent }: Item): number {
  let end = from
  while (end < lines.length) {
    const next = firstText(lines, end)
    const line = lines[next] ?? ''
    const isWithin = indentOf(line) >= indent + 2
    if (!isWithin && (next > end || itemIn(line) !== undefined || beginsBlock(lines, next))) return end
    end = next + 1
  }
  return end
}

/** The index of the first line from `at` on that is not blank. */
function firstText (lines: readonly string[], at: number): number {
  let next = at
  while (next < lines.length && isBlank(lines[next])) next++
  return next
}

function isTable (lines: readonly string[], at: number): boolean {
  const [head = '', marks = ''] = [lines[at], lines[at + 1]]
  if (!head.includes('|') || !/^[ \t|:-]+$/.test(marks) || !marks.includes('-')) return false
  const under = cellsIn(marks)
  return under.every(cell => /^:?-+:?$/.test(cell)) && under.length === cellsIn(head).length
}

function parseTable (lines: readonly string[], at: number): Parsed {
  let end = at + 2
  while (end < lines.length && (lines[end] as string).includes('|')) end++
  const [heads = [], ...rows] = [lines[at] as string, ...lines.slice(at + 2, end)].map(line => cellsIn(line).map(parseInlines))
  return [{ kind: 'table', heads, rows: rows.map(row => heads.map((_, column) => row[column] ?? [])) }, end]
}

function cellsIn (line: string): readonly string[] {
  const cells = line.trim().split(/(?<!\\)\|/).map(cell => cell.replaceAll('\\|', '|').trim())
  return cells.slice(cells[0] === '' ? 1 : 0, cells.length > 1 && cells.at(-1) === '' ? -1 : undefined)
}

/** How many marks may be open at a time; further ones are text. It bounds how deep the result is. */
const MOST_OPEN = 30

const TOKEN = /\\[!-/:-@[-`{-~]|`+|\*+|_+|~~|!?\[|\]|<https?:\/\/[^\s<>]+>|\bhttps?:\/\/[^\s<>"`|\]]+/g

function parseInlines (text: string): readonly Inline[] {
  const reader = new InlineReader(text)
  const tokens = new RegExp(TOKEN)
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) tokens.lastIndex = reader.take(found[0], found.index)
  return reader.end()
}

/** Reads a text token by token. A mark is a text in `#nodes` until its end is met, which makes one node of all behind it. */
class InlineReader {
  readonly #text: string
  readonly #nodes: Inline[] = []
  /** The marks whose end was not met yet: `*`, `_` or `~` so many times, or `[` or `![`; each with its place in `#nodes`. */
  readonly #open: Array<{ readonly mark: string, readonly at: number }> = []
  readonly #ticks: ReturnType<typeof ticksIn>
  #end = 0

  constructor (text: string) {
    this.#text = text
    this.#ticks = ticksIn(text)
  }

  /** @returns where the next token begins at the earliest */
  take (token: string, index: number): number {
    this.#write(this.#text.slice(this.#end, index))
    this.#end = index + token.length
    if (token.startsWith('\\')) this.#write(token.slice(1))
    else if (token.startsWith('`')) this.#code(token)
    else if (token.endsWith('[')) this.#begin(token)
    else if (token === ']') this.#closeLink()
    else if (/^<?http/.test(token)) this.#address(token, index)
    else this.#emphasis(token, index)
    return this.#end
  }

  end (): readonly Inline[] {
    this.#write(this.#text.slice(this.#end))
    return joined(this.#nodes)
  }

  #write (piece: string): void {
    if (piece !== '') this.#nodes.push(piece)
  }

  #begin (mark: string): void {
    if (this.#open.length < MOST_OPEN) this.#open.push({ mark, at: this.#nodes.length })
    this.#nodes.push(mark)
  }

  /** Makes one node of all that is behind an open mark. Marks behind it stay texts. */
  #wrap (from: number, make: (inlines: readonly Inline[]) => Inline): void {
    const at = this.#open[from]?.at ?? 0
    this.#open.length = from
    this.#nodes.push(make(joined(this.#nodes.splice(at).slice(1))))
  }

  #code (token: string): void {
    const close = this.#ticks.after(token.length, this.#end)
    if (close === undefined) return this.#write(token)
    this.#nodes.push({ kind: 'code', text: unpadded(this.#text.slice(this.#end, close).replaceAll('\n', ' ')) })
    this.#end = close + token.length
  }

  #closeLink (): void {
    const from = this.#open.findLastIndex(({ mark }) => mark.endsWith('['))
    const target = from < 0 ? undefined : targetAt(this.#text, this.#end)
    if (target === undefined) {
      if (from >= 0) this.#open.splice(from, 1)
      return this.#write(']')
    }
    const { address, end } = target
    const kind = this.#open[from]?.mark === '[' ? 'link' : 'picture'
    this.#wrap(from, inlines => ({ kind, address, inlines }))
    // A link has no other link in it.
    const others = this.#open.filter(({ mark }) => !mark.endsWith('['))
    this.#open.splice(0, Infinity, ...others)
    this.#end = end
  }

  #address (token: string, index: number): void {
    const isMarked = token.startsWith('<')
    const bare = isMarked ? token.slice(1, -1) : trimmedAddress(token)
    const address = this.#open.some(({ mark }) => mark.endsWith('[')) ? undefined : safeAddress(bare)
    if (address === undefined) return this.#write(token)
    this.#nodes.push({ kind: 'link', address, inlines: [bare] })
    if (!isMarked) this.#end = index + bare.length
  }

  #emphasis (token: string, index: number): void {
    const [before, after] = [this.#text[index - 1] ?? ' ', this.#text[this.#end] ?? ' ']
    if (token.startsWith('_') && WORD.test(before) && WORD.test(after)) return this.#write(token)
    let left = token.length
    while (left > 0 && !/\s/.test(before)) {
      const most = left
      const from = this.#open.findLastIndex(({ mark }) => mark[0] === token[0] && mark.length <= most)
      if (from < 0) break
      const size = this.#open[from]?.mark.length ?? 0
      this.#wrap(from, inlines => wrapped(token, size, inlines))
      left -= size
    }
    if (left > 0 && left <= 3 && !/\s/.test(after)) this.#begin(token.slice(0, left))
    else this.#write(token.slice(0, left))
  }
}

const WORD = /[\p{L}\p{N}]/u

/** A space on each side lets code begin with a backtick. */
function unpadded (code: string): string {
  return code.startsWith(' ') && code.endsWith(' ') && code.trim() !== '' ? code.slice(1, -1) : code
}

function wrapped (token: string, size: number, inlines: readonly Inline[]): Inline {
  if (token.startsWith('~')) return { kind: 'struck', inlines }
  if (size === 3) return { kind: 'strong', inlines: [{ kind: 'emphasis', inlines }] }
  return { kind: size === 2 ? 'strong' : 'emphasis', inlines }
}

/** Texts beside each other as one. */
function joined (nodes: readonly Inline[]): readonly Inline[] {
  const result: Inline[] = []
  let text: string[] = []
  const flush = () => {
    if (text.length > 0) result.push(text.join(''))
    text = []
  }
  for (const node of nodes) {
    if (typeof node === 'string') text.push(node)
    else {
      flush()
      result.push(node)
    }
  }
  flush()
  return result
}

/** Where each run of backticks begins, by its length, so that the end of each piece of code is found without a search. */
function ticksIn (text: string) {
  const places = new Map<number, { readonly starts: number[], next: number }>()
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const known = places.get(run.length)
    if (known === undefined) places.set(run.length, { starts: [index], next: 0 })
    else known.starts.push(index)
  }
  /** @param from never less than that of the call before */
  const after = (length: number, from: number): number | undefined => {
    const known = places.get(length)
    if (known === undefined) return undefined
    while ((known.starts[known.next] ?? Infinity) < from) known.next++
    return known.starts[known.next]
  }
  return { after }
}

/** The address in parentheses behind the text of a link. Brackets end the search, so that nothing is searched for two links. */
function targetAt (text: string, from: number): { readonly address: string, readonly end: number } | undefined {
  let [at, depth] = [from, 0]
  for (; at < text.length && !/[\s<>[\]]/.test(text[at] as string); at++) {
    if (text[at] === '(') depth++
    if (text[at] === ')') depth--
    if (depth === 0) break
  }
  const title = /[ \n]"[^"[\]]*"\)/y
  title.lastIndex = at
  if (at === from || depth !== (text[at] === ')' ? 0 : 1) || (depth === 1 && !title.test(text))) return undefined
  const address = safeAddress(text.slice(from + 1, at))
  return address === undefined ? undefined : { address, end: depth === 1 ? title.lastIndex : at + 1 }
}

/** A sentence's end is no part of an address in it, nor is a parenthesis around it. */
function trimmedAddress (address: string): string {
  let surplus = address.split(')').length - address.split('(').length
  let end = address.length
  for (; ".,;:!?'*_~".includes(address[end - 1] ?? ' ') || (address[end - 1] === ')' && surplus > 0); end--) if (address[end - 1] === ')') surplus--
  return address.slice(0, end)
}

/** The address as the browser takes it, with the letters of foreign alphabets in its host written out. */
function safeAddress (address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, href } = new URL(address)
  return ['https:', 'http:', 'mailto:'].includes(protocol) ? href : undefined
}
