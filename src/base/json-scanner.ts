import { JsonError, MAX_DIGITS, MAX_JSON_DEPTH, placeOf } from './json.ts'

/** Offsets of a member of the whole object: of its name's quote, of its value, and of what follows it. */
export interface ScannedMember {
  readonly start: number
  value: number
  end: number
}

/** Of the whole object: each name is kept. */
const MAX_MEMBERS = 1000

/** A shorter number without an exponent is never too large for a double. */
const DIGITS_OF_LARGEST = 300

// What may come next; a name or a value as long as it is less than `COLON`.
const VALUE = 0
const VALUE_OR_END = 1
const NAME = 2
const NAME_OR_END = 3
const COLON = 4
const COMMA_OR_END = 5
const NOTHING = 6

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OBJECT = 0x7b
const LIST = 0x5b

const PROTOTYPE = Buffer.from('__proto__')
const LITERALS = ['true', 'false', 'null'].map(each => Buffer.from(each))

/**
 * Finds the members of a JSON object in its bytes (valid UTF-8, no byte order mark), without making values of them, and refuses what a parsed
 * body is refused for. Texts are read four bytes at a time, and a large body slice by slice, so that others are served between them.
 */
export class JsonScanner {
  readonly members = new Map<string, ScannedMember>()
  /** A member that is there twice: two readers may take different ones. */
  duplicate: string | undefined
  /** Of the member `list`, if all its items are objects with a text under that name. */
  items: number | undefined
  isOver = false
  readonly #bytes: Buffer
  readonly #list: string
  readonly #textOfItems: Buffer
  /** The same memory; the first word begins `#shift` bytes before the first byte. */
  readonly #words: Int32Array
  readonly #shift: number
  readonly #kinds = new Uint8Array(MAX_JSON_DEPTH + 1)
  #depth = 0
  #next = VALUE
  #at = 0
  /** Of the text that the last slice has not reached the end of. */
  #openText: number | undefined
  #hasEscape = false
  #member: ScannedMember | undefined
  #isInList = false
  #itemHasText = false
  #isTextNext = false

  constructor (bytes: Buffer, list: string, textOfItems: Buffer) {
    this.#bytes = bytes
    this.#list = list
    this.#textOfItems = textOfItems
    this.#shift = bytes.byteOffset & 3
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset - this.#shift, (bytes.length + this.#shift) >> 2)
  }

  /** Reads on, about so many bytes. @throws JsonError */
  run (length: number): void {
    const bytes = this.#bytes
    const until = Math.min(bytes.length, this.#at + length)
    if (this.#openText !== undefined) this.#readText(this.#openText, until)
    while (this.#at < until) {
      const code = bytes[this.#at] as number
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) this.#at++
      else this.#read(code, until)
    }
    if (this.#at < bytes.length) return
    if (this.#next !== NOTHING) throw this.#error('the text ends too early')
    this.isOver = true
  }

  #read (code: number, until: number): void {
    const next = this.#next
    const kind = this.#kinds[this.#depth]
    if (next <= VALUE_OR_END) {
      if (code === 0x5d && next === VALUE_OR_END) this.#close()
      else this.#readValue(code, until)
    } else if (next <= NAME_OR_END) {
      if (code === QUOTE) this.#beginText(until)
      else if (code === 0x7d && next === NAME_OR_END) this.#close()
      else throw this.#unexpected()
    } else if (next === COLON) {
      if (code !== 0x3a) throw this.#unexpected()
      this.#at++
      this.#next = VALUE
    } else if (next === NOTHING) throw this.#unexpected()
    else if (code === 0x2c) {
      this.#at++
      this.#next = kind === OBJECT ? NAME : VALUE
    } else if (code === (kind === OBJECT ? 0x7d : 0x5d)) this.#close()
    else throw this.#unexpected()
  }

  #readValue (code: number, until: number): void {
    if (this.#depth === 1) this.#beginMember(code)
    else if (this.#isInList) this.#followList(code)
    if (code === OBJECT || code === LIST) this.#open(code)
    else if (code === QUOTE) this.#beginText(until)
    else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) this.#readNumber()
    else this.#readLiteral()
  }

  #beginMember (code: number): void {
    const member = this.#member as ScannedMember
    member.value = this.#at
    this.#isInList = code === LIST && member === this.members.get(this.#list)
    if (this.#isInList) this.items = 0
  }

  #followList (code: number): void {
    if (this.#depth === 2) {
      this.#itemHasText = false
      if (code !== OBJECT) this.#leaveList()
    } else if (this.#isTextNext) {
      this.#isTextNext = false
      this.#itemHasText = true
      if (code !== QUOTE) this.#leaveList()
    }
  }

  #leaveList (): void {
    this.#isInList = false
    this.items = undefined
  }

  #open (kind: number): void {
    if (this.#depth === MAX_JSON_DEPTH) throw this.#error(`nested deeper than ${MAX_JSON_DEPTH}`)
    if (this.#depth === 0 && kind !== OBJECT) throw this.#error('it is no object')
    this.#kinds[++this.#depth] = kind
    this.#at++
    this.#next = kind === OBJECT ? NAME_OR_END : VALUE_OR_END
  }

  #close (): void {
    this.#at++
    if (this.#isInList && this.#depth === 3) {
      if (!this.#itemHasText) this.#leaveList()
      else (this.items as number)++
    } else if (this.#depth === 2) this.#isInList = false
    this.#depth--
    this.#endValue()
  }

  #endValue (): void {
    this.#next = this.#depth === 0 ? NOTHING : COMMA_OR_END
    if (this.#depth === 1) (this.#member as ScannedMember).end = this.#at
  }

  #beginText (until: number): void {
    const start = this.#at++
    this.#hasEscape = false
    this.#readText(start, until)
  }

  #readText (start: number, until: number): void {
    const end = this.#at = this.#skipText(until)
    this.#openText = this.#bytes[end] === QUOTE ? undefined : start
    if (this.#openText !== undefined) return
    this.#at++
    if (this.#next === NAME || this.#next === NAME_OR_END) this.#endName(start, end)
    else if (this.#depth === 0) throw this.#error('it is no object')
    else this.#endValue()
  }

  /** To the quote behind the text, or to about `until`. */
  #skipText (until: number): number {
    const bytes = this.#bytes
    const shift = this.#shift
    let at = this.#at
    while (at < until) {
      if (((at + shift) & 3) === 0) at = (this.#skipWords((at + shift) >> 2, (until + shift) >> 2) << 2) - shift
      if (at === until) break
      const code = bytes[at] as number
      if (code === QUOTE) return at
      if (code === BACKSLASH) at = this.#skipEscape(at)
      else if (code < 0x20) throw this.#error('a text holds a control character, which must be escaped', at)
      else at++
    }
    return at
  }

  /** To the first word with a quote, a backslash or a control character. */
  #skipWords (from: number, until: number): number {
    const words = this.#words
    let at = from
    for (; at < until; at++) {
      const four = words[at] as number
      // A quote and a blank change places, so that what ends a text is less than 0x21; a byte is less than n where its subtraction borrows.
      const quotes = four ^ 0x02020202
      const slashes = four ^ 0x5c5c5c5c
      if (((((quotes - 0x21212121) & ~quotes) | ((slashes - 0x01010101) & ~slashes)) & 0x80808080) !== 0) break
    }
    return at
  }

  #skipEscape (at: number): number {
    this.#hasEscape = true
    switch (this.#bytes[at + 1]) {
      case QUOTE: case BACKSLASH: case 0x2f: case 0x62: case 0x66: case 0x6e: case 0x72: case 0x74: return at + 2
      case 0x75: if (isHexadecimal(this.#bytes, at + 2, at + 6)) return at + 6
    }
    throw this.#error('a text holds an escape that JSON does not have', at)
  }

  #endName (start: number, end: number): void {
    this.#next = COLON
    const escaped = this.#hasEscape ? JSON.parse(this.#bytes.toString('utf8', start, end + 1)) as string : undefined
    if (this.#isName(PROTOTYPE, start, end, escaped)) throw this.#error('the key "__proto__" is not allowed')
    if (this.#depth === 1) this.#addMember(escaped ?? this.#bytes.toString('utf8', start + 1, end), start)
    else if (this.#isInList && this.#depth === 3) this.#isTextNext = this.#isName(this.#textOfItems, start, end, escaped)
  }

  #isName (wanted: Buffer, start: number, end: number, escaped: string | undefined): boolean {
    return escaped === undefined ? isAt(this.#bytes, start + 1, end, wanted) : escaped === wanted.toString()
  }

  #addMember (name: string, start: number): void {
    if (this.members.size === MAX_MEMBERS) throw this.#error(`it has more than ${MAX_MEMBERS} members`)
    if (this.members.has(name)) this.duplicate ??= name
    this.#member = { start, value: 0, end: 0 }
    this.members.set(name, this.#member)
  }

  #readNumber (): void {
    const bytes = this.#bytes
    const start = this.#at
    const first = bytes[start] === 0x2d ? start + 1 : start
    const whole = this.#skipDigits(first)
    if (bytes[first] === 0x30 && whole > first + 1) throw this.#error('a number begins with 0')
    const fraction = bytes[whole] === 0x2e ? this.#skipDigits(whole + 1) : whole
    const hasExponent = bytes[fraction] === 0x65 || bytes[fraction] === 0x45
    const sign = hasExponent ? bytes[fraction + 1] : undefined
    const end = hasExponent ? this.#skipDigits(sign === 0x2b || sign === 0x2d ? fraction + 2 : fraction + 1) : fraction
    if (end === whole) {
      if (end - start > MAX_DIGITS) throw this.#error(`an integer has more than ${MAX_DIGITS} digits`)
    } else if ((hasExponent || end - start > DIGITS_OF_LARGEST) && !Number.isFinite(Number(bytes.toString('latin1', start, end)))) {
      throw this.#error('1.8e308 is the most that can be held, and a number is beyond it')
    }
    this.#at = end
    if (this.#depth === 0) throw this.#error('it is no object')
    this.#endValue()
  }

  #skipDigits (from: number): number {
    const bytes = this.#bytes
    let at = from
    for (let code = bytes[at]; code !== undefined && code >= 0x30 && code <= 0x39; code = bytes[at]) at++
    if (at === from) throw this.#error('a digit is expected', at)
    return at
  }

  #readLiteral (): void {
    const literal = LITERALS.find(each => isAt(this.#bytes, this.#at, this.#at + each.length, each))
    if (literal === undefined) throw this.#unexpected()
    if (this.#depth === 0) throw this.#error('it is no object')
    this.#at += literal.length
    this.#endValue()
  }

  #unexpected (): JsonError {
    const [character = ''] = this.#bytes.toString('utf8', this.#at, this.#at + 4)
    return this.#error(`${JSON.stringify(character)} is not expected`)
  }

  #error (reason: string, at = this.#at): JsonError {
    const before = this.#bytes.toString('utf8', 0, at)
    return new JsonError(reason, placeOf(before, before.length))
  }
}

function isAt (bytes: Buffer, from: number, to: number, wanted: Buffer): boolean {
  if (to - from !== wanted.length) return false
  for (let index = 0; index < wanted.length; index++) if (bytes[from + index] !== wanted[index]) return false
  return true
}

function isHexadecimal (bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = bytes[at] ?? 0
    if ((code < 0x30 || code > 0x39) && ((code | 0x20) < 0x61 || (code | 0x20) > 0x66)) return false
  }
  return true
}
