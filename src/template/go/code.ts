import type { PathWriter, Writer } from '../provenance.ts'
import { dataMember } from '../scope.ts'
import { type GoValue, isGoDataName } from './go-value.ts'
import type { Node } from './node.ts'
import type { Machine } from './render-state.ts'

/**
 * The plain path that leads from the variable in `slot` (-1 for the dot) through `names`; `undefined` if JavaScript's own objects have a property with
 * one of the names.
 */
export function plainPath (slot: number, names: readonly string[]): PlainPath | undefined {
  return names.every(isGoDataName) ? { slot, names, isOfVariables: names[0] === 'variables' || names[0] === 'args' } : undefined
}

/** Whether a path begins at the scope root (the object with all variables), with the caller's variables. */
export function beginsAtRoot (machine: Machine, dot: GoValue, { slot, isOfVariables }: PlainPath): boolean {
  return isOfVariables && (slot < 0 ? dot : machine.variables[slot]) === machine.root
}

/**
 * The value of a plain path in the data of the dot, of a variable of the template or of the caller. `undefined` when there is none, for example because
 * the path leads to shared variables. Then the path must be evaluated in the usual way.
 */
export function readPlain (machine: Machine, dot: GoValue, { slot, names, isOfVariables }: PlainPath): GoValue | undefined {
  let value = slot < 0 ? dot : machine.variables[slot]
  let index = 0
  if (isOfVariables && value === machine.root) {
    value = machine.variablesOfRoot
    index = 1
  }
  for (; index < names.length; index++) {
    if (typeof value !== 'object' || value === null) return undefined
    value = dataMember(value, names[index] as string)
  }
  return value
}

/**
 * A compiled expression: gives the expression's value, or `PENDING` while a tool result or a shared variable that it needs is not known. A render runs a
 * template again (in passes) until all of them are known.
 */
export type Evaluate = (machine: Machine, dot: GoValue) => GoValue

/**
 * A compiled statement: gets the statement's value and the output before it, and returns that output followed by the statement's own output. `{{break}}`
 * and `{{continue}}` set `machine.jump`.
 */
export type Write = (machine: Machine, dot: GoValue, value: GoValue, before: string) => string

/** The kinds of statements. `writeList` handles the first two itself, because that is faster. */
export const Kind = {
  /** The statement prints its value. */
  Print: 0,
  /** The statement runs the statements in its `list` if its value is true. */
  If: 1,
  Other: 2
} as const

/** A compiled operand, command or pipeline. */
export interface Expression {
  readonly evaluate: Evaluate
  /** The slots (indexes in `Machine.variables`) of the variables that the expression can assign. */
  readonly assigns: readonly number[]
  /** The number of syntax-tree nodes in the expression. It is the expression's cost in visits (the unit in which a render's work is limited). */
  readonly size: number
  /** The path that the expression reads, from the scope root (the object with all variables), if that path is known; otherwise the expression's source text. */
  readonly path: string
  /** Whether Go would have the value in a variable of type `interface {}`, because it comes directly from a map or a list. That changes Go's messages. */
  readonly isBoxed: boolean
  /** The node that Go would have evaluated last in the expression, which Go's messages name. */
  readonly last: (machine: Machine) => Node
  /** The offset at which the expression begins, for messages about it. */
  readonly start: number
}

/** A compiled statement: the expression whose value it looks at, and what it does with the value. */
export interface Block {
  readonly evaluate: Evaluate
  /** The path of the value that the statement looks at, if that is a `PlainPath`. A value that is found at this path is the one that `evaluate` would give. */
  readonly path: PlainPath | undefined
  readonly kind: number
  readonly write: Write
  readonly list?: List | undefined
  /** The place and surroundings of the statement, for the explanation of what it prints. */
  readonly writer?: PathWriter | undefined
  readonly assigns: readonly number[]
  /** Which jumps the statement can make to the loop around it: the bits `Jump.Continue` and `Jump.Break`, combined. */
  readonly jumps: number
  /** The number of nodes in the statement, without those of the lists inside it. The cost of such a list is counted when the list begins to run. */
  readonly size: number
}

/** A compiled list of statements: text, statement, text, statement … */
export interface List {
  readonly steps: readonly Step[]
  /** The text after the last statement. */
  readonly tail: string
  /** The place of `tail`, for explaining the output; `undefined` when the last statement reports `tail` with its own output, or nothing is explained. */
  readonly tailWriter: Writer | undefined
  /** The cost of running the list, in visits (the unit in which a render's work is limited). */
  readonly cost: number
  readonly assigns: readonly number[]
  /** Which jumps the statements of the list can make to the loop around the list: the bits `Jump.Continue` and `Jump.Break`, combined. */
  readonly jumps: number
}

/** A statement of a list, and the text before it. */
export interface Step extends Block {
  readonly before: string
  /** The place of `before`, for explaining the output; `undefined` when the statement reports `before` with its own output, or nothing is explained. */
  readonly beforeWriter: Writer | undefined
}

/**
 * A path that begins with the dot or a variable, and whose names can only be members of data, never properties that JavaScript gives to objects. Nearly
 * all values that templates print, test, loop over or pass on are at such paths, and nearly always exist. So there is a fast way to read them: see
 * `readPlain`.
 */
export interface PlainPath {
  /** The slot (index in `Machine.variables`) of the variable with which the path begins; -1 for the dot. */
  readonly slot: number
  readonly names: readonly string[]
  /**
   * Whether the first name of the path (`variables` or `args`) means the caller's variables, if the path begins at the scope root (the object with all
   * variables).
   */
  readonly isOfVariables: boolean
}

/**
 * The slots (indexes in `Machine.variables`) of the variables in the header of a `range`, as in `range $key, $element := …`; -1 for one that the header
 * lacks.
 */
export interface Header {
  readonly key: number
  readonly element: number
  readonly assigns: readonly number[]
  /** Whether the header assigns variables that exist outside of the loop, and does not declare new ones. */
  readonly isAssignment: boolean
}

/** The compiled body of a template. */
export interface Body {
  list: List
  /** The number of variables in the body, including `$`. */
  slots: number
}

/**
 * The path of the member `name` of the value at `path`. `path` is `.` for a dot whose path is not known, and `''` for the scope root (the object with
 * all variables).
 */
export function joinPath (path: string, name: string): string {
  return path === '' ? name : path === '.' ? `.${name}` : `${path}.${name}`
}
