import { type Json } from '../../../base/json.ts'
import { isObject, LazyNode, PENDING, type Pending, type Value } from '../../value.ts'

/** A lazy context (it is read only when it is used) with named arguments added: `{{> header title="x"}}` when the context is the scope root. */
export class MergedContext extends LazyNode {
  readonly path: string
  readonly #base: LazyNode
  readonly #named: Readonly<Record<string, Value>>

  /** @param named the named arguments, none of which is pending, lazy or absent */
  constructor (base: LazyNode, named: Readonly<Record<string, Value>>) {
    super()
    this.path = base.path
    this.#base = base
    this.#named = named
  }

  field (name: string): Value {
    return Object.hasOwn(this.#named, name) ? this.#named[name] as Value : this.#base.field(name)
  }

  keys (): readonly string[] | Pending {
    const keys = this.#base.keys()
    return keys === PENDING ? PENDING : [...new Set([...keys as readonly string[], ...Object.keys(this.#named)])].sort()
  }

  read (): Json | Pending {
    const base = this.#base.read()
    if (base === PENDING) return PENDING
    return { ...isObject(base) ? base : {}, ...this.#named } as Json
  }
}
