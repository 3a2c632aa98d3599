import { type Tape } from '../tape.ts'

const INTEGERS = ['0', '1', '2', '3', '-1', '5', '$.i', '$.big', '$.n', "'a'", "'\\xff'", "'世'", '017', '0xF_f', '0b11', '9223372036854775807', '-9223372036854775808', '9007199254740993', '(len $.s)', '(index $.s 0)', '(index $.u 1)', '(add $.big 1)', '(add 9223372036854775807 $.i)', '1.0', '2e0', '0x1p1', '3+0i']
const FLOATS = ['1.5', '1.0', '-0.0', '$.f', '$.g', '$.h', '(half 3)', '(half 4)', '(half 1e-323)', '1e308', '5e-324', '0.1', '1e21', '1e-12', '2.5', '0.125', '9.995', '123456.5', '1e6', '0x1.8p-3', '.5', '5.', '1_0.5']
const TEXTS = ['"abc"', '""', '$.s', '$.u', '$.r', '$.q', '"k"', '"10"', '"\\xff\\xc3"', '"\\xa9"', '"\\u00e9\\xe4"', '`a\r\n"b`', '"a b+c/%?"', '"\\x00\\u2028\\u00ad\\ufeff"', '"\\U0001F600"', '(print $.i $.f)', '(slice $.u 1 3)', '(upper $.u)', '(printf "%c" $.i)']
const LISTS = ['$.l', '$.e', '(list)', '(list 1 nil "x")', '(slice $.l 1 3)', '(slice $.l 1 2 4)', '(keys $.m)', '(index $.l 6)', '(slice (list 1 2 3 4) 1 2)', '(list $.l $.m)']
const MAPS = ['$.m', '$.d', '(obj)', '(tool 1 "a")', '(tool)', '(index $.l 7)', '(index $.m "x")', '$.m.x']
const OTHERS = ['nil', 'true', 'false', '$.nil', '$.none', '$.none.x', '$.m.nul', '(index $.m "zz")', '(index $.m "nul")', '(index $.l 3)', 'nothing', '2i', '1+2i', '(list).x', '$', '.', '.k', '.x.y', 'obj.n', '(obj).items', '$.m.nul.a', '$.s.x']

const COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge']
const FUNCTIONS = ['print', 'println', 'html', 'js', 'urlquery', 'list', 'tool', 'my_tool_v2', 'len', 'not', 'index', 'slice', 'add', 'half', 'upper', 'join', 'truth', 'keys', 'call', 'call adder', 'fail', 'and', 'or', '.s', '$', '3', 'nil', '(obj)', '(obj).n', '$.none', '$.m.x']
const PIPED = ['print', 'len', 'not', 'html', 'js', 'list', 'tool', 'half', 'upper', 'truth', 'keys', 'eq 1', 'index $.l', 'and 1', 'or 0', 'add 1', 'join "-"', 'printf "%v %T"', 'printf "%d"', 'call adder 1', 'slice $.l', 'lt 2', '(print)', '.m', 'obj.n']

/** What a damaged literal is made of. */
const LITERAL_PIECES = ['0', '1', '9', 'a', 'f', '_', '.', 'e', 'p', 'x', 'b', 'o', '+', '-', 'i', '\\', '\\x', '\\u', '\\U', '\\0', '\\377', '\\xff', '\\ud800', '\\n', "\\'", '\\"', "'", '"', '`', 'é', '😀', '\n', '\\z', ' ', '9223372036854775808', '1e309']

/** Makes random pipelines; `variables` are those that they may use. */
export class RandomExpressions {
  readonly #tape: Tape

  constructor (tape: Tape) {
    this.#tape = tape
  }

  /** A pipeline, mostly of a sort that could be evaluated. */
  pipeline (variables: readonly string[], depth = 2): string {
    const { one } = this.#tape
    const any = (): string => this.#argument(variables, depth - 1)
    const integer = (): string => one(...INTEGERS)
    const alike = one(...[INTEGERS, FLOATS, TEXTS, [...OTHERS, ...INTEGERS]].map(kind => () => `${one(...COMPARISONS)} ${one(...kind)} ${one(...kind)}`))
    return one(any, () => alike, () => `${one(...COMPARISONS)} ${any()} ${any()}`, () => `eq ${any()} ${any()} ${any()}`, () => `${one('and', 'or')} ${any()} ${any()} ${any()}`, () => `not ${any()}`,
      () => `len ${one(...TEXTS, ...LISTS, ...MAPS)}`, () => `index ${one(...LISTS, ...TEXTS)} ${integer()}`, () => `index ${one(...MAPS)} ${one(...TEXTS)}`, () => `index ${any()} ${any()} ${any()}`,
      () => `slice ${one(...TEXTS, ...LISTS)} ${integer()}`, () => `slice ${one(...TEXTS, ...LISTS)} ${integer()} ${integer()}`, () => `slice (slice ${one(...LISTS)} ${one('0', '1', '2')} ${one('1', '2', '3')}) ${one('0', '1')} ${one('1', '2', '3', '4')} ${one('', '2', '3', '4')}`,
      () => `${one('print', 'println', 'html', 'js', 'urlquery', 'list', 'tool')} ${any()} ${any()}`, () => `add ${integer()} ${integer()}`, () => `half ${one(...FLOATS)}`, () => `join ${one(...TEXTS)} ${one(...LISTS)}`, () => `call adder ${integer()} ${integer()}`,
      () => `${one(...FUNCTIONS)} ${any()}`, () => `${any()} | ${one(...PIPED)}`, () => `${any()} | ${one(...PIPED)} | ${one(...PIPED)}`, () => this.format(variables), () => this.format(variables), () => one(...variables.slice(1).map(name => `${name} = ${any()}`), '$'))
  }

  #argument (variables: readonly string[], depth: number): string {
    const { one } = this.#tape
    const leaf = (): string => one(() => one(...INTEGERS), () => one(...FLOATS), () => one(...TEXTS), () => one(...LISTS), () => one(...MAPS), () => one(...OTHERS), () => one(...variables), () => one(...variables))
    if (depth < 1) return leaf()
    return one(leaf, leaf, () => `(${this.pipeline(variables, depth)})${one('', '', '', '', '.x', '.k', '.x.y')}`)
  }

  /** A call of `printf`. */
  format (variables: readonly string[]): string {
    const { one, some } = this.#tape
    const index = (): string => one('', '', '', '', '', '', '', '', '[1]', '[2]', '[3]', one('[0]', '[-1]', '[x]', '[', '[]', '[1', '[99]', '[+1]', '[01]', '[1][2]'))
    const verbs = some(3, () => `%${some(2, () => one('+', '-', '#', '0', ' ')).join('')}${index()}${one('', '', '', '1', '5', '12', '*', '1000001')}${one('', '', '', '.', '.0', '.1', '.2', '.3', '.17', '.20', '.50', '.*', '.-1')}${index()}` +
      one('v', 'v', 'v', 'd', 's', 'q', 'x', 'X', 'T', 't', 'e', 'E', 'f', 'F', 'g', 'G', 'b', 'o', 'O', 'c', 'U', 'w', 'z', '%', '!', 'é', '', ' '))
    const operands = some(3, () => one(() => one(...INTEGERS), () => one(...FLOATS), () => this.#argument(variables, 0), () => this.#float()))
    const quote = one('`', '"')
    return ['printf', quote + verbs.join(one('|', '', 'é', 'a%%')) + quote, ...operands].join(' ')
  }

  /** A call of `printf` that rounds. */
  rounding (): string {
    const { one, pick } = this.#tape
    return `printf "%${one('', '', '+', '#', '012')}.${pick(25)}${one('e', 'E', 'f', 'g', 'G', 'v', 'x')}" ${this.#float()}`
  }

  /** A float of any size, often one that is hard to round. */
  #float (): string {
    const { one, pick } = this.#tape
    const digits = one(() => String(pick(1_000_000)), () => `${pick(1000)}.5`, '1.0', () => `${pick(1000)}${pick(1_000_000)}${pick(1_000_000)}.0`)
    return `${one('', '-')}${digits}e${one(() => String(pick(40) - 20), () => String(pick(600) - 300))}`
  }

  /** A number or a text that mostly is none. */
  literal (): string {
    const { one, some } = this.#tape
    const start = one('', '-', '+', '0', '0x', '0b', '0o', '1', '.', '"', '"', "'", "'", '`')
    return `${start}${some(5, () => one(...LITERAL_PIECES)).join('')}${/["'`]/.test(start) ? start : ''}`
  }
}
