import { Tape } from './tape.ts'

const VARIABLES = ['$x', '$y', '$z'] as const

/** A template made of tools, variables, blocks, jumps and local templates: much of the language. */
export function randomProgram (numbers: readonly number[]): string {
  return new Program(new Tape(numbers)).text()
}

/** A template in which nearly every step is pending, skipped or assigned: little of the language, close together. */
export function adversarialProgram (numbers: readonly number[]): string {
  return new AdversarialProgram(new Tape(numbers)).text()
}

class Program {
  readonly #tape: Tape
  #loops = 0

  constructor (tape: Tape) {
    this.#tape = tape
  }

  text (): string {
    const main = this.#list(3)
    this.#loops = 0
    return `{{$x := 1}}{{$y := 2}}{{$z := 3}}${main}|{{$x}} {{$y}} {{$z}}{{define "local"}}{{$x := .}}{{$y := 5}}{{$z := 6}}${this.#list(1)}{{end}}`
  }

  #list (depth: number): string {
    const count = 1 + this.#tape.pick(4)
    return Array.from({ length: count }, () => this.#statement(depth)).join('')
  }

  #statement (depth: number): string {
    const simple = [() => `{{${this.#value(2)}}}`, () => `{{${this.#assignment()}}}`, () => `{{tick ${this.#value(1)}}}`]
    if (depth === 0) return this.#tape.one(...simple)
    const jump = this.#loops > 0 ? [() => this.#tape.one('{{break}}', '{{continue}}'), () => `{{if ${this.#value(1)}}}${this.#tape.one('{{break}}', '{{continue}}')}{{end}}`] : []
    return this.#tape.one(...simple, () => this.#branch('if', depth), () => this.#branch('with', depth), () => this.#range(depth), () => this.#range(depth), ...jump,
      () => this.#loops > 3 ? '' : `{{template "local" ${this.#value(1)}}}`)
  }

  #branch (kind: string, depth: number): string {
    const header = this.#tape.one(() => this.#value(2), () => this.#assignment(), () => `$x := ${this.#value(1)}`)
    const otherwise = this.#tape.one('', () => `{{else}}${this.#list(depth - 1)}`)
    return `{{${kind} ${header}}}${this.#list(depth - 1)}${otherwise}{{end}}`
  }

  #range (depth: number): string {
    const header = this.#tape.one('', '$x = ', '$x, $y = ', '$z := ', '$y, $x := ')
    const list = this.#tape.one('items', '.variables.list', 'few', '.variables.empty', () => `give ${this.#value(1)} ${this.#value(1)}`)
    this.#loops++
    const body = this.#list(depth - 1)
    this.#loops--
    const otherwise = this.#tape.one('', '', () => `{{else}}${this.#list(depth - 1)}`)
    return `{{range ${header}${list.replace(/^\./, '$.')}}}${body}${otherwise}{{end}}`
  }

  #assignment (): string {
    return `${VARIABLES[this.#tape.pick(3)]} = ${this.#value(1)}`
  }

  #value (depth: number): string {
    const leaf = ['1', '0', '"a"', '""', 'true', 'false', '$x', '$y', '$z', '$.variables.on', '$.variables.off', '$.chat.s1', '$.chat.s2', '$.variables.list', 'flag', 'zero']
    if (depth === 0) return this.#tape.one(...leaf)
    const inner = (): string => this.#argument(depth - 1)
    return this.#tape.one(...leaf, () => `tick ${inner()}`, () => `echo ${inner()}`, () => `and ${inner()} ${inner()}`, () => `or ${inner()} ${inner()} ${inner()}`,
      () => `not ${inner()}`, () => `default ${inner()} ${inner()}`, () => `print ${inner()} ${inner()}`, () => `${inner()} | echo`, () => `${inner()} | default ${inner()}`, () => `toggle ${inner()}`)
  }

  #argument (depth: number): string {
    return this.#tape.one(() => `(${this.#value(depth)})`, () => `(${this.#assignment()})`)
  }
}

class AdversarialProgram {
  readonly #tape: Tape
  #loops = 0

  constructor (tape: Tape) {
    this.#tape = tape
  }

  text (): string {
    return `{{$x := 0}}{{$y := 0}}${this.#list(3)}{{tick $x}}{{tick $y}}`
  }

  #list (depth: number): string {
    return Array.from({ length: 1 + this.#tape.pick(3) }, () => this.#statement(depth)).join('')
  }

  #statement (depth: number): string {
    const simple = [() => `{{${this.#assignment()}}}`, '{{tick $x}}', '{{tick $y}}', () => `{{$${this.#name()} = ${this.#operands()}}}`]
    if (depth === 0) return this.#tape.one(...simple)
    const jumps = this.#loops > 0 ? ['{{break}}', '{{continue}}'] : []
    return this.#tape.one(...simple, ...jumps, () => `{{if ${this.#condition()}}}${this.#list(depth - 1)}${this.#else(depth)}{{end}}`, () => this.#range(depth))
  }

  #range (depth: number): string {
    const header = this.#tape.one('', '$x = ', '$y, $x = ')
    const list = this.#tape.one('$.variables.list', '$.variables.list', '$.variables.empty', 'items')
    this.#loops++
    const body = this.#list(depth - 1)
    this.#loops--
    return `{{range ${header}${list}}}${body}${this.#else(depth)}{{end}}`
  }

  #else (depth: number): string {
    return this.#tape.one('', () => `{{else}}${this.#list(depth - 1)}`)
  }

  #condition (): string {
    return this.#tape.one('echo true', 'echo false', () => `echo $${this.#name()}`, () => this.#operands(), '$x')
  }

  #operands (): string {
    const operand = (): string => this.#tape.one(() => `(${this.#assignment()})`, '(echo 0)', '(echo 1)', '(echo "")', () => `(echo $${this.#name()})`)
    return `${this.#tape.one('and', 'or', 'default', 'print')} ${operand()} ${operand()}`
  }

  #assignment (): string {
    return `$${this.#name()} = ${1 + this.#tape.pick(9)}`
  }

  #name (): string {
    return this.#tape.one('x', 'y')
  }
}
