import type { PartialCall, PathNeed } from '../language.ts'
import {
  type BranchNode, type Command, type ListNode, MAIN_BODY, type Operand, type Pipe, startOf, type Statement, type TemplateNode, type Tree
} from './node.ts'

/**
 * The most operands that are looked at in one template. The body of a local template (`{{define}}`) is walked once for each argument with which it is
 * called, and a loop again until nothing new is found.
 */
const MAX_LOOKED_AT = 20_000

/** The most paths that are kept for the value of one expression. */
const MAX_PATHS = 16

/**
 * The length of path that counts as one more operand towards `MAX_LOOKED_AT`, in characters. Each call of a local template (`{{define}}`) can make the
 * paths in it longer by the length of the source.
 */
const CHARACTERS_PER_OPERAND = 100

/** Walks an operand, once it is known how its value is used. */
type Walk = (use: Use) => Values

interface Variable {
  readonly name: string
  /** The level of the block that declares the variable, counted from the outermost. */
  readonly level: number
  values: Values
}

/**
 * The paths that a template reads from the scope root (the object with all variables), in source order, and the arguments with which it calls other
 * templates.
 */
export interface Paths {
  readonly paths: readonly PathNeed[]
  readonly calls: ReadonlyMap<TemplateNode, readonly PartialCall[]>
  /** Whether everything was looked at; false when there was too much. */
  readonly isComplete: boolean
}

/** Finds the paths that a template reads. Values are followed through `with`, `range`, variables and the templates that the source defines. */
export function findPaths (tree: Tree): Paths {
  const finder = new Finder(tree)
  finder.body(MAIN_BODY, '')
  return { paths: finder.needs(), calls: finder.calls(), isComplete: finder.isComplete }
}

class Finder {
  isComplete = true
  readonly #tree: Tree
  readonly #found = new Map<string, { path: string, use: PathNeed['use'], offset: number }>()
  readonly #calls = new Map<TemplateNode, Map<string | undefined, PartialCall>>()
  readonly #walked = new Set<string>()
  readonly #within: Array<{ readonly name: string | undefined, readonly dot: string | undefined }> = []
  #variables: Variable[] = []
  #dot: Values = []
  #lookedAt = 0
  /** The number of blocks and parentheses around the place that is walked now. */
  #level = 0
  /** The number of `if`, `with` and `range` blocks around the place that is walked now, and around the calls of `{{define}}` bodies that lead there. */
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

  /** Walks a body. @param dot the path of the argument with which the body is called; `undefined` when that path is not known */
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

  /**
   * Whether a body calls itself, directly or through others, with the same argument or a part of it. Walking such calls would never end: the values are
   * not known here, so nothing tells how deep they nest.
   */
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

  /** Walks a loop until nothing new is found: what one round assigns to the variables around it, the next round reads. */
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
    // When there is no element, the variables get the list itself.
    for (const variable of header) this.#set(variable, found, pipe.isAssignment)
  }

  /** The number of values that are known for all variables at this place together. It grows while a further round of a loop finds more. */
  #known (): number {
    return this.#variables.reduce((sum, { values }) => sum + values.length, 0)
  }

  #template (node: TemplateNode): void {
    const found = node.pipe === undefined ? [] : this.#pipe(node.pipe, 'used')
    // A template that gets the scope root as its argument does not use all of the root, because it is known what that template reads.
    this.#record(found.filter(({ path }) => path !== ''), 'used')
    const calls = this.#calls.get(node) ?? new Map<string | undefined, PartialCall>()
    this.#calls.set(node, calls)
    for (const dot of found.length === 0 ? [undefined] : found.map(({ path }) => path)) {
      calls.set(dot, { dot, named: [], isConditional: this.#depth > 0 && calls.get(dot)?.isConditional !== false })
      this.body(node.name, dot)
    }
  }

  #pipe ({ commands, variables, isAssignment }: Pipe, use: Use): Values {
    const found = this.#commands(commands, use)
    for (const { name } of variables) {
      const known = isAssignment ? this.#find(name) : undefined
      if (known === undefined) this.#variables.push({ name, level: this.#level, values: found })
      else this.#set(known, found, known.level !== this.#level)
    }
    return found
  }

  #find (name: string): Variable | undefined {
    return this.#variables.findLast(each => each.name === name)
  }

  /**
   * Sets the values of a variable.
   * @param isOneOfSeveral whether the variable can keep its earlier value, because the assignment is inside a block that perhaps does not run
   */
  #set (variable: Variable | undefined, values: Values, isOneOfSeveral: boolean): void {
    if (variable !== undefined) variable.values = isOneOfSeveral ? this.#either([...variable.values, ...values]) : values
  }

  #commands (commands: readonly Command[], use: Use): Values {
    const last = commands.at(-1) as Command
    const before = commands.slice(0, -1)
    return this.#command(last, use, before.length === 0 ? undefined : inner => this.#commands(before, inner))
  }

  #command ({ operands }: Command, use: Use, piped: Walk | undefined): Values {
    const [first, ...others] = operands as [Operand, ...Operand[]]
    if (first.type !== 'identifier') {
      this.#record(piped?.('used') ?? [], 'used')
      return this.#operand(first, use)
    }
    const args = others.map((operand): Walk => inner => this.#operand(operand, inner))
    if (piped !== undefined) args.push(piped)
    if (first.name === 'index') return this.#index(others, args)
    const uses = usesOf(first.name, args.length, use)
    const given = args.map((walk, index) => this.#record(walk(uses[index] as Use), uses[index] as Use))
    return this.#either(resultOf(first.name, given, use))
  }

  /**
   * The paths of the result of `index`, which reads a member of its first argument for each key: a known member when the key is a text literal,
   * otherwise any (`*`).
   */
  #index (written: readonly Operand[], args: readonly Walk[]): Values {
    const [container, ...keys] = args
    const found = container?.('tested') ?? []
    const names = keys.map((walk, index) => {
      this.#record(walk('used'), 'used')
      const operand = written[index + 1]
      return operand?.type === 'string' ? operand.text : '*'
    })
    return below(found, names)
  }

  #operand (operand: Operand, use: Use): Values {
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

  /** Walks a pipeline in parentheses. Its assignments perhaps do not run, because `and` and `or` stop when the result is known. */
  #nested (pipe: Pipe, use: Use): Values {
    this.#level++
    const found = this.#pipe(pipe, use)
    this.#level--
    return found
  }

  /** The values that the result of an expression can be: each once, and at most `MAX_PATHS` of them. */
  #either (values: Values): Values {
    if (values.length < 2) return values
    const byPath = new Map<string, Found>()
    for (const found of values) {
      const known = byPath.get(found.path)
      if (known === undefined || known.isThere === true) byPath.set(found.path, found)
    }
    if (byPath.size > MAX_PATHS) this.isComplete = false
    return [...byPath.values()].slice(0, MAX_PATHS)
  }

  /**
   * Notes how values are used. When a value is both used and tested at one place, only the use is noted. The scope root itself is noted only when it
   * is used as a whole.
   */
  #record (values: Values, use: Use): Values {
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

/** How a template uses the value of an expression. `descended`: the template reads only parts of the value; each part is noted where it is read. */
type Use = PathNeed['use'] | 'descended'

/** A value that an expression can have, named by its path from the scope root (the object with all variables); the path of the root itself is `''`. */
interface Found {
  readonly path: string
  readonly offset: number
  /** Set when the expression gives this value only if it exists: the expression has tested it first, as `or` and `default` do. */
  readonly isThere?: boolean
}

/** The values that an expression can have: one of these, or a value without a path, such as a tool's result. */
type Values = readonly Found[]

/** For each value, the member to which `names` lead, one level after the other. */
function below (values: Values, names: readonly string[]): Values {
  if (names.length === 0) return values
  return values.map(({ path, offset }) => ({ path: [...(path === '' ? [] : [path]), ...names].join('.'), offset }))
}

/** How a function uses each of its arguments. An argument that `and`, `or` or `default` gives back is used as the result is used. */
function usesOf (name: string, count: number, use: Use): readonly Use[] {
  const all = (each: Use): Use[] => new Array<Use>(count).fill(each)
  switch (name) {
    case 'not': return all('tested')
    case 'and': return all(use)
    case 'or': return [...all('tested').slice(1), use]
    case 'default': return count === 2 ? [use, 'tested'] : all('used')
    default: return all('used')
  }
}

/** The values that the result of a function can be: those of the arguments that the function can return. */
function resultOf (name: string, given: readonly Values[], use: Use): Values {
  const last = given.at(-1) ?? []
  switch (name) {
    // An operand before the last one is the result only if it is false. Then it has no members, and its test has been noted already. So only the last
    // operand can have members. The other operands count only for the use `descended`, in which the members are noted somewhere else.
    case 'and': return use === 'descended' ? given.flat() : last
    case 'or': return [...there(given.slice(0, -1)), ...last]
    case 'default': return given.length === 2 ? [...given[0] ?? [], ...there([last])] : []
    default: return []
  }
}

function there (given: readonly Values[]): Values {
  return given.flat().map(found => ({ ...found, isThere: true }))
}
