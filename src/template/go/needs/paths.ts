import { type PartialCall, type PathNeed } from '../../language.ts'
import { type Command, type ListNode, type Operand, type Pipe, startOf, type Statement, type TemplateNode, type Tree } from '../syntax/node.ts'

/** Bodies are looked at once per static argument; recursion that goes ever deeper ends here. */
const MAX_BODIES = 100

type Use = PathNeed['use']

/** What an expression reads: a path from the scope root, `''` for the root itself. */
interface Found { readonly path: string, readonly offset: number }

/** An operand that is walked once it is known what its value is for. */
type Walk = (use: Use) => Found | undefined

/** What a template reads from the scope root, in source order, and what it calls other templates with. */
export interface Paths {
  readonly paths: readonly PathNeed[]
  readonly calls: ReadonlyMap<TemplateNode, PartialCall>
}

/** Follows every path through `with`, `range`, variables and local templates. */
export function findPaths (tree: Tree): Paths {
  const finder = new Finder(tree)
  finder.body(tree.name, '')
  return { paths: finder.needs(), calls: finder.calls }
}

class Finder {
  readonly calls = new Map<TemplateNode, PartialCall>()
  readonly #tree: Tree
  readonly #found = new Map<string, { path: string, use: Use, offset: number }>()
  readonly #walked = new Set<string>()
  #variables: Array<{ name: string, path: string | undefined }> = []
  #dot: string | undefined
  /** Blocks around the place, over all local templates. */
  #depth = 0

  constructor (tree: Tree) {
    this.#tree = tree
  }

  needs (): readonly PathNeed[] {
    return [...this.#found.values()]
      .sort((left, right) => left.offset - right.offset)
      .map(({ path, use, offset }) => ({ path, use, ...this.#tree.source.position(offset) }))
  }

  /** Walks a body with what it is called with. */
  body (name: string, dot: string | undefined): void {
    const list = this.#tree.bodies.get(name)
    const key = `${name} ${dot ?? '\0'}`
    if (list === undefined || this.#walked.has(key) || this.#walked.size >= MAX_BODIES) return
    this.#walked.add(key)
    const variables = this.#variables
    this.#variables = [{ name: '$', path: dot }]
    this.#withDot(dot, () => this.#list(list))
    this.#variables = variables
  }

  #withDot (dot: string | undefined, walk: () => void): void {
    const outer = this.#dot
    this.#dot = dot
    walk()
    this.#dot = outer
  }

  #block (walk: () => void): void {
    const before = this.#variables.length
    walk()
    this.#variables.length = before
  }

  #list ({ nodes }: ListNode): void {
    this.#block(() => nodes.forEach(node => this.#statement(node)))
  }

  #statement (node: Statement): void {
    switch (node.type) {
      case 'action':
        this.#record(this.#pipe(node.pipe, 'used'), node.pipe.variables.length > 0 ? 'tested' : 'used')
        break
      case 'template':
        this.#template(node)
        break
      case 'if':
      case 'with':
      case 'range':
        this.#block(() => {
          const use = node.type === 'range' && node.otherwise === undefined ? 'used' : 'tested'
          const found = this.#record(this.#pipe(node.pipe, use), use)
          const path = node.type === 'range' ? joined(found, ['*']) : found?.path
          if (node.type === 'range') this.#rangeVariables(node.pipe, path)
          this.#depth++
          this.#withDot(node.type === 'if' ? this.#dot : path, () => this.#list(node.list))
          if (node.otherwise !== undefined) this.#list(node.otherwise)
          this.#depth--
        })
    }
  }

  #template (node: TemplateNode): void {
    const found = node.pipe === undefined ? undefined : this.#record(this.#pipe(node.pipe, 'used'), 'used')
    const known = this.calls.get(node)
    const dot = known === undefined || known.dot === found?.path ? found?.path : undefined
    this.calls.set(node, { dot, named: [], isConditional: this.#depth > 0 && known?.isConditional !== false })
    this.body(node.name, found?.path)
  }

  /** In a loop the last header variable holds the element, the one before it the key. */
  #rangeVariables ({ variables }: Pipe, path: string | undefined): void {
    const declared = this.#variables.slice(-variables.length)
    for (const [index, variable] of declared.entries()) {
      if (variables.length > 0) variable.path = index === variables.length - 1 ? path : undefined
    }
  }

  #pipe ({ commands, variables, isAssignment }: Pipe, use: Use): Found | undefined {
    const inner = variables.length > 0 && use === 'used' ? 'tested' : use
    const found = this.#commands(commands, inner)
    for (const { name } of variables) {
      const variable = isAssignment ? this.#variables.findLast(each => each.name === name) : undefined
      if (variable !== undefined) variable.path = undefined
      else this.#variables.push({ name, path: found?.path })
    }
    return found
  }

  #commands (commands: readonly Command[], use: Use): Found | undefined {
    const last = commands.at(-1) as Command
    const before = commands.slice(0, -1)
    return this.#command(last, use, before.length === 0 ? undefined : inner => this.#commands(before, inner))
  }

  #command ({ operands }: Command, use: Use, piped: Walk | undefined): Found | undefined {
    const [first, ...others] = operands as [Operand, ...Operand[]]
    if (first.type !== 'identifier') {
      this.#record(piped?.('used'), 'used')
      return this.#operand(first, use)
    }
    const args = others.map((operand): Walk => inner => this.#operand(operand, inner))
    if (piped !== undefined) args.push(piped)
    if (first.name === 'index') return this.#index(others, args)
    const uses = usesOf(first.name, args.length, use)
    for (const [index, walk] of args.entries()) this.#record(walk(uses[index] as Use), uses[index] as Use)
    return undefined
  }

  /** `index` reads one member of its first argument: by name where that is written out, else any. */
  #index (written: readonly Operand[], args: readonly Walk[]): Found | undefined {
    const [container, ...keys] = args
    const found = container?.('tested')
    const names = keys.map((walk, index) => {
      this.#record(walk('used'), 'used')
      const operand = written[index + 1]
      return operand?.type === 'string' ? operand.text : '*'
    })
    return found === undefined ? undefined : { path: joined(found, names) as string, offset: found.offset }
  }

  #operand (operand: Operand, use: Use): Found | undefined {
    const offset = startOf(operand)
    switch (operand.type) {
      case 'dot': return this.#dot === undefined ? undefined : { path: this.#dot, offset }
      case 'field': return this.#fields(this.#dot, operand.names, offset)
      case 'variable': return this.#fields(this.#variables.findLast(({ name }) => name === operand.name)?.path, operand.fields, offset)
      case 'pipe': return this.#pipe(operand, use)
      case 'identifier': return undefined
      case 'chain': {
        const found = this.#operand(operand.base, 'tested')
        return this.#fields(found?.path, operand.fields, offset)
      }
      default: return undefined
    }
  }

  #fields (path: string | undefined, names: readonly string[], offset: number): Found | undefined {
    return path === undefined ? undefined : { path: joined({ path, offset }, names) as string, offset }
  }

  /** Being used once outweighs being tested at the same place. */
  #record (found: Found | undefined, use: Use): Found | undefined {
    if (found === undefined || found.path === '') return found
    const key = `${found.offset} ${found.path}`
    if (this.#found.get(key)?.use !== 'used') this.#found.set(key, { ...found, use })
    return found
  }
}

function joined (found: Found | undefined, names: readonly string[]): string | undefined {
  return found === undefined ? undefined : [...(found.path === '' ? [] : [found.path]), ...names].join('.')
}

/** What a function does with each of its arguments. What survives `and`, `or` and `default` is used as their result is. */
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
