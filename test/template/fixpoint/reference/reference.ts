import { type Json } from '../../../../src/base/json.ts'
import { type Program, type Statement, type Syntax } from '../program.ts'
import { assignVariable, Expressions } from './expressions.ts'
import { GO_RULES } from './go-rules.ts'
import { HANDLEBARS_RULES } from './handlebars-rules.ts'
import { type Frame, inside, insideBody, type Place, startOf } from './place.ts'
import { Absent, consume, isList, Lazy, Merged, NOTHING, RenderFailure, Root, Shared, Unspecified, type Value } from './values.ts'

/** What the strict evaluation of a program comes to. */
export type Verdict =
  | { readonly kind: 'output', readonly output: string, readonly calls: ReadonlySet<string> }
  | { readonly kind: 'miss' | 'error', readonly reason: string, readonly calls: ReadonlySet<string> }
  | { readonly kind: 'unspecified', readonly reason: string }

/** What a statement asks of the loop around it. */
type Jump = 'break' | 'continue' | undefined

type Loop = Extract<Statement, { type: 'loop' }>
type Branching = { readonly body: readonly Statement[], readonly otherwise: readonly Statement[] | undefined }

/**
 * Runs a program strictly: one pass, statement by statement, waiting for each tool where it meets it. It shares nothing
 * with the engines but the tools and the data, and knows of nothing pending.
 */
export async function interpret (program: Program): Promise<Verdict> {
  const interpreter = new Interpreter(program)
  const calls = (): ReadonlySet<string> => new Set(interpreter.expressions.calls.keys())
  try {
    return { kind: 'output', output: await interpreter.run(), calls: calls() }
  } catch (error) {
    if (error instanceof Unspecified) return { kind: 'unspecified', reason: error.message }
    if (!(error instanceof RenderFailure)) throw error
    return { kind: error.kind, reason: error.message, calls: calls() }
  }
}

class Interpreter {
  readonly expressions: Expressions
  readonly #program: Program
  #output = ''

  constructor (program: Program) {
    this.#program = program
    this.expressions = new Expressions(program.world.salt)
  }

  async run (): Promise<string> {
    const { world, syntax, body } = this.#program
    const root = new Root(new Shared(world), world.variables, undefined)
    await this.#all(body, startOf(frameOf(syntax, root, undefined), root))
    return this.#output
  }

  /** A list of statements; variables that it declares end with it. */
  async #all (list: readonly Statement[], place: Place): Promise<Jump> {
    const { variables } = place.frame
    const before = variables.length
    for (const statement of list) {
      const jump = await this.#one(statement, place)
      if (jump === undefined) continue
      variables.length = before
      return jump
    }
    variables.length = before
    return undefined
  }

  async #one (node: Statement, place: Place): Promise<Jump> {
    this.expressions.step()
    const { rules, variables } = place.frame
    switch (node.type) {
      case 'text': this.#output += node.text; return undefined
      case 'print': this.#output += rules.print(await this.expressions.consumed(node.value, place)); return undefined
      case 'jump': return node.kind
      case 'set': {
        const value = await this.expressions.evaluate(node.value, place)
        if (node.declares) variables.push({ name: node.name, value })
        else assignVariable(place, node.name, value)
        return undefined
      }
      case 'if': {
        const isTrue = rules.isTrue(await this.expressions.evaluate(node.condition, place))
        return await this.#branch(node, isTrue !== node.isNegated, place, place)
      }
      case 'with': return await this.#with(node, place)
      case 'loop': return await this.#loop(node, place)
      case 'section': return await this.#section(node, place)
      case 'partial': await this.#partial(node, place); return undefined
      case 'block': await this.#block(place); return undefined
    }
  }

  async #branch ({ body, otherwise }: Branching, isTaken: boolean, inner: Place, outer: Place): Promise<Jump> {
    return isTaken ? await this.#all(body, inner) : await this.#all(otherwise ?? [], outer)
  }

  async #with (node: Extract<Statement, { type: 'with' }>, place: Place): Promise<Jump> {
    const { rules, variables, syntax } = place.frame
    const value = await this.expressions.evaluate(node.value, place)
    const before = variables.length
    if (node.variable !== undefined && syntax === 'go') variables.push({ name: node.variable, value })
    const parameters = node.variable === undefined ? place.parameters : new Map<string, Value>([...place.parameters, [node.variable, value]])
    const jump = await this.#branch(node, rules.enters(value), inside(place, value, { parameters }), place)
    variables.length = before
    return jump
  }

  async #loop (node: Loop, place: Place): Promise<Jump> {
    const { variables, syntax } = place.frame
    const value = await this.expressions.evaluate(node.list, place)
    const before = variables.length
    if (syntax === 'go') setHeader(node, place, value, value)
    if (value instanceof Absent && node.otherwise === undefined) consume(value)
    const jump = await this.#iterate(node, node.key !== undefined, value, place)
    variables.length = before
    return jump
  }

  async #iterate (node: Branching & { readonly type: string }, hasKey: boolean, value: Value, place: Place): Promise<Jump> {
    const { rules, syntax } = place.frame
    const elements = rules.elements(value, hasKey)
    if (elements === undefined) {
      const jump = await this.#all(node.otherwise ?? [], place)
      // A `break` in the else branch ends this loop, a `continue` goes on with the loop around it.
      return jump === 'break' ? undefined : jump
    }
    for (const [index, { key, value: element }] of elements.entries()) {
      if (syntax === 'go') updateHeader(node as Loop, place, key, element)
      const data = { index, key, first: index === 0, last: index === elements.length - 1 }
      const parameters = parametersOf(node as Loop, place, key, element)
      const jump = await this.#all(node.body, inside(place, element, { data, parameters }))
      if (jump === 'break') break
    }
    return undefined
  }

  /** Handlebars: a tool's result is entered as by `with`, a list is iterated, true keeps the context. */
  async #section (node: Extract<Statement, { type: 'section' }>, place: Place): Promise<Jump> {
    const value = await this.expressions.evaluate(node.value, place)
    if (node.value.type === 'tool') return await this.#branch(node, place.frame.rules.enters(value), inside(place, value), place)
    if (isList(value)) return await this.#iterate(node, false, value, place)
    const isMissing = value === false || value === null || value === NOTHING || value instanceof Absent
    return await this.#branch(node, !isMissing, inside(place, value === true ? place.context : value), place)
  }

  async #partial (node: Extract<Statement, { type: 'partial' }>, place: Place): Promise<void> {
    const { frame } = place
    const partial = this.#program.partials.find(({ name }) => name === node.name)
    if (partial === undefined) throw new Error(`no partial ${node.name}`)
    const base = await this.#argument(node.argument, place)
    const named = await this.expressions.named(node.named, place)
    const root = partial.isLocal ? frame.root : frame.root.forPartial(partial.defaults)
    const given = base === frame.root ? root : base
    const argument = node.named.length === 0 ? given : new Merged(given, named)
    const start = startOf(frameOf(partial.syntax, root, partial.isLocal ? undefined : argument), argument)
    const isBetween = frame.syntax === 'handlebars' && partial.syntax === 'handlebars'
    const block = node.block === undefined ? place.block : { body: node.block, place }
    await this.#all(partial.body, isBetween ? { ...start, data: place.data, block } : start)
  }

  async #argument (argument: Parameters<Expressions['evaluate']>[0] | undefined, place: Place): Promise<Value> {
    if (argument === undefined) return place.frame.syntax === 'go' ? null : place.context
    const value = await this.expressions.evaluate(argument, place)
    return value instanceof Lazy ? value : consume(value)
  }

  async #block ({ block, context, data }: Place): Promise<void> {
    if (block === undefined) throw new RenderFailure('error', 'there is no block')
    await this.#all(block.body, insideBody(block.place, context, { data }))
  }
}

function frameOf (syntax: Syntax, root: Root, argument: Value | undefined): Frame {
  return { syntax, rules: syntax === 'go' ? GO_RULES : HANDLEBARS_RULES, root, argument, variables: [] }
}

/** Go: before the first iteration, and in the else branch, the header's variables hold the list. */
function setHeader ({ key, element, assigns }: Loop, place: Place, keyValue: Value, value: Value): void {
  for (const [name, each] of [[key, keyValue], [element, value]] as const) {
    if (name === undefined) continue
    if (assigns) assignVariable(place, name, each)
    else place.frame.variables.push({ name, value: each })
  }
}

function updateHeader ({ key, element }: Loop, place: Place, keyValue: Json, value: Value): void {
  if (key !== undefined) assignVariable(place, key, keyValue)
  if (element !== undefined) assignVariable(place, element, value)
}

function parametersOf ({ key, element }: Loop, { parameters, frame }: Place, keyValue: Json, value: Value): Place['parameters'] {
  if (element === undefined || frame.syntax === 'go') return parameters
  return new Map([...parameters, [element, value], ...key === undefined ? [] : [[key, keyValue] as const]])
}
