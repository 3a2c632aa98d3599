import { type Json, type JsonObject } from '../../../../src/base/json.ts'
import { type Expression, type Named } from '../program.ts'
import { answer, callKey, mapArguments, type Tool, TOOLS } from '../tools.ts'
import { FUNCTIONS } from './functions.ts'
import { type Place } from './place.ts'
import { Absent, consume, isMap, Lazy, markFromTool, NOTHING, type Plain, RenderFailure, Unspecified, type Value } from './values.ts'

type Operands = Extract<Expression, { operands: unknown }>

/** Longer runs would make the test slow, and leave the engines' own bounds. */
const MAX_STEPS = 5000

/** Evaluates expressions strictly, from left to right, and waits for every tool where it meets it. */
export class Expressions {
  /** The result of every distinct call that was made. */
  readonly calls = new Map<string, Value>()
  readonly #salt: number
  #steps = 0

  constructor (salt: number) {
    this.#salt = salt
  }

  step (): void {
    if (++this.#steps > MAX_STEPS) throw new Unspecified('a run that is too long')
  }

  async evaluate (node: Expression, place: Place): Promise<Value> {
    this.step()
    switch (node.type) {
      case 'literal': return node.value
      case 'dot': return place.context
      case 'root': return place.frame.root
      case 'outer': return contextOf(outward(place, node.depth))
      case 'data': return place.data?.[node.name] ?? new Absent()
      case 'variable': return readVariable(place, node.name)
      case 'field': return await this.#field(node, place)
      case 'function': return await this.#function(node, place)
      case 'tool': return await this.#tool(node, place)
      case 'assign': return assignVariable(place, node.name, await this.evaluate(node.value, place))
    }
  }

  /** A value that is used where it stands. */
  async consumed (node: Expression, place: Place): Promise<Plain> {
    return consume(await this.evaluate(node, place))
  }

  async named (named: Named, place: Place): Promise<Map<string, Plain>> {
    const values = new Map<string, Plain>()
    for (const { name, value } of named) values.set(name, await this.consumed(value, place))
    return values
  }

  async #field ({ base, names }: Extract<Expression, { type: 'field' }>, place: Place): Promise<Value> {
    const { rules } = place.frame
    const [first, ...others] = names as [string, ...string[]]
    let value = base.type === 'dot' ? contextMember(place, first) : rules.member(await this.evaluate(base, place), first)
    for (const name of others) value = rules.member(value, name)
    return value
  }

  async #function (node: Operands, place: Place): Promise<Value> {
    const { rules } = place.frame
    switch (node.name) {
      case 'and': return await this.#junction(node, place, false)
      case 'or': return await this.#junction(node, place, true)
      case 'default': return await this.#default(node, place)
      case 'not': return !rules.isTrue(await this.evaluate(node.operands[0] as Expression, place))
      case 'len': {
        const value = await this.evaluate(node.operands[0] as Expression, place)
        return value instanceof Lazy ? value.keys().length : rules.length(consume(value))
      }
      case 'index':
      case 'lookup': return await this.#element(node, place)
    }
    const apply = FUNCTIONS.get(node.name)
    if (apply === undefined) throw new Error(`no function ${node.name}`)
    return apply((await this.#all(node, place)).map(consume), rules)
  }

  /** All operands, in the order of the call; the piped one is evaluated first. */
  async #all ({ operands, isPiped }: Operands, place: Place): Promise<Value[]> {
    const values: Value[] = []
    const piped = isPiped ? await this.evaluate(operands.at(-1) as Expression, place) : undefined
    for (const operand of isPiped ? operands.slice(0, -1) : operands) values.push(await this.evaluate(operand, place))
    return piped === undefined ? values : [...values, piped]
  }

  /** The first operand that decides, or the last one. */
  async #junction ({ operands, isPiped }: Operands, place: Place, decisive: boolean): Promise<Value> {
    const piped = isPiped ? await this.evaluate(operands.at(-1) as Expression, place) : undefined
    const written = isPiped ? operands.slice(0, -1) : operands
    for (const [index, operand] of written.entries()) {
      const value = await this.evaluate(operand, place)
      const isLast = piped === undefined && index === written.length - 1
      if (isLast || place.frame.rules.isTrue(value) === decisive) return value
    }
    return piped as Value
  }

  async #default ({ operands }: Operands, place: Place): Promise<Value> {
    const [fallback, value] = operands as [Expression, Expression]
    const found = await this.evaluate(value, place)
    const isMissing = found === NOTHING || found === null || found === '' || found instanceof Absent
    return isMissing ? await this.evaluate(fallback, place) : found
  }

  async #element (node: Operands, place: Place): Promise<Value> {
    const [holder, ...keys] = await this.#all(node, place) as [Value, ...Value[]]
    const known = keys.map(consume)
    if (holder === null && place.frame.syntax === 'go') throw new RenderFailure('error', 'index of nil')
    return known.reduce<Value>((value, key) => place.frame.rules.element(value, key), holder)
  }

  async #tool (node: Extract<Expression, { type: 'tool' }>, place: Place): Promise<Value> {
    const positional = (await this.#all(node, place)).map(consume)
    const named = await this.named(node.named, place)
    const tool = TOOLS.get(node.name) as Tool
    const values = mapArguments(tool, positional.map(asArgument), Object.fromEntries([...named].map(([name, value]) => [name, asArgument(value)])))
    const result = await this.#call(tool, values)
    return result === null && place.frame.syntax === 'go' ? NOTHING : result
  }

  async #call (tool: Tool, values: JsonObject): Promise<Value> {
    const key = callKey(tool.name, values)
    const known = this.calls.get(key)
    if (known !== undefined) return known
    await Promise.resolve()
    const result = answer(tool, values, this.#salt)
    const value = result === undefined ? NOTHING : markFromTool(result)
    this.calls.set(key, value)
    return value
  }
}

/** A context may be null, which is not to be nowhere. */
function contextOf (place: Place | undefined): Value {
  return place === undefined ? new Absent() : place.context
}

function asArgument (value: Plain): Json {
  return value === NOTHING ? null : value
}

/** A member of the context. A partial finds what its argument does not have at the root, if it is a name of the root. */
function contextMember ({ frame, context, isInitial }: Place, name: string): Value {
  const { rules, root, argument, syntax } = frame
  const mayFallBack = argument !== undefined && (syntax === 'go' ? isInitial : context === argument) && root.isReachable(name)
  if (!mayFallBack || context === root) return rules.member(context, name)
  if (!(context instanceof Lazy) && !isMap(context)) return root.field(name)
  const member = rules.member(context, name)
  return member === NOTHING || member instanceof Absent ? root.field(name) : member
}

function outward (place: Place, depth: number): Place | undefined {
  let outer: Place | undefined = place
  for (let hop = 0; hop < depth; hop++) outer = outer?.up
  return outer
}

function readVariable ({ frame, parameters }: Place, name: string): Value {
  if (frame.syntax === 'handlebars') return parameters.get(name) ?? null
  return variableOf(frame, name).value
}

export function assignVariable ({ frame }: Place, name: string, value: Value): Value {
  return (variableOf(frame, name).value = value)
}

function variableOf ({ variables }: Place['frame'], name: string): { value: Value } {
  const variable = variables.findLast(each => each.name === name)
  if (variable === undefined) throw new RenderFailure('error', `undefined variable: ${name}`)
  return variable
}
