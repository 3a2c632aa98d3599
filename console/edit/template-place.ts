/**
 * What stands at an offset of a template, roughly: which token of which tag, what may be written there, and which names the blocks around
 * it have made. It reads texts that are being typed, so that nothing is an error here; the service finds the mistakes.
 */

export type Syntax = 'go' | 'handlebars'

/**
 * What may stand at a place: `start` is the first word of a tag, `call` a place where a function may be called, `value` an argument, `made` a
 * name that the tag itself makes.
 */
export type Role = 'start' | 'call' | 'value' | 'partial' | 'block' | 'close' | 'made'

/** A block that is open at the place, or another tag that has made names. */
export interface Block {
  /** The word that opened it, such as `each`; `''` for a tag that opens nothing. */
  readonly word: string
  readonly tag: string
  /** The line of the tag, counted from 1. */
  readonly line: number
  /** The path that the block is about, if it is about nothing but a path. */
  readonly path: string | undefined
  /** The names that the tag makes; the first is that of the value or the element, the second that of its index or key. */
  readonly names: readonly string[]
}

/** A name that is known only within a block. */
export interface Local { readonly name: string, readonly by: Block }

export interface Place {
  /** The token at the offset, which a completion replaces; of a completion only what stands before the offset. */
  readonly from: number
  readonly to: number
  readonly text: string
  readonly role: Role
  /** Whether arguments follow the token in its tag: in Handlebars a name without them is a value. */
  readonly hasArguments: boolean
  /** Whether the token stands between quotes, or begins with one. */
  readonly isQuoted: boolean
  readonly locals: readonly Local[]
  /** The open blocks that have changed the dot, the innermost last: names then begin at what the block is about. */
  readonly dots: readonly Block[]
  readonly open: Block | undefined
}

/** A tag; its closing braces begin at `close`, which is its end as long as nobody has typed them. */
interface Tag { readonly start: number, readonly close: number, readonly end: number, readonly tokens: readonly Token[] }

interface Token { readonly kind: 'name' | 'text' | 'other', readonly from: number, readonly to: number, readonly text: string }

/** What holds within a block, and what held around it. */
interface Frame { readonly block: Block | undefined, readonly dots: readonly Block[], readonly locals: readonly Local[], readonly outer: Frame | undefined }

const OUTSIDE: Frame = { block: undefined, dots: [], locals: [], outer: undefined }

/** So many blocks and names are kept at most: a text of nothing but tags that open blocks must not take time in the square of its length. */
const MOST_KEPT = 100

/** The place of a completion: what was typed before the offset, within a tag; `undefined` in plain text, comments and finished texts. */
export function placeBefore (text: string, offset: number, syntax: Syntax): Place | undefined {
  const { tag, frame } = tagAt(text, offset, syntax)
  if (tag === undefined) return undefined
  const before = tag.tokens.filter(({ from }) => from < offset)
  const last = before.at(-1)
  const isAt = last !== undefined && last.to >= offset && last.kind !== 'other'
  if (isAt && last.kind === 'text' && last.to === offset && isClosed(last.text)) return undefined
  const token: Token = isAt ? { ...last, to: offset, text: last.text.slice(0, offset - last.from) } : { kind: 'name', from: offset, to: offset, text: '' }
  return placeOf(text, token, isAt ? before.slice(0, -1) : before, [], frame, tag, syntax)
}

/** The place of the name that stands around the offset, up to the end of the segment at the offset; `undefined` where there is none. */
export function placeAround (text: string, offset: number, syntax: Syntax): Place | undefined {
  const { tag, frame } = tagAt(text, offset, syntax)
  const index = tag?.tokens.findIndex(({ from, to, kind }) => kind !== 'other' && from <= offset && offset <= to) ?? -1
  const token = tag?.tokens[index]
  if (tag === undefined || token === undefined) return undefined
  const place = placeOf(text, token, tag.tokens.slice(0, index), tag.tokens.slice(index + 1), frame, tag, syntax)
  if (place === undefined || place.role === 'partial' || token.kind === 'text') return place
  const rest = /^[^./]*/.exec(token.text.slice(offset - token.from))?.[0].length ?? 0
  const to = Math.max(offset + rest, token.from + (/^(?:@|\$|\.\.\/|\.)*[^./]*/.exec(token.text)?.[0].length ?? 0))
  return { ...place, to, text: text.slice(token.from, to), hasArguments: place.hasArguments && to === token.to }
}

function placeOf (
  text: string,
  token: Token,
  before: readonly Token[],
  after: readonly Token[],
  { dots, locals, block }: Frame,
  tag: Tag,
  syntax: Syntax
): Place | undefined {
  const role = syntax === 'go' ? roleInGo(before, token) : roleInHandlebars(before, token, after)
  if (role === undefined || (token.kind === 'text' && role !== 'partial')) return undefined
  // What follows a closing parenthesis is a member of what the call gives.
  if (token.from > 0 && text[token.from - 1] === ')' && token.text.startsWith('.')) return undefined
  const isQuoted = /^["'`]/.test(token.text)
  return {
    from: token.from,
    to: token.to,
    text: isQuoted ? token.text.replace(/^["'`]|["'`]$/g, '') : token.text,
    role,
    hasArguments: after.some(({ kind, text: other }) => kind !== 'other' || other === '('),
    isQuoted,
    // The names that the tag itself makes are known where they are made.
    locals: [...locals, ...localsOf(blockOf(tag, '', text, syntax)).filter(({ name }) => name === token.text)],
    dots: syntax === 'handlebars' ? dots.slice(0, Math.max(0, dots.length - (token.text.match(/\.\.(?=\/|$)/g)?.length ?? 0))) : dots,
    open: block
  }
}

function roleInGo (before: readonly Token[], token: Token): Role | undefined {
  const words = before.filter(({ text }) => text !== '-')
  const last = words.at(-1)
  const [first] = words
  if (last === undefined || first === undefined) return token.kind === 'text' ? undefined : 'start'
  if ((first.text === 'template' || first.text === 'block') && words.length === 1) return 'partial'
  if (first.text === 'define') return undefined
  if (last.text === 'else' && words.length === 1) return 'start'
  return /^(?:[(|]|:?=|if|with|range)$/.test(last.text) ? 'call' : 'value'
}

function roleInHandlebars (before: readonly Token[], token: Token, after: readonly Token[]): Role | undefined {
  const words = before.filter(({ text }) => !/^[~{&]$/.test(text))
  const names = words.filter(({ kind }) => kind !== 'other')
  const last = words.at(-1)
  if (last === undefined) return token.kind === 'text' ? undefined : 'start'
  const bars = words.filter(({ text }) => text === '|').length
  if (bars > 0) return bars === 1 ? 'made' : undefined
  if (names.length === 0) {
    const sigils = words.map(({ text }) => text).join('')
    return ({ '>': 'partial', '#>': 'partial', '#': 'block', '^': 'block', '/': 'close', '(': 'call' } as const)[sigils]
  }
  if (last.text === 'else' && names.length === 1) return 'block'
  // The name of a named argument.
  if (after[0]?.text === '=') return undefined
  return last.text === '(' ? 'call' : 'value'
}

/** The tag around the offset, and what holds there. */
function tagAt (text: string, offset: number, syntax: Syntax): { readonly tag: Tag | undefined, readonly frame: Frame } {
  let frame = OUTSIDE
  for (const tag of tagsOf(text, syntax)) {
    if (offset <= tag.close) return { tag: offset < tag.start + 2 ? undefined : tag, frame }
    frame = syntax === 'go' ? afterGo(frame, tag, text) : afterHandlebars(frame, tag, text)
  }
  return { tag: undefined, frame }
}

function isClosed (text: string): boolean {
  return text.length > 1 && text.at(-1) === text[0]
}

const COMMENTS: Readonly<Record<Syntax, readonly (readonly [opens: RegExp, closes: string])[]>> = {
  go: [[/\{\{(?:-\s)?\s*\/\*/y, '*/']],
  handlebars: [[/\{\{~?!--/y, '--'], [/\{\{~?!/y, '}}']]
}

const TEXT = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`[^`]*`?/y
const NUMBER = /-?\d+(?:\.\d+)?(?![\w.])/y
/** In Handlebars nearly every character may stand in a name; `[ ]` encloses one with the others. */
const NAMES: Readonly<Record<Syntax, RegExp>> = {
  go: /(?:\$[\p{L}\p{N}_]*|[\p{L}_][\p{L}\p{N}_]*)(?:\.[\p{L}\p{N}_]*)*|(?:\.[\p{L}\p{N}_]*)+/uy,
  handlebars: /@?(?:\.\.?\/)*(?:(?:\[[^\]\n]{0,200}\]|[^\s!"#%&'()*+,./;<=>@[\\\]^`{|}~]+)(?:[./](?:\[[^\]\n]{0,200}\]|[^\s!"#%&'()*+,./;<=>@[\\\]^`{|}~]+))*[./]?|\.\.?)|@|(?:\.\.?\/)+/uy
}

/** The tags of a template, in their order, without comments. A tag that nobody has closed ends with its line, or where the next begins. */
function * tagsOf (text: string, syntax: Syntax): Generator<Tag> {
  for (let start = text.indexOf('{{'); start >= 0;) {
    if (syntax === 'handlebars' && text[start - 1] === '\\' && text[start - 2] !== '\\') {
      start = text.indexOf('{{', start + 2)
      continue
    }
    const comment = COMMENTS[syntax].find(([opens]) => matchAt(opens, text, start) !== undefined)
    if (comment !== undefined) {
      const inside = start + (matchAt(comment[0], text, start) as string).length
      const close = text.indexOf(comment[1], inside)
      start = close < 0 ? -1 : text.indexOf('{{', close)
      continue
    }
    const tag = tagFrom(text, start, syntax)
    yield tag
    start = text.indexOf('{{', tag.end)
  }
}

function tagFrom (text: string, start: number, syntax: Syntax): Tag {
  const tokens: Token[] = []
  let at = start + 2
  while (at < text.length) {
    if (text.startsWith('}}', at)) return { start, close: at, end: at + (text[start + 2] === '{' && text[at + 2] === '}' ? 3 : 2), tokens }
    if (text.startsWith('{{', at) && at > start + 2) break
    const [kind, word] = tokenAt(text, at, syntax)
    if (kind !== undefined) tokens.push({ kind, from: at, to: at + word.length, text: word })
    at += word.length
  }
  const line = text.indexOf('\n', start)
  const end = line < 0 ? at : Math.min(at, line)
  return { start, close: end, end, tokens: tokens.filter(({ to }) => to <= end) }
}

function tokenAt (text: string, at: number, syntax: Syntax): readonly [kind: Token['kind'] | undefined, word: string] {
  const space = matchAt(/\s+/y, text, at)
  if (space !== undefined) return [undefined, space]
  const quoted = matchAt(TEXT, text, at)
  // A text that is not closed yet ends before the braces.
  if (quoted !== undefined) return ['text', isClosed(quoted) || !quoted.includes('}}') ? quoted : quoted.slice(0, quoted.indexOf('}}'))]
  const number = matchAt(NUMBER, text, at)
  if (number !== undefined) return ['other', number]
  const name = matchAt(NAMES[syntax], text, at)
  if (name !== undefined) return ['name', name]
  return ['other', text.startsWith(':=', at) ? ':=' : text[at] as string]
}

function matchAt (pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** Its line is counted only when it is told: in a long text that takes longer than all else. */
function blockOf ({ start, end, tokens }: Tag, word: string, text: string, syntax: Syntax): Block {
  return {
    word,
    tag: text.slice(start, end),
    ...syntax === 'go' ? headInGo(tokens) : headInHandlebars(tokens),
    get line () { return text.slice(0, start).split('\n').length }
  }
}

/** `range $index, $element := .path` */
function headInGo (tokens: readonly Token[]): Pick<Block, 'path' | 'names'> {
  const sign = tokens.findIndex(({ text }) => text === ':=')
  const rest = tokens.slice(sign + 1).filter(({ text }) => text !== '-' && !/^(?:else|if|range|with)$/.test(text))
  return {
    path: rest.length === 1 ? rest[0]?.text : undefined,
    names: tokens.slice(0, Math.max(0, sign)).map(({ text }) => text).filter(text => /^\$[^.]+$/.test(text)).toReversed()
  }
}

/** `#each path as |element index|` */
function headInHandlebars (tokens: readonly Token[]): Pick<Block, 'path' | 'names'> {
  const as = tokens.findIndex(({ text }, index) => text === 'as' && tokens[index + 1]?.text === '|')
  const head = tokens.slice(0, as < 0 ? undefined : as).filter(({ text }) => !/^[#~]$|^else$/.test(text))
  return {
    path: head.length === 2 ? head[1]?.text : undefined,
    names: as < 0 ? [] : tokens.slice(as + 2).filter(({ kind }) => kind === 'name').map(({ text }) => text)
  }
}

const DATA_OF_EACH = ['@index', '@key', '@first', '@last']

function localsOf (by: Block): readonly Local[] {
  return [...by.names, ...by.word === 'each' ? DATA_OF_EACH : []].map(name => ({ name, by }))
}

const GO_BLOCKS = new Set(['if', 'range', 'with', 'define', 'block'])

function afterGo (frame: Frame, tag: Tag, text: string): Frame {
  const words = tag.tokens.filter(({ text: word }) => word !== '-')
  const isElse = words[0]?.text === 'else'
  const word = (isElse ? words[1] : words[0])?.text ?? ''
  if (word === 'end') return frame.outer ?? OUTSIDE
  if (isElse && word === '') return afterElse(frame)
  const isBlock = GO_BLOCKS.has(word)
  if (!isBlock && tag.tokens.every(({ text: token }) => token !== ':=')) return frame
  const outer = isElse ? frame.outer ?? OUTSIDE : frame
  const block = blockOf(tag, isBlock ? word : '', text, 'go')
  if (word === 'define' || word === 'block') return { ...OUTSIDE, block, outer }
  const inner = within(outer, block, word === 'if' || !isBlock)
  return isBlock ? inner : { ...inner, block: frame.block, outer: frame.outer }
}

function within (outer: Frame, block: Block, keepsDot: boolean): Frame {
  return {
    block,
    outer,
    dots: keepsDot ? outer.dots : [...outer.dots.slice(1 - MOST_KEPT), block],
    locals: [...outer.locals, ...localsOf(block)].slice(-MOST_KEPT)
  }
}

/** What holds outside of a block holds after its `else`, too. */
function afterElse ({ block, outer = OUTSIDE }: Frame): Frame {
  return { ...outer, block, outer }
}

const KEEPS_DOT = new Set(['if', 'unless'])

function afterHandlebars (frame: Frame, tag: Tag, text: string): Frame {
  const sigils = /^\{{2,3}~?\s*([#^/>]?[>*]?)/.exec(text.slice(tag.start, tag.start + 20))?.[1] ?? ''
  const names = tag.tokens.filter(({ kind }) => kind !== 'other')
  const isElse = sigils === '' && names[0]?.text === 'else'
  const word = names[isElse ? 1 : 0]?.text
  if (sigils === '/') return frame.outer ?? OUTSIDE
  if (!isElse && !/^[#^]/.test(sigils)) return frame
  if (word === undefined) return afterElse(frame)
  const outer = isElse ? frame.outer ?? OUTSIDE : frame
  const block = blockOf(tag, word, text, 'handlebars')
  if (sigils === '#*') return { ...OUTSIDE, block, outer }
  const inner = within(outer, block, sigils === '#>' || sigils === '^' || KEEPS_DOT.has(word))
  // The closing tag names the word that opened the block, also after an `{{else each}}`.
  return isElse ? { ...inner, block: frame.block } : inner
}
