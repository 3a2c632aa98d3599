import { renderBudget } from '../base/errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { ownCopy } from '../base/text.ts'
import type { EnteredPartial, LinkedPartial } from './language.ts'
import type { RenderRun } from './run.ts'
import { Absent, isObject, LazyNode, memberNames, NOTHING, PENDING, type Pending, type Value, type ValueObject } from './value.ts'
import { type Origin, placed, type Provenance, type ValueSource } from './provenance.ts'
import type { Trace } from './trace.ts'

/** Done once while the outer root stays the same, because a loop can call a partial a thousand times. */
export function enterPartial (run: RenderRun, link: LinkedPartial, outer: LazyNode): EnteredPartial {
  const entered = run.pin(link, () => new Map<LazyNode, EnteredPartial>()) as Map<LazyNode, EnteredPartial>
  const known = entered.get(outer)
  if (known !== undefined) return known
  const partial = open(run, link, outer)
  entered.set(outer, partial)
  return partial
}

function open (run: RenderRun, link: LinkedPartial, outer: LazyNode): EnteredPartial {
  const { id, links } = link
  const template = link.template(run.trace !== undefined)
  const root = link.root(outer)
  const partials: EnteredPartial['partials'] = []
  // Written out: adding members to a copy of the frame takes V8 longer than a short partial's render.
  return { id, template, write: template.open(run, { links, root, partials }), links, root, outer, partials }
}

/** Members that JavaScript gives to all objects and lists, and properties of the special values, whose methods `dataMember` never returns. */
const OTHER_NAMES: ReadonlySet<string> = new Set([Object.prototype, Array.prototype, PENDING, NOTHING, new Absent('')].flatMap(Object.getOwnPropertyNames))

export function isDataName (name: string): boolean {
  return !OTHER_NAMES.has(name)
}

/** Only for names with `isDataName`. Whether the member is the object's own is not checked: that takes half the time of a look-up in a loop. */
export function dataMember (holder: object, name: string): Value | undefined {
  const value = (holder as ValueObject)[name]
  return typeof value === 'function' ? undefined : value
}

/** Most names, and the longest in UTF-16 units: callers can invent any number of names. */
const MOST_KEPT = 20_000
const MAX_KEPT_LENGTH = 200

// Global to the process on purpose: a name means the same everywhere.
const namesBelow = new Map<string, Map<string, string>>()
let kept = 0

/** The same string object each time, since V8 hashes each once: without it, reading five variables makes a render a tenth slower. */
export function childName (parent: string, segment: string): string {
  const known = namesBelow.get(parent)?.get(segment)
  return known ?? keep(parent, segment)
}

function keep (parent: string, segment: string): string {
  if (parent.length + segment.length > MAX_KEPT_LENGTH) return `${parent}.${segment}`
  if (kept >= MOST_KEPT) {
    namesBelow.clear()
    kept = 0
  }
  const name = ownCopy(`${parent}.${segment}`)
  const siblings = namesBelow.get(parent) ?? new Map<string, string>()
  if (siblings.size === 0) namesBelow.set(ownCopy(parent), siblings)
  siblings.set(ownCopy(segment), name)
  kept++
  return name
}

/**
 * The modules that publish shared variables; a module is the first segment of a shared variable's name. A module's name is never looked up in a caller's
 * variables, not even while the module has published nothing.
 */
export const KNOWN_MODULES: ReadonlySet<string> = new Set(['vscode', 'codebase', 'chat', 'completion', 'model', 'modules'])

/** The names that no module (the first segment of a shared variable's name) can have. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['variables', 'args', 'caller'])

/** Such a name can be read in a partial whose argument does not have it. */
export function isRootName (name: string, { environs }: RenderRun): boolean {
  return RESERVED_NAMES.has(name) || environs.has(name) || environs.hasBelow(name) || environs.hides?.(name) === true
}

export type BareNames = Pick<ReadonlySet<string>, 'has'>

const MAX_KEYS_READ = 1000
/** In visits. */
const WORK_PER_KEY_READ = 10
const MAX_BYTES_READ = 1024 * 1024

/**
 * The scope root: the object in which a template's names are looked up. It has `variables`, `args`, `caller`, the modules of shared variables, and
 * bare names of variables.
 */
export class ScopeRoot extends LazyNode implements ValueSource {
  readonly path = ''
  readonly #run: RenderRun
  readonly #variables: JsonObject
  readonly #caller: JsonObject
  readonly #declared: BareNames | undefined
  readonly #filled: ReadonlySet<string>
  /** Kept, so that a loop asks the index of shared variables only once per module. */
  #branches: Map<string, EnvironBranch> | undefined
  #ofVariables: Provenance | undefined

  /**
   * @param declared names readable without `variables.`; `undefined` allows all
   * @param filled variables that have a parameter's default, for the explanation
   */
  constructor (run: RenderRun, variables: JsonObject, caller: JsonObject, declared: BareNames | undefined, filled: ReadonlySet<string> = NONE) {
    super()
    this.#run = run
    this.#variables = variables
    this.#caller = caller
    this.#declared = declared
    this.#filled = filled
  }

  variables (): JsonObject {
    return this.#variables
  }

  forPartial (defaults: JsonObject, declared: BareNames | undefined): ScopeRoot {
    const leftOut = Object.keys(defaults).filter(name => !Object.hasOwn(this.#variables, name))
    if (leftOut.length === 0) {
      return declared === this.#declared ? this : new ScopeRoot(this.#run, this.#variables, this.#caller, declared, this.#filled)
    }
    this.#run.charge(memberNames(this.#variables).length * WORK_PER_KEY_READ)
    return new ScopeRoot(this.#run, { ...defaults, ...this.#variables }, this.#caller, declared, new Set([...this.#filled, ...leftOut]))
  }

  field (name: string): Value {
    const { environs, trace } = this.#run
    if (name === 'variables' || name === 'args') {
      trace?.read(this.ofVariables())
      return this.#variables
    }
    if (name === 'caller') {
      trace?.read(placed(name, this))
      return this.#caller
    }
    const known = this.#branches?.get(name)
    if (known !== undefined) return known
    if (environs.hasBelow(name)) return branchAt(this.#run, name, (this.#branches ??= new Map()))
    if (environs.has(name)) return readKey(this.#run, name) ?? new Absent(name)
    if (KNOWN_MODULES.has(name) || environs.hides?.(name) === true) return new Absent(name)
    if (this.#declared !== undefined && !this.#declared.has(name)) return new Absent(name)
    if (!Object.hasOwn(this.#variables, name)) return new Absent(`variables.${name}`)
    trace?.read(placed(`variables.${name}`, this))
    return this.#variables[name] as Json
  }

  keys (): readonly string[] {
    this.#run.trace?.readBranch('')
    return this.#run.pin('names at the root', () => [...new Set([...RESERVED_NAMES, ...this.#run.environs.segmentsBelow('')])].sort()) as readonly string[]
  }

  read (): JsonObject | Pending {
    const shared = readBelow(this.#run, '')
    if (shared === PENDING) return PENDING
    this.#run.trace?.read(this.ofVariables())
    this.#run.trace?.readBranch('', shared as JsonObject)
    return { ...shared as JsonObject, variables: this.#variables, args: this.#variables, caller: this.#caller }
  }

  // Methods, since a template could read a property of the scope root as if it were a variable.

  ofVariables (): Provenance {
    return (this.#ofVariables ??= placed('variables', this))
  }

  isCallers (): boolean {
    return true
  }

  originAt (path: string): Origin {
    if (this.#filled.size === 0) return { kind: 'variable', path }
    const [root, name = ''] = path.split('.', 2)
    return { kind: root === 'variables' && this.#filled.has(name) ? 'default' : 'variable', path }
  }
}

const NONE: ReadonlySet<string> = new Set()

/** All shared variables below a path: a template can descend without fetching their values. */
class EnvironBranch extends LazyNode {
  readonly path: string
  readonly #run: RenderRun
  #names: readonly string[] | undefined
  /** Kept, because Handlebars compares nodes to see whether a context is another one. */
  #branches: Map<string, EnvironBranch> | undefined

  constructor (run: RenderRun, path: string) {
    super()
    this.#run = run
    this.path = path
  }

  field (segment: string): Value {
    // A segment is never split: `lookup chat "a.b"` must not reach the value at chat.a.b.
    if (segment.includes('.')) return this.#absent(segment)
    const { environs } = this.#run
    const child = childName(this.path, segment)
    if (environs.hasBelow(child)) return branchAt(this.#run, child, (this.#branches ??= new Map()))
    if (environs.has(child)) return readKey(this.#run, child) ?? this.#absent(segment)
    const own = this.#own()
    if (own === PENDING) return PENDING
    if (!isObject(own) || !Object.hasOwn(own, segment)) return this.#absent(segment)
    this.#run.trace?.readEnviron(this.path, own as Json, segment)
    return own[segment] as Value
  }

  keys (): readonly string[] | Pending {
    if (this.#names === undefined) {
      const keys = this.#run.pin(`names below ${this.path}`, () => this.#keys())
      if (keys === PENDING) return PENDING
      this.#names = keys as readonly string[]
    }
    this.#run.trace?.readBranch(this.path)
    return this.#names
  }

  #keys (): readonly string[] | Pending {
    const own = this.#own()
    if (own === PENDING) return PENDING
    const deeper = this.#run.environs.segmentsBelow(this.path)
    return isObject(own) ? [...new Set([...Object.keys(own), ...deeper])].sort() : deeper
  }

  read (): Json | Pending {
    const value = readBelow(this.#run, this.path)
    if (value !== PENDING) this.#run.trace?.readBranch(this.path, value as Json)
    return value
  }

  /** A variable below the branch wins over a member of the branch's own value. */
  #own (): Value {
    if (!this.#run.environs.has(this.path)) return null
    return this.#run.environ(this.path) ?? null
  }

  #absent (segment: string): Absent {
    return new Absent(`${this.path}.${segment}`)
  }
}

function branchAt (run: RenderRun, path: string, branches: Map<string, EnvironBranch>): EnvironBranch {
  const branch = branches.get(path) ?? new EnvironBranch(run, path)
  branches.set(path, branch)
  return branch
}

function readKey (run: RenderRun, name: string): Json | Pending | undefined {
  const value = run.environ(name)
  if (value !== undefined && value !== PENDING) run.trace?.readEnviron(name, value as Json)
  return value
}

export function readEnviron (run: RenderRun, name: string): Json | Pending | undefined {
  return run.environs.hasBelow(name) ? readBelow(run, name) : run.environ(name)
}

/** `PENDING` until all is in memory; what is not is noted, all at once. */
function readBelow (run: RenderRun, name: string): Json | Pending {
  return run.pin(`all of ${name}`, () => readAll(run, name))
}

function readAll (run: RenderRun, name: string): Json | Pending {
  const below = run.environs.namesBelow(name, MAX_KEYS_READ)
  if (below === undefined) throw renderBudget(`shared variables below "${name}"`, MAX_KEYS_READ)
  const names = run.environs.has(name) ? [name, ...below] : below
  run.charge(names.length * WORK_PER_KEY_READ)
  let bytes = 0
  let pending = false
  for (const each of names) {
    const size = run.environBytes(each)
    if (size === PENDING) pending = true
    else bytes += (size as number | undefined) ?? 0
  }
  if (bytes > MAX_BYTES_READ) throw renderBudget(`bytes of shared variables below "${name}"`, MAX_BYTES_READ)
  return pending ? PENDING : mergeEnvirons(names.map(each => [segmentsAfter(each, name), run.environ(each) as Json | undefined]))
}

function segmentsAfter (name: string, ancestor: string): string[] {
  if (name === ancestor) return []
  return name.slice(ancestor === '' ? 0 : ancestor.length + 1).split('.')
}

/** Objects are merged with deeper paths, any other value is replaced. Paths must come before those below them. */
export function mergeEnvirons (entries: Iterable<readonly [path: readonly string[], value: Json | undefined]>): Json {
  type Building = { [key: string]: Json | Building }
  const top: { value: Json | Building } = { value: emptyObject() }
  for (const [path, value] of entries) {
    if (value === undefined) continue
    let holder: Building = top as Building
    let last = 'value'
    for (const segment of path) {
      holder = ownObject(holder, last)
      last = segment
    }
    holder[last] = value
  }
  return top.value as Json
}

/** Copied, so that it can be changed. */
function ownObject<T extends { [key: string]: unknown }> (holder: T, key: string): T {
  const present = holder[key]
  const copy = Object.assign(emptyObject(), typeof present === 'object' && present !== null && !Array.isArray(present) ? present : {})
  Object.assign(holder, { [key]: copy })
  return copy as T
}

// No prototype, so that a member called `__proto__` is data like any other.
function emptyObject (): { [key: string]: Json } {
  return Object.create(null) as { [key: string]: Json }
}

/** @throws Error for a run without a trace: a template that was compiled to be explained cannot run in it */
export function traceOf ({ trace }: RenderRun): Trace {
  if (trace === undefined) throw new Error('a template that is compiled to be explained needs a run with a trace')
  return trace
}
