import type { PartialCall, PathNeed } from '../language.ts'
import {
  type BranchNode, type Command, type ListNode, MAIN_BODY, type Operand, type Pipe, startOf, type Statement, type TemplateNode, type Tree
} from './node.ts'

/** Bounds the walk: a `{{define}}` body is walked once per argument, and a loop until nothing new is found. */
const MAX_LOOKED_AT = 20_000

const MAX_PATHS = 16

/** In characters: each call of a `{{define}}` body can make its paths longer by the length of the source. */
const CHARACTERS_PER_OPERAND = 100

type WalkOperand = (use: OperandUse) => Values

interface TrackedVariable {
  readonly name: string
  readonly level: number
  values: Values
}

interface Paths {
  readonly paths: readonly PathNeed[]
  readonly calls: ReadonlyMap<TemplateNode, readonly PartialCall[]>
  /** False when there was too much to look at. */
  readonly isComplete: boolean
}

/** Follows values through `with`, `range`, variables and the templates that the source defines. */
export function findPaths (tree: Tree): Paths {
  const finder = new NeedFinder(tree)
  finder.body(MAIN_BODY, '')
  return { paths: finder.needs(), calls: finder.calls(), isComplete: finder.isComplete }
}

class NeedFinder {
  isComplete = true
  readonly #tree: Tree
  readonly #found = new Map<string, { path: string, use: PathNeed['use'], offset: number }>()
  readonly #calls = new Map<TemplateNode, Map<string | undefined, PartialCall>>()
  readonly #walked = new Set<string>()
  readonly #within: Array<{ readonly name: string | undefined, readonly dot: string | undefined }> = []
  #variables: TrackedVariable[] = []
  #dot: Values = []
  #lookedAt = 0
  #level = 0
  /** Counts `if`, `with` and `range`, also those around the calls of `{{define}}` bodies that lead here. */
  #depth = 0

  constructor (tree: Tree) {
    this.#tree = tree
  }

  needs (): readonly PathNeed[] {
    return [...this.#found.values()]
      .sort((left, right) => left.offset - right.offset)
      .map(({ path, use, offset }) => ({ path, use, ...this.#tree.source.position(offset) }))
  }

  calls (): Paths['calls'] {
    return new Map([...this.#calls].map(([node, calls]) => [node, [...calls.values()]]))
  }

  body (name: string | undefined, dot: string | undefined): void {
    const list = this.#tree.bodies.get(name)
    const key = JSON.stringify([name, dot])
    if (list === undefined || this.#walked.has(key) || this.#goesDeeper(name, dot)) return
    this.#walked.add(key)
    const variables = this.#variables
    const argument = dot === undefined ? [] : [{ path: dot, offset: 0 }]
    this.#variables = [{ name: '$', level: this.#level, values: argument }]
    this.#within.push({ name, dot })
    this.#withDot(argument, () => this.#list(list))
    this.#within.pop()
    this.#variables = variables
  }

  /** Recursion with the same argument or a part of it would never end here, where values are unknown. */
  #goesDeeper (name: string | undefined, dot: string | undefined): boolean {
    return this.#within.some(each => each.name === name && (each.dot === dot || (each.dot !== '' && dot?.startsWith(`${each.dot}.`) === true)))
  }

  #withDot (dot: Values, walk: () => void): void {
    const outer = this.#dot
    this.#dot = dot
    walk()
    this.#dot = outer
  }

  #block (walk: () => void): void {
    const before = this.#variables.length
    this.#level++
    walk()
    this.#level--
    this.#variables.length = before
  }

  #list ({ nodes }: ListNode): void {
    this.#block(() => nodes.forEach(node => this.#statement(node)))
  }

  #statement (node: Statement): void {
    if (this.#lookedAt > MAX_LOOKED_AT) {
      this.isComplete = false
      return
    }
    switch (node.type) {
      case 'action': {
        // The value of a variable is noted where the variable is used.
        const use = node.pipe.variables.length > 0 ? 'descended' : 'used'
        this.#record(this.#pipe(node.pipe, use), use)
        break
      }
      case 'template':
        this.#template(node)
        break
      case 'if':
      case 'with':
      case 'range':
        this.#block(() => this.#branch(node))
    }
  }

  #branch (node: BranchNode): void {
    const { type, pipe, list, otherwise } = node
    const use = type === 'range' && otherwise === undefined ? 'used' : 'tested'
    const found = this.#record(this.#pipe(pipe, use), use)
    this.#depth++
    if (type === 'range') this.#loop(node, found)
    else this.#withDot(type === 'with' ? found : this.#dot, () => this.#list(list))
    if (otherwise !== undefined) this.#list(otherwise)
    this.#depth--
  }

  /** Until nothing new is found: what one round assigns, the next round reads. */
  #loop ({ pipe, list }: BranchNode, found: Values): void {
    const elements = below(found, ['*'])
    const header = pipe.variables.map(({ name }) => this.#find(name))
    let before: number
    do {
      before = this.#known()
      // The last variable of the header gets the element, the one before it the key.
      for (const [index, variable] of header.entries()) this.#set(variable, index === header.length - 1 ? elements : [], pipe.isAssignment)
      this.#withDot(elements, () => this.#list(list))
    } while (this.#known() > before)
    // Without an element, the variables get the list itself.
    for (const variable of header) this.#set(variable, found, pipe.isAssignment)
  }

  #known (): number {
    return this.#variables.reduce((sum, { values }) => sum + values.length, 0)
  }

  #template (node: TemplateNode): void {
    const found = node.pipe === undefined ? [] : this.#pipe(node.pipe, 'used')
    // A root passed to a template is not used as a whole: it is known what that template reads.
    this.#record(found.filter(({ path }) => path !== ''), 'used')
    const calls = this.#calls.get(node) ?? new Map<string | undefined, PartialCall>()
    this.#calls.set(node, calls)
    for (const dot of found.length === 0 ? [undefined] : found.map(({ path }) => path)) {
      calls.set(dot, { dot, named: [], isConditional: this.#depth > 0 && calls.get(dot)?.isConditional !== false })
      this.body(node.name, dot)
    }
  }

  #pipe ({ commands, variables, isAssignment }: Pipe, use: OperandUse): Values {
    const found = this.#commands(commands, use)
    for (const { name } of variables) {
      const known = isAssignment ? this.#find(name) : undefined
      if (known === undefined) this.#variables.push({ name, level: this.#level, values: found })
      else this.#set(known, found, known.level !== this.#level)
    }
    return found
  }

  #find (name: string): TrackedVariable | undefined {
    return this.#variables.findLast(each => each.name === name)
  }

  /** `isOneOfSeveral`: the block perhaps does not run, so the earlier value may stay. */
  #set (variable: TrackedVariable | undefined, values: Values, isOneOfSeveral: boolean): void {
    if (variable !== undefined) variable.values = isOneOfSeveral ? this.#either([...variable.values, ...values]) : values
  }

  #commands (commands: readonly Command[], use: OperandUse): Values {
    const last = commands.at(-1) as Command
    const before = commands.slice(0, -1)
    return this.#command(last, use, before.length === 0 ? undefined : inner => this.#commands(before, inner))
  }

  #command ({ operands }: Command, use: OperandUse, piped: WalkOperand | undefined): Values {
    const [first, ...others] = operands as [Operand, ...Operand[]]
    if (first.type !== 'identifier') {
      this.#record(piped?.('used') ?? [], 'used')
      return this.#operand(first, use)
    }
    const args = others.map((operand): WalkOperand => inner => this.#operand(operand, inner))
    if (piped !== undefined) args.push(piped)
    if (first.name === 'index') return this.#index(others, args)
    const uses = usesOf(first.name, args.length, use)
    const given = args.map((walk, index) => this.#record(walk(uses[index] as OperandUse), uses[index] as OperandUse))
    return this.#either(resultOf(first.name, given, use))
  }

  /** A key that is no literal can be any member (`*`). */
  #index (written: readonly Operand[], args: readonly WalkOperand[]): Values {
    const [container, ...keys] = args
    const found = container?.('tested') ?? []
    const names = keys.map((walk, index) => {
      this.#record(walk('used'), 'used')
      const operand = written[index + 1]
      return operand?.type === 'string' ? operand.text : '*'
    })
    return below(found, names)
  }

  #operand (operand: Operand, use: OperandUse): Values {
    this.#lookedAt++
    const offset = startOf(operand)
    switch (operand.type) {
      case 'dot': return at(offset, this.#dot)
      case 'field': return at(offset, below(this.#dot, operand.names))
      case 'variable': return at(offset, below(this.#find(operand.name)?.values ?? [], operand.fields))
      case 'pipe': return this.#nested(operand, use)
      case 'chain': return at(offset, below(this.#operand(operand.base, 'tested'), operand.fields))
      default: return []
    }
  }

  /** Its assignments perhaps do not run: `and` and `or` stop when the result is known. */
  #nested (pipe: Pipe, use: OperandUse): Values {
    this.#level++
    const found = this.#pipe(pipe, use)
    this.#level--
    return found
  }

  #either (values: Values): Values {
    if (values.length < 2) return values
    const byPath = new Map<string, ValuePath>()
    for (const found of values) {
      const known = byPath.get(found.path)
      if (known === undefined || known.isThere === true) byPath.set(found.path, found)
    }
    if (byPath.size > MAX_PATHS) this.isComplete = false
    return [...byPath.values()].slice(0, MAX_PATHS)
  }

  /** A use at one place hides a test there; the root is noted only when used as a whole. */
  #record (values: Values, use: OperandUse): Values {
    for (const found of values) {
      const { path, offset, isThere } = found
      this.#lookedAt += 1 + Math.floor(path.length / CHARACTERS_PER_OPERAND)
      if (this.#lookedAt > MAX_LOOKED_AT) {
        this.isComplete = false
        return values
      }
      if (use === 'descended' || isThere === true || (path === '' && use === 'tested')) continue
      const key = `${offset} ${path}`
      if (this.#found.get(key)?.use !== 'used') this.#found.set(key, { path, use, offset })
    }
    return values
  }
}

function at (offset: number, values: Values): Values {
  return values.map(found => ({ ...found, offset }))
}

/** `descended`: only parts of the value are read, and noted there. */
type OperandUse = PathNeed['use'] | 'descended'

/** The path from the scope root, `''` for the root itself. */
interface ValuePath {
  readonly path: string
  readonly offset: number
  /** Tested first, as `or` and `default` do. */
  readonly isThere?: boolean
}

type Values = readonly ValuePath[]

function below (values: Values, names: readonly string[]): Values {
  if (names.length === 0) return values
  return values.map(({ path, offset }) => ({ path: [...(path === '' ? [] : [path]), ...names].join('.'), offset }))
}

/** What `and`, `or` and `default` give back is used as the result is used. */
function usesOf (name: string, count: number, use: OperandUse): readonly OperandUse[] {
  const all = (each: OperandUse): OperandUse[] => new Array<OperandUse>(count).fill(each)
  switch (name) {
    case 'not': return all('tested')
    case 'and': return all(use)
    case 'or': return [...all('tested').slice(1), use]
    case 'default': return count === 2 ? [use, 'tested'] : all('used')
    default: return all('used')
  }
}

function resultOf (name: string, given: readonly Values[], use: OperandUse): Values {
  const last = given.at(-1) ?? []
  switch (name) {
    // An earlier operand is the result only if false, and then has no members; it counts only for `descended`.
    case 'and': return use === 'descended' ? given.flat() : last
    case 'or': return [...there(given.slice(0, -1)), ...last]
    case 'default': return given.length === 2 ? [...given[0] ?? [], ...there([last])] : []
    default: return []
  }
}

function there (given: readonly Values[]): Values {
  return given.flat().map(found => ({ ...found, isThere: true }))
}
