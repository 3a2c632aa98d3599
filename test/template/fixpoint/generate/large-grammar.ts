import { type Json } from '../../../../src/base/json.ts'
import { type Branches, type Expression, type Named, type Partial, type Program, type Statement, type Syntax } from '../program.ts'
import { type Kind, KINDS, literals, makeWorld, MEMBERS, PATHS } from './kinds.ts'
import { type Random } from './random.ts'
import { type Callable, type Dot, type Site } from './site.ts'

type Choice<T> = readonly [weight: number, make: () => T]

/** Everything that the languages can say, at some length: what it lacks in depth it has in variety. */
export function makeLargeProgram (random: Random, syntax: Syntax): Program {
  return new LargeGrammar(random, 8 + random.below(30)).program(syntax)
}

class LargeGrammar {
  readonly #random: Random
  #fuel: number
  #names = 0

  constructor (random: Random, fuel: number) {
    this.#random = random
    this.#fuel = fuel
  }

  program (syntax: Syntax): Program {
    const partials: Partial[] = []
    const callable: Callable[] = []
    for (let count = this.#random.below(3); count > 0; count--) {
      const isLocal = this.#random.chance(40)
      const own = isLocal || this.#random.chance(75) ? syntax : other(syntax)
      const hasBlock = own === 'handlebars' && syntax === 'handlebars' && this.#random.chance(30)
      const dot = this.#random.pick<Dot>(['root', 'item', 'item', 'text', 'texts'])
      const name = `part${partials.length}`
      const within = isLocal ? [] : callable.filter(each => !each.hasBlock && partials.some(({ name, isLocal }) => name === each.name && !isLocal))
      const body = this.#statements(partialSite(own, dot, isLocal, hasBlock, within))
      partials.push({ name, isLocal, syntax: own, body, defaults: isLocal || this.#random.chance(60) ? undefined : { d1: 'dflt' } })
      callable.push({ name, dot, hasBlock })
    }
    const body = this.#statements({ ...partialSite(syntax, 'root', false, false, callable), isMain: true })
    return { syntax, body, partials, world: makeWorld(this.#random) }
  }

  #statements (site: Site): Statement[] {
    const list: Statement[] = []
    let inner: Site = { ...site, depth: site.depth + 1 }
    for (let count = 1 + this.#random.below(4); count > 0; count--) {
      const statement = this.#statement(inner)
      list.push(statement)
      if (statement.type === 'set' && statement.declares) inner = { ...inner, variables: [...inner.variables, { name: statement.name, kind: this.#declared }] }
    }
    return list
  }

  /** The kind of the variable that was declared last. */
  #declared: Kind = 'text'

  #statement (site: Site): Statement {
    this.#fuel--
    if (this.#fuel < 0 || site.depth > 5) return this.#random.chance(40) ? this.#text() : this.#print(site)
    const isGo = site.syntax === 'go'
    return this.#random.weighted<Statement>([
      [2, () => this.#text()],
      [6, () => this.#print(site)],
      [isGo ? 4 : 0, () => this.#set(site)],
      [isGo && site.isInLoop ? 3 : 0, () => this.#jump(site)],
      [4, () => this.#if(site)],
      [3, () => this.#with(site)],
      [4, () => this.#loop(site)],
      [isGo ? 0 : 2, () => this.#section(site)],
      [site.partials.length > 0 ? 4 : 0, () => this.#partial(site)],
      [site.hasBlock ? 5 : 0, () => ({ type: 'block' })]
    ])
  }

  #text (): Statement {
    return { type: 'text', text: this.#random.pick(['a', 'b', 'c', '|']) }
  }

  #print (site: Site): Statement {
    return { type: 'print', value: this.#expression(this.#random.pick(KINDS), site) }
  }

  #set (site: Site): Statement {
    const known = site.variables.filter(({ kind }) => kind !== 'unknown')
    if (known.length > 0 && this.#random.chance(60)) {
      const { name, kind } = this.#random.pick(known)
      return { type: 'set', name, value: this.#expression(kind as Kind, site), declares: false }
    }
    const kind = this.#random.pick(KINDS)
    const value = this.#expression(kind, site)
    this.#declared = kind
    // A name that is there already is shadowed.
    const name = known.length > 0 && this.#random.chance(20) ? this.#random.pick(known).name : this.#name()
    return { type: 'set', name, value, declares: true }
  }

  #jump (site: Site): Statement {
    const jump: Statement = { type: 'jump', kind: this.#random.pick(['break', 'continue']) }
    return this.#random.chance(15) ? jump : { type: 'if', condition: this.#any(site), isNegated: false, body: [jump], otherwise: undefined }
  }

  #if (site: Site): Statement {
    return { type: 'if', condition: this.#any(site), isNegated: site.syntax === 'handlebars' && this.#random.chance(20), ...this.#branches(site, site) }
  }

  #with (site: Site): Statement {
    const kind = this.#random.pick<Kind>(['item', 'item', 'text', 'texts'])
    const value = this.#expression(kind, site)
    const variable = this.#random.chance(40) ? this.#name() : undefined
    const bound = variable === undefined ? site : withVariables(site, [{ name: variable, kind }])
    return { type: 'with', value, variable, ...this.#branches(inside(bound, kind, site), site.syntax === 'go' ? bound : site) }
  }

  #loop (site: Site): Statement {
    const isGo = site.syntax === 'go'
    const [listKind, kind] = this.#random.pick<readonly [Kind, Kind]>([['items', 'item'], ['items', 'item'], ['texts', 'text'], ...isGo ? [['number', 'number']] as const : []])
    const list = this.#expression(listKind, site)
    const assignable = site.variables.filter(each => each.kind === kind)
    if (isGo && assignable.length > 0 && this.#random.chance(30)) {
      const element = this.#random.pick(assignable).name
      return { type: 'loop', list, key: undefined, element, assigns: true, ...this.#branches({ ...inside(site, kind, site), isInLoop: true }, site) }
    }
    const element = this.#random.chance(50) ? this.#name() : undefined
    const key = element !== undefined && listKind !== 'number' && this.#random.chance(50) ? this.#name() : undefined
    const bound = withVariables(site, [...key === undefined ? [] : [{ name: key, kind: 'number' as const }], ...element === undefined ? [] : [{ name: element, kind }]])
    const body = { ...inside(bound, kind, site), isInLoop: true }
    return { type: 'loop', list, key, element, assigns: false, ...this.#branches(body, site) }
  }

  #section (site: Site): Statement {
    const kind = this.#random.pick(KINDS)
    const value = this.#random.chance(30) ? this.#tool(kind, site) : this.#path(kind, site)
    if (value === undefined) return this.#print(site)
    const isList = value.type !== 'tool' && (kind === 'items' || kind === 'texts')
    const dot: Dot = isList ? (kind === 'items' ? 'item' : 'text') : kind === 'flag' ? 'unknown' : kind
    return { type: 'section', value, ...this.#branches({ ...inside(site, dot, site), isInLoop: site.isInLoop || isList }, site) }
  }

  #branches (inner: Site, outer: Site): Branches {
    return { body: this.#statements(inner), otherwise: this.#random.chance(45) ? this.#statements(outer) : undefined }
  }

  #partial (site: Site): Statement {
    const { name, dot, hasBlock } = this.#random.pick(site.partials)
    const isGo = site.syntax === 'go'
    const argument = dot === 'root' ? this.#rootArgument(site) : this.#expression(dot === 'unknown' ? 'item' : dot, site)
    const named: Named = !isGo && dot === 'item' && this.#random.chance(40) ? [{ name: 'name', value: this.#expression('text', site) }] : []
    // A block runs over the dot of the partial, in the scope of the call.
    const block = hasBlock ? this.#statements({ ...inside(site, dot, site), partials: [], hasBlock: false }) : undefined
    return { type: 'partial', name, argument, named, block }
  }

  #rootArgument (site: Site): Expression | undefined {
    if (site.syntax === 'handlebars') return this.#random.chance(50) && site.dot === 'root' ? undefined : { type: 'root' }
    if (site.isMain) return { type: 'variable', name: '' }
    return site.dot === 'root' ? { type: 'dot' } : undefined
  }

  /** An expression of any kind, as conditions take it. */
  #any (site: Site): Expression {
    return this.#expression(this.#random.chance(50) ? 'flag' : this.#random.pick(KINDS), site)
  }

  #expression (wanted: Kind, site: Site): Expression {
    const kind = this.#random.chance(2) ? this.#random.pick(KINDS) : wanted
    this.#fuel--
    const leaves: Array<Choice<Expression>> = [
      [literals(kind).length > 0 ? 2 : 0, () => ({ type: 'literal', value: this.#random.pick(literals(kind)) })],
      [4, () => this.#path(kind, site) ?? this.#tool(kind, site)],
      [3, () => this.#tool(kind, site)]
    ]
    if (this.#fuel < 0 || site.depth > 7) return this.#random.weighted(leaves)
    const deeper = { ...site, depth: site.depth + 1 }
    const assignable = site.syntax === 'go' ? site.variables.filter(each => each.kind === kind) : []
    return this.#random.weighted<Expression>([
      ...leaves,
      [4, () => this.#tool(kind, deeper)],
      [2, () => this.#function('and', [this.#any(deeper), this.#expression(kind, deeper)], site)],
      [2, () => this.#function('or', Array.from({ length: 2 + this.#random.below(2) }, () => this.#expression(kind, deeper)), site)],
      [2, () => this.#function('default', [this.#expression(kind, deeper), this.#expression(kind, deeper)], site)],
      [assignable.length > 0 ? 3 : 0, () => ({ type: 'assign', name: this.#random.pick(assignable).name, value: this.#expression(kind, deeper) })],
      [2, () => this.#memberOf(kind, deeper)],
      [5, () => this.#special(kind, deeper)]
    ])
  }

  /** What gives the kind and no other. */
  #special (kind: Kind, site: Site): Expression {
    const isGo = site.syntax === 'go'
    const of = (each: Kind): Expression => this.#expression(each, site)
    const call = (name: string, ...operands: Expression[]): Expression => this.#function(name, operands, site)
    const inLoop = site.isInLoop && !isGo ? 1 : 0
    const data = (name: 'index' | 'first' | 'last') => (): Expression => ({ type: 'data', name })
    switch (kind) {
      case 'text': return this.#random.weighted([
        [2, () => call('upper', of('text'))],
        [2, () => call('join', { type: 'literal', value: '-' }, of(this.#random.pick(['texts', 'items'])))],
        [2, () => call('json', of(this.#random.pick(KINDS)))],
        [2, () => call(this.#random.pick(['first', 'last']), of('texts'))],
        [2, () => call('default', { type: 'literal', value: 'none' }, this.#dynamic(site))],
        [1, () => this.#dynamic(site)],
        [isGo ? 2 : 0, () => call('print', of(this.#random.pick(KINDS)), of('number'))],
        [isGo ? 2 : 0, () => call('printf', { type: 'literal', value: '%v/%v' }, of('text'), of(this.#random.pick(KINDS)))]
      ])
      case 'number': return this.#random.weighted([
        [3, () => call('len', of(this.#random.pick(['texts', 'items', 'text', 'item'])))],
        [inLoop, data('index')]
      ])
      case 'flag': return this.#random.weighted([
        [2, () => call('eq', of('text'), of('text'))],
        [1, () => call('eq', of('number'), of('number'), of('number'))],
        [1, () => call('ne', of('flag'), of('flag'))],
        [2, () => call('lt', of('number'), of('number'))],
        [2, () => call('not', this.#any(site))],
        [inLoop, data('first')],
        [inLoop, data('last')]
      ])
      case 'item': return call(this.#random.pick(['first', 'last']), of('items'))
      default: return this.#memberOf(kind, site)
    }
  }

  /** A shared variable whose name is computed. */
  #dynamic (site: Site): Expression {
    const branch = this.#fromRoot(['notes'], site)
    const key: Expression = this.#random.chance(40) ? { type: 'literal', value: this.#random.pick(['a', 'b', 'c']) } : this.#tool('text', site)
    return branch === undefined ? key : this.#function(site.syntax === 'go' ? 'index' : 'lookup', [branch, key], site)
  }

  #memberOf (kind: Kind, site: Site): Expression {
    const base = this.#expression('item', site)
    if (site.syntax === 'go' && base.type !== 'dot' && base.type !== 'literal' && this.#random.chance(60)) return { type: 'field', base, names: [MEMBERS[kind]] }
    const name = site.syntax === 'go' ? 'index' : this.#random.pick(['lookup', 'index'])
    return this.#function(name, [base, { type: 'literal', value: MEMBERS[kind] }], site)
  }

  #function (name: string, operands: readonly Expression[], { syntax }: Site): Expression {
    return { type: 'function', name, operands, isPiped: syntax === 'go' && this.#random.chance(20) }
  }

  #tool (kind: Kind, site: Site): Expression {
    if (kind === 'text' && this.#random.chance(10)) return { type: 'tool', name: 'ping', operands: [], named: [], isPiped: false }
    const argument = (): Expression => this.#fuel < 0 || this.#random.chance(50)
      ? { type: 'literal', value: this.#random.pick([0, 1, 2, 3, 'k', true, null]) }
      : this.#expression(this.#random.pick(KINDS), { ...site, depth: site.depth + 1 })
    const operands = [argument()]
    const isNamed = site.syntax === 'handlebars' && this.#random.chance(30)
    if (!isNamed && this.#random.chance(25)) operands.push(this.#random.chance(50) ? { type: 'literal', value: 'quick' } : argument())
    const named: Named = isNamed ? [{ name: 'mode', value: argument() }] : []
    // Go has no command `nil`, which the piped argument would be.
    const isPiped = site.syntax === 'go' && this.#random.chance(20) && !isNull(operands.at(-1) as Expression)
    return { type: 'tool', name: `get_${kind}`, operands, named, isPiped }
  }

  /** A path to a value of the kind, from the root, the dot, a variable or an outer context; `undefined` where there is none. */
  #path (kind: Kind, site: Site): Expression | undefined {
    const paths: Array<Choice<Expression>> = []
    const add = (weight: number, dot: Dot | 'unknown', base: Expression): void => {
      if (dot === kind) paths.push([weight, () => base])
      if (dot === 'item') paths.push([weight, () => ({ type: 'field', base, names: this.#random.chance(20) ? ['inner', MEMBERS[kind]] : [MEMBERS[kind]] })])
    }
    add(6, site.dot, { type: 'dot' })
    for (const { name, kind: each } of site.variables) add(4, each, { type: 'variable', name })
    for (const [hop, dot] of site.outer.entries()) add(3, dot, { type: 'outer', depth: hop + 1 })
    const path = this.#rootPath(kind, site)
    const rooted = this.#fromRoot(path, site)
    if (rooted !== undefined) paths.push([6, () => rooted])
    return paths.length === 0 ? undefined : this.#random.weighted(paths)
  }

  #rootPath (kind: Kind, site: Site): readonly string[] {
    const all = PATHS[kind].filter(([first = '']) => (site.dot === 'root' && site.isMain) || ROOT_NAMES.has(first))
    return this.#random.chance(5) ? all.at(-1) as readonly string[] : this.#random.pick(all.slice(0, -1))
  }

  #fromRoot (names: readonly string[], site: Site): Expression | undefined {
    const fromDot: Expression = { type: 'field', base: { type: 'dot' }, names }
    if ((site.dot === 'root' || site.hasRootNames) && this.#random.chance(60)) return fromDot
    if (site.syntax === 'handlebars') return { type: 'field', base: { type: 'root' }, names }
    if (site.isMain) return { type: 'field', base: { type: 'variable', name: '' }, names }
    return site.dot === 'root' || site.hasRootNames ? fromDot : undefined
  }

  #name (): string {
    return `v${this.#names++}`
  }
}

const ROOT_NAMES: ReadonlySet<string> = new Set(['variables', 'vscode', 'codebase', 'chat', 'notes', 'topic'])

function partialSite (syntax: Syntax, dot: Dot, isLocal: boolean, hasBlock: boolean, partials: readonly Callable[]): Site {
  return { syntax, dot, hasRootNames: !isLocal, isMain: false, variables: [], outer: [], isInLoop: false, hasBlock, partials, depth: 0 }
}

function inside (bound: Site, dot: Dot, { dot: before, outer, syntax }: Site): Site {
  return { ...bound, dot, hasRootNames: false, outer: syntax === 'handlebars' ? [before, ...outer] : [] }
}

function withVariables (site: Site, variables: Site['variables']): Site {
  return { ...site, variables: [...site.variables, ...variables] }
}

function other (syntax: Syntax): Syntax {
  return syntax === 'go' ? 'handlebars' : 'go'
}

function isNull (node: Expression): boolean {
  return node.type === 'literal' && (node.value satisfies Json) === null
}
