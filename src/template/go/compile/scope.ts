/** A variable of a template's body, as it is known when the body is compiled. */
export interface Variable {
  readonly name: string
  readonly slot: number
  /** Whether the variable's value is an element of a list or map; see `Expression.isBoxed`. */
  isBoxed: boolean
  /** The path of the variable's value from the scope root (the object with all variables), or the variable's name when that path is not known. */
  path: string
}

/** The dot (the value to which `.name` belongs) at a place in a template, as far as it is known without running the template. */
export interface Dot {
  /** The path of the dot from the scope root (the object with all variables), `''` for the root; `undefined` when it is not known. */
  readonly path: string | undefined
  readonly isBoxed: boolean
  /** Whether the dot is the value with which the template was called: no `with` or `range` has changed it. */
  readonly isInitial: boolean
}

/**
 * The variables that can be used at the place that is compiled now, and the dot there. The scope works like the stack of variables that Go keeps at run
 * time: a name means the variable that was pushed last, and the end of a block pops the block's variables.
 */
export class Scope {
  readonly #variables: Variable[] = []
  slots = 0
  dot: Dot
  /** The number of blocks around the place that is compiled now. */
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

  /** Compiles a part of a template. The variables that the part declares cannot be used after it. */
  block<T> (compile: () => T): T {
    const before = this.#variables.length
    const compiled = compile()
    this.#variables.length = before
    return compiled
  }

  /** Compiles a block (`if`, `with` or `range`): its header and the statements inside it. */
  nested<T> (compile: () => T): T {
    this.depth++
    const compiled = this.block(compile)
    this.depth--
    return compiled
  }

  /** Compiles a part of a template in which the dot is another value than around it. */
  withDot<T> (dot: Dot, compile: () => T): T {
    const outer = this.dot
    this.dot = dot
    const compiled = compile()
    this.dot = outer
    return compiled
  }
}
