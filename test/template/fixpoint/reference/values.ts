import { type Json, type JsonObject } from '../../../../src/base/json.ts'
import { type Environ, type World } from '../program.ts'

/** What a failed tool gives, and what is missing in a tool's result. */
export const NOTHING: unique symbol = Symbol('nothing')

/** A place where nothing is. */
export class Absent {
  readonly kind = 'absent'
}

/** A value of the reference: data, or one of the things that JSON has no word for. */
export type Value = Json | typeof NOTHING | Absent | Lazy

/** A value that has been read in full. */
export type Plain = Json | typeof NOTHING

/** A render that ends: something consumed is not there, or something is done with a value that cannot be done. */
export class RenderFailure extends Error {
  readonly kind: 'miss' | 'error'

  constructor (kind: 'miss' | 'error', message: string) {
    super(message)
    this.kind = kind
  }
}

/** The rules do not say what this program gives, so nobody can be compared with anybody. */
export class Unspecified extends Error {}

/** An object that is read member by member. */
export abstract class Lazy {
  abstract field (name: string): Value
  abstract keys (): readonly string[]
  abstract read (): Plain
}

const fromTools = new WeakSet<object>()

/** Marks a tool's result, so that what is missing in it is nothing. */
export function markFromTool (value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  fromTools.add(value)
  for (const member of Object.values(value)) markFromTool(member as Json)
  return value
}

export function isFromTool (value: Value): boolean {
  return typeof value === 'object' && value !== null && fromTools.has(value)
}

export function isList (value: Value): value is readonly Json[] {
  return Array.isArray(value)
}

export function isMap (value: Value): value is JsonObject {
  return typeof value === 'object' && value !== null && !isList(value) && !(value instanceof Absent) && !(value instanceof Lazy)
}

/** A value that is about to be used. @throws RenderFailure for what is absent */
export function consume (value: Value): Plain {
  if (value instanceof Absent) throw new RenderFailure('miss', 'absent')
  return value instanceof Lazy ? value.read() : value
}

/** The shared variables of a world. */
export class Shared {
  readonly #environs: ReadonlyMap<string, Environ>
  /** One for each name: what is found at two places is one context. */
  readonly #branches = new Map<string, Branch>()

  constructor ({ environs }: World) {
    this.#environs = new Map(environs.map(environ => [environ.name, environ]))
  }

  /** Whether the name is one, or leads to one. */
  knows (name: string): boolean {
    return this.#environs.has(name) || this.below(name).length > 0
  }

  /** A branch, a value, or absent. */
  at (name: string): Value {
    if (this.below(name).length > 0) {
      const branch = this.#branches.get(name) ?? new Branch(this, name)
      this.#branches.set(name, branch)
      return branch
    }
    return this.own(name) ?? new Absent()
  }

  /** The value under that very name; `undefined` when there is none. */
  own (name: string): Json | undefined {
    const environ = this.#environs.get(name)
    return environ === undefined || environ.state === 'gone' ? undefined : environ.value
  }

  /** Whether there is anything at or below a name. */
  isThere (name: string): boolean {
    return [...this.#environs.values()].some(each => each.state !== 'gone' && (each.name === name || each.name.startsWith(`${name}.`)))
  }

  /** The segments that follow a name. */
  below (name: string): readonly string[] {
    const prefix = `${name}.`
    const segments = [...this.#environs.keys()].filter(each => each.startsWith(prefix)).map(each => each.slice(prefix.length).split('.')[0] as string)
    return [...new Set(segments)].sort()
  }
}

class Branch extends Lazy {
  readonly #shared: Shared
  readonly #name: string

  constructor (shared: Shared, name: string) {
    super()
    this.#shared = shared
    this.#name = name
  }

  field (name: string): Value {
    const path = `${this.#name}.${name}`
    if (this.#shared.knows(path)) return this.#shared.at(path)
    const own = this.#shared.own(this.#name)
    return own !== undefined && isMap(own) && Object.hasOwn(own, name) ? own[name] as Json : new Absent()
  }

  keys (): readonly string[] {
    const own = this.#shared.own(this.#name)
    const names = own !== undefined && isMap(own) ? Object.keys(own) : []
    return [...new Set([...names, ...this.#shared.below(this.#name)])].sort()
  }

  read (): Json {
    const own = this.#shared.own(this.#name)
    const members: Record<string, Json> = own !== undefined && isMap(own) ? { ...own } : {}
    for (const segment of this.#shared.below(this.#name)) {
      const path = `${this.#name}.${segment}`
      if (!this.#shared.isThere(path)) continue
      const value = this.#shared.at(path)
      members[segment] = (value instanceof Lazy ? value.read() : value) as Json
    }
    return members
  }
}

const MODULES = new Set(['vscode', 'codebase', 'chat', 'completion', 'model', 'modules'])
const RESERVED = new Set(['variables', 'args', 'caller'])

/** What a prompt sees at its root. */
export class Root extends Lazy {
  readonly shared: Shared
  readonly variables: JsonObject
  readonly #defaults: JsonObject | undefined

  /** @param defaults of the parameters, by name; `undefined` when any bare name may be one */
  constructor (shared: Shared, variables: JsonObject, defaults: JsonObject | undefined) {
    super()
    this.shared = shared
    this.variables = variables
    this.#defaults = defaults
  }

  /** The root inside a partial: defaults of parameters lie below the variables that are there. Where that changes nothing, it is the same context. */
  forPartial (defaults: JsonObject | undefined): Root {
    const isSame = defaults === this.#defaults && Object.keys(defaults ?? {}).every(name => Object.hasOwn(this.variables, name))
    return isSame ? this : new Root(this.shared, { ...defaults, ...this.variables }, defaults)
  }

  field (name: string): Value {
    if (name === 'caller') return {}
    if (RESERVED.has(name)) return this.variables
    if (this.shared.knows(name)) return this.shared.at(name)
    const isOpen = !MODULES.has(name) && (this.#defaults === undefined || Object.hasOwn(this.#defaults, name))
    return isOpen && Object.hasOwn(this.variables, name) ? this.variables[name] as Json : new Absent()
  }

  /** Whether a partial finds the name here when its own argument does not have it. */
  isReachable (name: string): boolean {
    return RESERVED.has(name) || this.shared.knows(name)
  }

  keys (): never {
    throw new Unspecified('the root as a whole')
  }

  read (): never {
    throw new Unspecified('the root as a whole')
  }
}

/** A context with named arguments on top of it. */
export class Merged extends Lazy {
  readonly #base: Value
  readonly #named: ReadonlyMap<string, Plain>

  constructor (base: Value, named: ReadonlyMap<string, Plain>) {
    super()
    if (typeof base !== 'object' && base !== NOTHING) throw new Unspecified('named arguments on top of a scalar')
    if (isList(base)) throw new Unspecified('named arguments on top of a list')
    this.#base = base
    this.#named = named
  }

  field (name: string): Value {
    const base = this.#base
    if (this.#named.has(name)) return this.#named.get(name) as Plain
    if (base instanceof Lazy) return base.field(name)
    const member = isMap(base) && Object.hasOwn(base, name) ? base[name] as Json : undefined
    // A null inside a tool's result is nothing, here as in an object without named arguments.
    if (base === NOTHING || isFromTool(base)) return member ?? NOTHING
    return member === undefined ? new Absent() : member
  }

  keys (): readonly string[] {
    const base = this.#base
    if (base instanceof Lazy) return [...new Set([...base.keys(), ...this.#named.keys()])].sort()
    return [...new Set([...isMap(base) ? Object.keys(base) : [], ...this.#named.keys()])]
  }

  read (): Json {
    const base = this.#base instanceof Lazy ? this.#base.read() : this.#base
    const members: Record<string, Json> = { ...isMap(base) ? base : {} }
    for (const [name, value] of this.#named) {
      if (value === NOTHING) throw new Unspecified('nothing as a member of an object that is read as a whole')
      members[name] = value
    }
    return members
  }
}
