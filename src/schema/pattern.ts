import type { RegExpEngine } from 'ajv/dist/types/index.js'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import type { WorkMeter } from './vocabulary.ts'

/** In UTF-16 units. */
const MAX_PATTERN = 500

/** All expressions of a schema together; compiling takes about 1 µs for each state. */
const MAX_STATES = 20_000

/** Added for each `\p{…}` (it has hundreds of ranges) and each character: both take time to compile. */
const PROPERTY_STATES = 150
const CHARACTER_STATES = 0.1

/** RE2 runs patterns in time linear to the text. Look-around and back references are refused when the schema is compiled. */
export function createPatternEngine (meter: WorkMeter): RegExpEngine {
  let states = 0
  const charge = (more: number) => {
    states += more
    if (states > MAX_STATES) throw new Error(`its patterns need more than ${MAX_STATES} states`)
  }
  const compile = (pattern: string) => {
    if (pattern.length > MAX_PATTERN) throw new Error(`a pattern is longer than ${MAX_PATTERN} characters`)
    const linear = withPattern(pattern, () => toLinearPattern(pattern))
    charge(linear.length * CHARACTER_STATES + (linear.split(/\\[pP]/).length - 1) * PROPERTY_STATES)
    const automaton = withPattern(pattern, () => RE2JS.compile(linear))
    const size = automaton.programSize()
    charge(size)
    return {
      test (text: string): boolean {
        meter.tryPattern(text.length, size)
        return automaton.test(text)
      },
      // ajv recognises equal patterns by this text.
      toString: () => pattern
    }
  }
  return Object.assign(compile as unknown as RegExpEngine, { code: 'new RegExp' })
}

function withPattern<T> (pattern: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    // RE2's whole message would quote the translated pattern, which the author does not know.
    const reason = error instanceof RE2JSSyntaxException ? error.getDescription() : (error as Error).message
    throw new Error(`pattern "${pattern}" is not supported: ${reason}`)
  }
}

/** The limit of RE2. */
const MAX_REPEATS = 1000

/** RE2 needs the short names; ECMA-262 allows the long ones too. */
const CATEGORIES = new Map(Object.entries({
  C: ['Other'],
  Cc: ['Control', 'cntrl'],
  Cf: ['Format'],
  Cn: ['Unassigned'],
  Co: ['Private_Use'],
  Cs: ['Surrogate'],
  L: ['Letter'],
  LC: ['Cased_Letter'],
  Ll: ['Lowercase_Letter'],
  Lm: ['Modifier_Letter'],
  Lo: ['Other_Letter'],
  Lt: ['Titlecase_Letter'],
  Lu: ['Uppercase_Letter'],
  M: ['Mark', 'Combining_Mark'],
  Mc: ['Spacing_Mark'],
  Me: ['Enclosing_Mark'],
  Mn: ['Nonspacing_Mark'],
  N: ['Number'],
  Nd: ['Decimal_Number', 'digit'],
  Nl: ['Letter_Number'],
  No: ['Other_Number'],
  P: ['Punctuation', 'punct'],
  Pc: ['Connector_Punctuation'],
  Pd: ['Dash_Punctuation'],
  Pe: ['Close_Punctuation'],
  Pf: ['Final_Punctuation'],
  Pi: ['Initial_Punctuation'],
  Po: ['Other_Punctuation'],
  Ps: ['Open_Punctuation'],
  S: ['Symbol'],
  Sc: ['Currency_Symbol'],
  Sk: ['Modifier_Symbol'],
  Sm: ['Math_Symbol'],
  So: ['Other_Symbol'],
  Z: ['Separator'],
  Zl: ['Line_Separator'],
  Zp: ['Paragraph_Separator'],
  Zs: ['Space_Separator'],
  Ascii: ['ASCII']
}).flatMap(([short, names]) => names.map((name): [string, string] => [name, short])))

type CodeRange = readonly [first: number, last: number]

const LAST_POINT = 0x10ffff

const LINE_ENDS: readonly CodeRange[] = [[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]]

/** Without the flag `i`: https://tc39.es/ecma262/#sec-compiletocharset */
const CLASSES: Readonly<Record<string, readonly CodeRange[]>> = {
  d: [[0x30, 0x39]],
  s: [
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff]
  ],
  w: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a]
  ]
}

const CONTROLS: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d }

const QUANTIFIER = /\{(\d+)(?:,(\d*))?\}/y

const GROUP = /\((?:\?(?::|<(?![=!])[^>]*>|(<?[=!])|(.?)))?/suy

const ESCAPE = new RegExp([
  'u\\{(?<long>[\\da-fA-F]+)\\}', 'u(?<high>[dD][89abAB][\\da-fA-F]{2})\\\\u(?<low>[dD][c-fC-F][\\da-fA-F]{2})', 'u(?<unit>[\\da-fA-F]{4})',
  'x(?<byte>[\\da-fA-F]{2})', 'c(?<control>[a-zA-Z])', '(?<nul>0)(?!\\d)', '[pP]\\{(?<property>[\\w=]+)\\}', '(?<set>[dDsSwW])', '(?<white>[tnvfr])',
  '(?<boundary>[bB])', '(?<back>[1-9]|k<)', '(?<itself>[^\\da-zA-Z])'
].map(form => `\\\\(?:${form})`).join('|'), 'suy')

type Item = number | string

/** ECMA-262 and RE2 look alike but differ, so each character and class is spelled out. Accepts the grammar without `u` too. @throws Error */
export function toLinearPattern (pattern: string): string {
  let place = 0
  let written = ''

  function take (expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = place
    const match = expression.exec(pattern) ?? undefined
    place += match?.[0].length ?? 0
    return match
  }

  function takePoint (): number {
    const point = pattern.codePointAt(place) as number
    place += String.fromCodePoint(point).length
    return point
  }

  function takeEscape (): RegExpExecArray {
    const found = take(ESCAPE)
    if (found === undefined) throw new Error(`${pattern.slice(place, place + 2)} is no escape of ECMA-262`)
    if (found.groups?.['back'] !== undefined) throw new Error('it refers back to a group, which cannot be checked in time linear to the text')
    return found
  }

  function takeItem (): Item {
    return pattern[place] === '\\' ? itemOf(takeEscape()) : takePoint()
  }

  function takeClass (): string {
    place++
    const isNegated = pattern[place] === '^'
    if (isNegated) place++
    let inside = ''
    while (pattern[place] !== ']') {
      if (place >= pattern.length) throw new Error('it has a [ without its ]')
      const first = takeItem()
      // A hyphen at the end of a class, or next to an escape for several characters, stands for itself.
      if (typeof first === 'number' && pattern[place] === '-' && pattern[place + 1] !== ']') {
        place++
        const last = takeItem()
        if (typeof last === 'number' && last < first) throw new Error(`it has a range that ends before it begins: ${spell(first)}-${spell(last)}`)
        inside += typeof last === 'number' ? rangeText([first, last]) : spell(first) + spell(0x2d) + last
      } else {
        inside += typeof first === 'number' ? spell(first) : first
      }
    }
    place++
    return inside === '' ? `[${isNegated ? '' : '^'}${rangeText([0, LAST_POINT])}]` : `[${isNegated ? '^' : ''}${inside}]`
  }

  function takeGroup (): string {
    const [opening, around, other] = take(GROUP) as RegExpExecArray
    if (around !== undefined) {
      throw new Error(
        'it looks ahead or behind, which cannot be checked in time linear to the text: use "not", or several patterns in "allOf"'
      )
    }
    if (other !== undefined) throw new Error(`${opening} begins no group of ECMA-262`)
    return '(?:'
  }

  function takeQuantifier (): string | undefined {
    const [text, least, most] = take(QUANTIFIER) ?? []
    if (text !== undefined && Math.max(Number(least), Number(most ?? 0)) > MAX_REPEATS) {
      throw new Error(`it repeats something more than ${MAX_REPEATS} times`)
    }
    return text
  }

  while (place < pattern.length) {
    const next = pattern[place] as string
    if (next === '\\') {
      const escape = takeEscape()
      written += escape.groups?.['boundary'] === undefined ? itemText(itemOf(escape)) : escape[0]
    } else if (next === '[') {
      written += takeClass()
    } else if (next === '(') {
      written += takeGroup()
    } else if (next === '{') {
      written += takeQuantifier() ?? spell(takePoint())
    } else if (next === '.') {
      place++
      written += `[^${LINE_ENDS.map(rangeText).join('')}]`
    } else if ('^$|)*+?'.includes(next)) {
      place++
      written += next
    } else {
      written += spell(takePoint())
    }
  }
  return written
}

/** `\b` is a backspace: callers pass it only from inside a character class. */
function itemOf ({ 0: text, groups = {} }: RegExpExecArray): Item {
  const { long, high, low, unit, byte, control, nul, property, set, white, boundary, itself } = groups
  if (set !== undefined) return setText(set)
  if (property !== undefined) return propertyText(text, property)
  if (white !== undefined) return CONTROLS[white] as number
  if (nul !== undefined) return 0
  if (control !== undefined) return control.charCodeAt(0) % 32
  if (high !== undefined) return String.fromCharCode(...[high, low].map(half => Number.parseInt(half as string, 16))).codePointAt(0) as number
  if (boundary === 'b') return 0x08
  if (itself !== undefined) return itself.codePointAt(0) as number
  const point = Number.parseInt(long ?? unit ?? byte ?? '', 16)
  if (!(point <= LAST_POINT)) throw new Error(`${text} is no character`)
  return point
}

function itemText (item: Item): string {
  return typeof item === 'number' ? spell(item) : `[${item}]`
}

function setText (set: string): string {
  const ranges = CLASSES[set.toLowerCase()] as readonly CodeRange[]
  return (set === set.toLowerCase() ? ranges : complement(ranges)).map(rangeText).join('')
}

function complement (ranges: readonly CodeRange[]): CodeRange[] {
  const edges = [-1, ...ranges.flat(), LAST_POINT + 1]
  return Array.from({ length: edges.length / 2 }, (_gap, index): CodeRange => [edges[2 * index] as number + 1, edges[2 * index + 1] as number - 1])
}

/**
 * Translates a Unicode property such as `\p{Letter}` to RE2's name for it. ECMA-262 writes categories and scripts in several ways, RE2 in
 * one, and RE2 has few other properties.
 */
function propertyText (text: string, expression: string): string {
  if (!isProperty(expression)) {
    throw new Error(`${text} is no property of ECMA-262${isProperty(`Script=${expression}`) ? `: write ${text.replace('{', '{Script=')}` : ''}`)
  }
  const [, value = expression] = /^(?:General_Category|gc|Script|sc)=(\w+)$/.exec(expression) ?? []
  const name = CATEGORIES.get(value) ?? value
  try {
    RE2JS.compile(`\\p{${name}}`)
  } catch {
    throw new Error(
      `${text} is not among the properties that it may use: general categories, as in \\p{L} or \\p{Letter}, and scripts by their long names, as in \\p{Script=Greek}`
    )
  }
  return `${text.slice(0, 2)}{${name}}`
}

function isProperty (expression: string): boolean {
  try {
    return new RegExp(`\\p{${expression}}`, 'u').unicode
  } catch {
    return false
  }
}

function rangeText ([first, last]: CodeRange): string {
  return first === last ? spell(first) : `${spell(first)}-${spell(last)}`
}

function spell (point: number): string {
  const character = String.fromCodePoint(point)
  return /[\dA-Za-z]/.test(character) ? character : `\\x{${point.toString(16)}}`
}
