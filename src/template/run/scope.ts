import { renderBudget } from '../../base/errors.ts'
import { childName } from '../child-name.ts'
import { memberNames } from '../member-names.ts'
import { type Run } from './run.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { Absent, isObject, LazyNode, PENDING, type Pending, type Value } from '../value.ts'

/**
 * The modules that publish shared variables; a module is the first segment of a shared variable's name. A module's name is never looked up in a caller's
 * variables, not even while the module has published nothing.
 */
export const KNOWN_MODULES: ReadonlySet<string> = new Set(['vscode', 'codebase', 'chat', 'completion', 'model', 'modules'])

/** The names that no module (the first segment of a shared variable's name) can have. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['variables', 'args', 'caller'])

/** Whether a name belongs to the scope root itself, and is not that of a variable. Such a name can be read in a partial whose argument does not have it. */
export function isRootName (name: string, { environs }: Run): boolean {
  return RESERVED_NAMES.has(name) || environs.has(name) || environs.hasBelow(name) || environs.hides?.(name) === true
}

/** The names of variables that a prompt reads without `variables.` in front. */
export type BareNames = Pick<ReadonlySet<string>, 'has'>

const MAX_KEYS_READ = 1000
/** The cost of each value that is put into a new object, such as the object of all shared variables below a name, in visits (units of a render's work). */
const VISITS_PER_KEY_READ = 10
const MAX_BYTES_READ = 1024 * 1024

/**
 * The scope root: the object in which a template's names are looked up. It has `variables`, `args`, `caller`, the modules of shared variables, and
 * bare names of variables.
 */
export class ScopeRoot extends LazyNode {
  readonly path = ''
  readonly #run: Run
  readonly #variables: JsonObject
  readonly #caller: JsonObject
  readonly #declared: BareNames | undefined
  /** The branches of the modules that the template has read. They are kept, so that a loop asks the index of shared variables only once for each module. */
  #branches: Map<string, EnvironBranch> | undefined

  /**
   * @param declared the names of variables that can be read without `variables.` in front of them, which are the parameters of the prompt; `undefined`
   * when the prompt declares none or allows any others, so that all variables can be read in this way
   */
  constructor (run: Run, variables: JsonObject, caller: JsonObject, declared: BareNames | undefined) {
    super()
    this.#run = run
    this.#variables = variables
    this.#caller = caller
    this.#declared = declared
  }

  /** The variables that the caller has sent, with the defaults of the parameters that the caller left out. */
  variables (): JsonObject {
    return this.#variables
  }

  /** The scope root for a partial: with the parameters that the partial declares, and their defaults for variables that are missing. */
  forPartial (defaults: JsonObject, declared: BareNames | undefined): ScopeRoot {
    const leftOut = Object.keys(defaults).filter(name => !Object.hasOwn(this.#variables, name))
    if (leftOut.length === 0) return declared === this.#declared ? this : this.derive(this.#run, this.#variables, this.#caller, declared, leftOut)
    this.#run.charge(memberNames(this.#variables).length * VISITS_PER_KEY_READ)
    return this.derive(this.#run, { ...defaults, ...this.#variables }, this.#caller, declared, leftOut)
  }

  /** Makes a scope root of the same class. @param _leftOut the names of the variables that were filled with defaults */
  protected derive (run: Run, variables: JsonObject, caller: JsonObject, declared: BareNames | undefined, _leftOut: readonly string[]): ScopeRoot {
    return new ScopeRoot(run, variables, caller, declared)
  }

  field (name: string): Value {
    if (name === 'variables' || name === 'args') return this.#variables
    if (name === 'caller') return this.#caller
    const known = this.#branches?.get(name)
    if (known !== undefined) return known
    const { environs } = this.#run
    if (environs.hasBelow(name)) return this.#branch(name)
    if (environs.has(name)) return readKey(this.#run, name) ?? new Absent(name)
    if (KNOWN_MODULES.has(name) || environs.hides?.(name) === true) return new Absent(name)
    if (this.#declared !== undefined && !this.#declared.has(name)) return new Absent(name)
    if (Object.hasOwn(this.#variables, name)) return this.#variables[name] as Json
    return new Absent(`variables.${name}`)
  }

  #branch (name: string): EnvironBranch {
    const branch = new EnvironBranch(this.#run, name)
    this.#branches ??= new Map()
    this.#branches.set(name, branch)
    return branch
  }

  keys (): readonly string[] {
    return this.#run.pin('names at the root', () => [...new Set([...RESERVED_NAMES, ...this.#run.environs.segmentsBelow('')])].sort()) as readonly string[]
  }

  read (): JsonObject | Pending {
    const shared = readBelow(this.#run, '')
    return shared === PENDING ? PENDING : { ...shared as JsonObject, variables: this.#variables, args: this.#variables, caller: this.#caller }
  }
}

/** A branch: all shared variables whose names begin with the same path. A template can descend through it without fetching all values in it. */
class EnvironBranch extends LazyNode {
  readonly path: string
  readonly #run: Run
  #names: readonly string[] | undefined
  /** The branches below this one that were asked for, by path. They are kept, because Handlebars compares nodes to see whether a context is another one. */
  #branches: Map<string, EnvironBranch> | undefined

  constructor (run: Run, path: string) {
    super()
    this.#run = run
    this.path = path
  }

  field (segment: string): Value {
    // A segment is never split: `lookup chat "a.b"` must not reach the value at chat.a.b.
    if (segment.includes('.')) return this.#absent(segment)
    const { environs } = this.#run
    const child = childName(this.path, segment)
    if (environs.hasBelow(child)) return this.#branch(child)
    if (environs.has(child)) return readKey(this.#run, child) ?? this.#absent(segment)
    const own = this.#own()
    if (own === PENDING) return PENDING
    if (!isObject(own) || !Object.hasOwn(own, segment)) return this.#absent(segment)
    this.#run.trace?.readEnviron(this.path, own as Json, segment)
    return own[segment] as Value
  }

  #branch (path: string): EnvironBranch {
    const known = this.#branches?.get(path)
    if (known !== undefined) return known
    const branch = new EnvironBranch(this.#run, path)
    this.#branches ??= new Map()
    this.#branches.set(path, branch)
    return branch
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

  /**
   * The value of the shared variable that has the name of the branch itself. Where this value has a member of the same name as a variable below the
   * branch, the variable counts.
   */
  #own (): Value {
    if (!this.#run.environs.has(this.path)) return null
    return this.#run.environ(this.path) ?? null
  }

  #absent (segment: string): Absent {
    return new Absent(`${this.path}.${segment}`)
  }
}

/** The value of the shared variable `name`, read for a template: the trace notes it. */
function readKey (run: Run, name: string): Json | Pending | undefined {
  const value = run.environ(name)
  if (value !== undefined && value !== PENDING) run.trace?.readEnviron(name, value as Json)
  return value
}

/** The value of one shared variable, or of everything below a name; `undefined` when it no longer exists. */
export function readEnviron (run: Run, name: string): Json | Pending | undefined {
  return run.environs.hasBelow(name) ? readBelow(run, name) : run.environ(name)
}

/** Everything at and below a name as one object; `PENDING` until all of it is in memory. What is not in memory is noted, all at once. */
function readBelow (run: Run, name: string): Json | Pending {
  return run.pin(`all of ${name}`, () => readAll(run, name))
}

function readAll (run: Run, name: string): Json | Pending {
  const below = run.environs.namesBelow(name, MAX_KEYS_READ)
  if (below === undefined) throw renderBudget(`shared variables below "${name}"`, MAX_KEYS_READ)
  const names = run.environs.has(name) ? [name, ...below] : below
  run.charge(names.length * VISITS_PER_KEY_READ)
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

/**
 * Builds one object from values and their paths. Where a value has deeper paths below it, objects are merged, and any other value is replaced. Every
 * path must come before those below it.
 */
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

/** The object at `holder[key]`, copied so that it can be changed; a new one if there is none. */
function ownObject<T extends { [key: string]: unknown }> (holder: T, key: string): T {
  const present = holder[key]
  const copy = Object.assign(emptyObject(), typeof present === 'object' && present !== null && !Array.isArray(present) ? present : {})
  Object.assign(holder, { [key]: copy })
  return copy as T
}

// The object has no prototype, so that a member called `__proto__` is data like any other.
function emptyObject (): { [key: string]: Json } {
  return Object.create(null) as { [key: string]: Json }
}
