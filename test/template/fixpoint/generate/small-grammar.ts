import { type Branches, type Expression, type Partial, type Program, type Statement, type Syntax } from '../program.ts'
import { makeWorld } from './kinds.ts'
import { type Random } from './random.ts'

type Choice<T> = readonly [weight: number, make: () => T]

/** Where a statement of the small grammar stands. */
interface Nest {
  readonly depth: number
  /** How many contexts lie around this one, the scope root not counted. */
  readonly contexts: number
  readonly isMain: boolean
  readonly isInLoop: boolean
  readonly hasBlock: boolean
  readonly hasPartial: boolean
}

/**
 * Two variables, three tools, arguments from 0 to 2: little to say, but conditions that are pending lie within each other,
 * with assignments and jumps at every place, so that nearly all of it is about what skipped code may have done.
 */
export function makeSmallProgram (random: Random, syntax: Syntax): Program {
  return new SmallGrammar(random, syntax, 6 + random.below(22)).program()
}

class SmallGrammar {
  readonly #random: Random
  readonly #syntax: Syntax
  #fuel: number
  #givesBlock = false

  constructor (random: Random, syntax: Syntax, fuel: number) {
    this.#random = random
    this.#syntax = syntax
    this.#fuel = fuel
  }

  program (): Program {
    const isGo = this.#syntax === 'go'
    const isLocal = this.#random.chance(50)
    const hasBlock = !isGo && this.#random.chance(50)
    const inner: Nest = { depth: 2, contexts: 1, isMain: false, isInLoop: false, hasBlock, hasPartial: false }
    this.#givesBlock = hasBlock
    const partials: Partial[] = this.#random.chance(40) ? [{ name: 'part', isLocal, syntax: this.#syntax, body: this.#body(inner), defaults: undefined }] : []
    const main = this.#statements({ ...inner, depth: 0, contexts: 0, isMain: true, hasBlock: false, hasPartial: partials.length > 0 })
    const body = isGo ? [...this.#declarations(), ...main, ...this.#ends()] : main
    return { syntax: this.#syntax, body, partials, world: makeWorld(this.#random) }
  }

  #body (nest: Nest): Statement[] {
    return this.#syntax === 'go' ? [...this.#declarations(), ...this.#statements(nest), ...this.#ends()] : this.#statements(nest)
  }

  #declarations (): Statement[] {
    return [set('a', literal('p'), true), set('b', this.#random.chance(50) ? literal('') : tool('get_text', literal(1)), true)]
  }

  #ends (): Statement[] {
    return [print(tool('get_text', variable('a'))), print(tool('get_text', variable('b')))]
  }

  #statements (nest: Nest): Statement[] {
    return Array.from({ length: 1 + this.#random.below(3) }, () => this.#statement({ ...nest, depth: nest.depth + 1 }))
  }

  #statement (nest: Nest): Statement {
    this.#fuel--
    const isGo = this.#syntax === 'go'
    const simple: Array<Choice<Statement>> = [
      [2, () => print(this.#text(nest))],
      [2, () => print(tool('get_text', this.#text(nest)))],
      [isGo ? 4 : 0, () => set(this.#name(), this.#text(nest), false)],
      [isGo && nest.isInLoop ? 1 : 0, () => this.#jump()],
      [isGo && nest.isInLoop ? 3 : 0, () => ({ type: 'if', condition: tool('get_flag', this.#key(nest)), isNegated: false, body: [this.#jump()], otherwise: undefined })],
      [nest.hasBlock ? 2 : 0, () => ({ type: 'block' })]
    ]
    if (this.#fuel < 0 || nest.depth > 6) return this.#random.weighted(simple)
    return this.#random.weighted<Statement>([
      ...simple,
      [5, () => ({ type: 'if', condition: this.#condition(nest), isNegated: !isGo && this.#random.chance(30), ...this.#branches(nest, nest) })],
      [2, () => ({ type: 'with', value: this.#text(nest), variable: undefined, ...this.#branches(deeper(nest), nest) })],
      [4, () => this.#loop(nest)],
      [isGo ? 0 : 1, () => ({ type: 'section', value: tool('get_text', this.#key(nest)), ...this.#branches(deeper(nest), nest) })],
      [nest.hasPartial ? 2 : 0, () => ({ type: 'partial', name: 'part', argument: this.#text(nest), named: [], block: this.#givesBlock ? this.#statements({ ...deeper(nest), hasPartial: false }) : undefined })]
    ])
  }

  #loop (nest: Nest): Statement {
    const isGo = this.#syntax === 'go'
    const list = this.#random.weighted<Expression>([
      [3, () => tool('get_texts', this.#key(nest))],
      [isGo && !nest.isMain ? 0 : 2, () => ({ type: 'field', base: isGo ? variable('') : { type: 'root' }, names: ['variables', 'ts'] })],
      [isGo ? 2 : 0, () => literal(2)]
    ])
    const element = isGo && this.#random.chance(40) ? this.#name() : undefined
    const inside = { ...deeper(nest), isInLoop: true }
    return { type: 'loop', list, key: undefined, element, assigns: true, ...this.#branches(inside, nest) }
  }

  #jump (): Statement {
    return { type: 'jump', kind: this.#random.pick(['break', 'continue']) }
  }

  #branches (inner: Nest, outer: Nest): Branches {
    return { body: this.#statements(inner), otherwise: this.#random.chance(50) ? this.#statements(outer) : undefined }
  }

  #condition (nest: Nest): Expression {
    return this.#random.weighted<Expression>([
      [5, () => tool('get_flag', this.#key(nest))],
      [2, () => this.#text(nest)],
      [1, () => ({ type: 'function', name: 'not', operands: [this.#text(nest)], isPiped: false })]
    ])
  }

  #key (nest: Nest): Expression {
    return this.#random.chance(60) ? literal(this.#random.below(3)) : this.#text(nest)
  }

  #text (nest: Nest): Expression {
    this.#fuel--
    const simple: Array<Choice<Expression>> = [
      [1, () => literal(this.#random.pick(['x', 'y', 'z', '']))],
      [3, () => this.#syntax === 'go' ? variable(this.#name()) : this.#context(nest)],
      [2, () => tool(this.#random.pick(['get_text', 'get_flag']), literal(this.#random.below(3)))]
    ]
    if (this.#fuel < 0) return this.#random.weighted(simple)
    const operands = (): Expression[] => [this.#text(nest), this.#text(nest)]
    return this.#random.weighted<Expression>([
      ...simple,
      [2, () => tool('get_text', this.#text(nest))],
      [2, () => this.#call(this.#random.pick(['and', 'or']), operands())],
      [2, () => this.#call('default', operands())],
      [this.#syntax === 'go' ? 3 : 0, () => ({ type: 'assign', name: this.#name(), value: this.#text(nest) })]
    ])
  }

  #call (name: string, operands: readonly Expression[]): Expression {
    return { type: 'function', name, operands, isPiped: this.#syntax === 'go' && this.#random.chance(20) }
  }

  /** Handlebars has contexts where Go has variables. */
  #context ({ contexts }: Nest): Expression {
    const hops = this.#random.below(contexts)
    if (contexts === 0) return { type: 'field', base: { type: 'root' }, names: ['topic'] }
    return hops === 0 ? { type: 'dot' } : { type: 'outer', depth: hops }
  }

  #name (): string {
    return this.#random.pick(['a', 'b'])
  }
}

function deeper (nest: Nest): Nest {
  return { ...nest, contexts: nest.contexts + 1 }
}

function literal (value: string | number): Expression {
  return { type: 'literal', value }
}

function variable (name: string): Expression {
  return { type: 'variable', name }
}

function tool (name: string, operand: Expression): Expression {
  return { type: 'tool', name, operands: [operand], named: [], isPiped: false }
}

function print (value: Expression): Statement {
  return { type: 'print', value }
}

function set (name: string, value: Expression, declares: boolean): Statement {
  return { type: 'set', name, value, declares }
}
