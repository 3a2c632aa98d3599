/** A variable of a body. */
export interface Variable {
  readonly name: string
  readonly slot: number
  /** Whether it holds elements of a list or map; see `Expression.isBoxed`. */
  isBoxed: boolean
  /** The static path of its value, or its name. */
  path: string
}

/** What the dot is at a place in a template. */
export interface Dot {
  /** Its static path from the scope root, `''` for the root; `undefined` when it cannot be told. */
  readonly path: string | undefined
  readonly isBoxed: boolean
  /** It is what the template was called with: no `with` or `range` has changed it. */
  readonly isInitial: boolean
}

/**
 * The variables that can be seen at a place, and the dot. It follows Go's stack of variables, which Go keeps at run time: a
 * name means the variable that was pushed last, and the end of a block pops its variables.
 */
export class Scope {
  readonly #variables: Variable[] = []
  slots = 0
  dot: Dot
  /** How many blocks lie around the place. */
  depth = 0

  constructor (dot: Dot) {
    this.dot = dot
    this.declare('$', false, dot.path ?? '$')
  }

  declare (name: string, isBoxed: boolean, path: string): Variable {
    const variable = { name, slot: this.slots++, isBoxed, path }
    this.#variables.push(variable)
    return variable
  }

  find (name: string): Variable | undefined {
    return this.#variables.findLast(variable => variable.name === name)
  }

  /** Compiles what has variables of its own, which end with it. */
  block<T> (compile: () => T): T {
    const before = this.#variables.length
    const compiled = compile()
    this.#variables.length = before
    return compiled
  }

  /** Compiles a block statement, header and lists. */
  nested<T> (compile: () => T): T {
    this.depth++
    const compiled = this.block(compile)
    this.depth--
    return compiled
  }

  /** Compiles what sees another dot. */
  withDot<T> (dot: Dot, compile: () => T): T {
    const outer = this.dot
    this.dot = dot
    const compiled = compile()
    this.dot = outer
    return compiled
  }
}
