import { type Json } from '../../../../src/base/json.ts'
import { Tape } from '../tape.ts'
import { RandomExpressions } from './random-expression.ts'

/** A template in Go's syntax with what it is rendered with. */
export interface RandomCase {
  readonly template: string
  readonly data: Json
  readonly options: { readonly missingkey: string }
  /** Go's version that gives these results. */
  readonly since: string
}

const DATA: Json = {
  s: 'text',
  u: 'héé世😀',
  r: '<a b="c">\'&\'=</a>\0\u2028\u00a0é\u007f\ufeff',
  q: 'tab\t"quote" `back` \\ \u0001\n',
  i: 2,
  n: -3,
  big: 1152921504606846976,
  f: 2.5,
  g: 1e21,
  h: 1234567.891,
  t: true,
  nil: null,
  l: [1, 'two', 3.5, null, true, 7, [1, 2], { k: 'v', x: { y: 1 } }],
  e: [],
  m: { x: { y: { z: 'deep' } }, nul: null, k: 'v', 10: 1, 9: 2, constructor: 3, '\u{1f600}': [1], '\uffee': null },
  d: {}
}

const TEXTS = ['', 'x', ' ', '\n', ' y\r\n', '\t z ', '}}', '{ ', '-', '"', 'é😀', '\u00a0', '\v', '{{/* c */}}', '{{- /* c */ -}}', ' {{- /* c */}} ']

/** What a template is damaged with, or made of altogether. */
const PIECES = ['{{', '}}', '{{- ', ' -}}', '{{-', '-}}', ' ', '\n', '|', ':=', '=', '$', '.', '..', ',', '(', ')', '"', '`', '\\', '-', '0', '1', '_', '/*', '*/', '{{/* c */}}', '{{end}}', '{{else}}', 'else if .i', '{{else with .m}}', '{{break}}', 'continue', 'define "q"', 'block "w" .', 'template "none"', '{{range .l}}r',
  'range $i, $e := .l', 'if .t', 'end', 'else', 'with .m', 'nil', 'true', '$x', '$x := 1', '$x = 2', '.s', '.m.x', '.a', 'len', 'nil.x', '1.x', '"s"', "'c'", '-3', 'é', '\u00a0', '\0', '%', '@', '{', '}', ':', '!', '[', '😀', '٣', 'ⅷ', '\u0301']

const NAMES = ['$a', '$b', '$中']

/** Makes a case from a tape of numbers: mostly a program that works or a single pipeline, else one of these damaged. */
export function randomCase (numbers: readonly number[]): RandomCase {
  const tape = new Tape(numbers)
  const { one, some } = tape
  const expressions = new RandomExpressions(tape)
  const missingkey = one('default', 'default', 'default', 'zero', 'error')
  const damage = one('', '', '', one(...PIECES))
  const place = tape.pick(1000) / 1000
  const removed = tape.pick(6)
  const whole = one(() => new RandomProgram(tape, expressions).text(), () => alone(tape, expressions.pipeline(['$'])), () => alone(tape, expressions.format(['$'])), () => alone(tape, expressions.rounding()), () => alone(tape, expressions.literal()), () => some(10, () => one(...PIECES)).join(one('', ' ')))
  const at = Math.floor(place * whole.length)
  const template = damage === '' ? whole : whole.slice(0, at) + damage + whole.slice(at + removed)
  return { template: template.toWellFormed(), data: DATA, options: { missingkey }, since: '1.24' }
}

/** One pipeline in one of the places that a pipeline can have. */
function alone ({ one }: Tape, value: string): string {
  return one(`{{${value}}}`, `{{printf "%T|%#v|%v" (${value}) (${value}) (${value})}}`, `{{if ${value}}}T{{else}}F{{end}}`, `{{with ${value}}}{{.}}{{printf "%T" .}}{{else}}F{{.i}}{{end}}`,
    `{{range ${value}}}{{.}};{{printf "%T" .}}{{else}}E{{end}}`, `{{range $i, $v := ${value}}}{{$i}}={{printf "%T %v" $v $v}};{{end}}`, `{{with $y := ${value}}}{{$y}}{{end}}`,
    `{{template "p" ${value}}}{{define "p"}}{{printf "%T %v" $ .}}{{end}}`, `{{(${value}).x}}`, `{{slice "abc" (${value})}}`)
}

/** A program of blocks, variables, jumps and templates, most of which is right. */
class RandomProgram {
  readonly #tape: Tape
  readonly #expressions: RandomExpressions
  /** Templates call only those before them, so that they do not call each other for ever. */
  readonly #templates: string[] = []
  #variables = ['$']
  #loops = 0
  #blocks = 0

  constructor (tape: Tape, expressions: RandomExpressions) {
    this.#tape = tape
    this.#expressions = expressions
  }

  text (): string {
    const definitions = this.#tape.some(2, () => {
      const name = `"t${this.#templates.length}"`
      const text = `{{define ${name}}}${this.#body(1)}{{end}}`
      this.#templates.push(name)
      return text
    })
    return definitions.join('\n') + this.#body(3)
  }

  /** What sees no variables and no loops of others. */
  #body (depth: number): string {
    const [variables, loops] = [this.#variables, this.#loops]
    this.#variables = ['$']
    this.#loops = 0
    const text = this.#list(depth)
    this.#variables = variables
    this.#loops = loops
    return text
  }

  #list (depth: number): string {
    const { one, some } = this.#tape
    return this.#scope(() => [...some(2, () => this.#statement(depth)), this.#statement(depth)].map(text => one(...TEXTS) + text).join('') + one(...TEXTS))
  }

  /** Variables that are declared in it end with it. */
  #scope (make: () => string): string {
    const count = this.#variables.length
    const text = make()
    this.#variables.length = count
    return text
  }

  #statement (depth: number): string {
    const { one } = this.#tape
    const action = (): string => this.#action(this.#header())
    const call = (): string => this.#action(this.#templates.length === 0 ? '$' : `template ${one(...this.#templates)} ${one('.', '$', '', () => this.#value())}`)
    const jump = (): string => this.#loops === 0 ? action() : `{{if ${this.#value()}}}${this.#action(one('break', 'continue'))}{{end}}${one('', '', '{{break}}', '{{continue}}')}`
    if (depth === 0) return one(action, action, call, jump)
    return one(action, action, call, jump, () => this.#branch('if', depth), () => this.#branch('with', depth), () => this.#range(depth), () => this.#range(depth), () => `{{block "b${this.#blocks++}" ${one('.', '$')}}}${this.#body(depth - 1)}{{end}}`)
  }

  #action (inside: string): string {
    return this.#tape.one(`{{${inside}}}`, `{{${inside}}}`, `{{- ${inside}}}`, `{{${inside} -}}`, `{{ ${inside} }}`, `{{\n${inside}\t}}`)
  }

  /** A value that mostly is no error; now and then any pipeline. */
  #value (): string {
    const { one } = this.#tape
    const leaf = (): string => one(...this.#variables, ...this.#variables, '.', '0', '1', '"a"', '""', '"\\xff"', '"\\xc3"', '"\\xa9"', 'true', 'false', '(list 1 2)', 'obj')
    return one(leaf, leaf, () => `print ${leaf()} ${leaf()}`, () => `not ${leaf()}`, () => `${one('and', 'or')} ${leaf()} ${leaf()}`, () => `eq (print ${leaf()}) (print ${leaf()})`, () => `list ${leaf()} (${one(...NAMES)} := ${leaf()})`, () => `${leaf()} | list 1`, () => this.#expressions.pipeline(this.#variables))
  }

  /** A value that may be declared or assigned. */
  #header (): string {
    const { one } = this.#tape
    const value = this.#value()
    return one(value, value, () => this.#declared(one(...NAMES)) + value, () => `${one('', ...this.#variables.slice(1).map(name => `${name} = `))}${value}`)
  }

  #declared (...names: readonly string[]): string {
    this.#variables.push(...names)
    return `${names.join(', ')} := `
  }

  #branch (kind: 'if' | 'with', depth: number): string {
    const { one, some } = this.#tape
    return this.#scope(() => [
      this.#action(`${kind} ${this.#header()}`) + this.#list(depth - 1),
      ...some(2, () => this.#action(`else ${kind} ${this.#header()}`) + this.#list(depth - 1)),
      one('', () => this.#action('else') + this.#list(depth - 1))
    ].join('') + '{{end}}')
  }

  /** Each round writes something, so that a loop over a huge integer soon writes too much. */
  #range (depth: number): string {
    const { one } = this.#tape
    return this.#scope(() => {
      const list = one('$.l', '$.m', '$.e', '$.m.x', '(list 1 2 3)', '(list)', '$.none', '3', '0', '(index "\\x03" 0)', () => this.#value())
      const outer = (): string => one(...this.#variables)
      const header = one('', () => this.#declared(one(...NAMES)), () => this.#declared(one(...NAMES), one(...NAMES)), () => `${outer()} = `, () => `${outer()}, ${outer()} = `)
      this.#loops++
      const body = this.#list(depth - 1)
      this.#loops--
      return `${this.#action(`range ${header}${list}`)}r${body}${one('', '', () => `{{else}}${this.#list(depth - 1)}`)}{{end}}`
    })
  }
}
