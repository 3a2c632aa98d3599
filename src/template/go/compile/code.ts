import { type PathWriter, type Writer } from '../../explain/piece.ts'
import { type Node } from '../syntax/node.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Machine } from './machine.ts'

/** A compiled expression, which gives its value; `PENDING` when the value is not known yet in this pass. */
export type Evaluate = (machine: Machine, dot: GoValue) => GoValue

/** A compiled statement. It is given its value and the text before it, and returns that text followed by its own. It may set `machine.jump`. */
export type Write = (machine: Machine, dot: GoValue, value: GoValue, before: string) => string

/** The kinds of statements. `writeList` handles the first two itself, because that is faster. */
export const Kind = {
  /** The statement prints its value. */
  Print: 0,
  /** The statement writes its list if its value is true. */
  If: 1,
  Other: 2
} as const

/** A compiled operand, command or pipeline. */
export interface Expression {
  readonly evaluate: Evaluate
  /** The slots (indexes in `Machine.variables`) of the variables that the expression may assign. */
  readonly assigns: readonly number[]
  /** The number of nodes in the expression, as its cost in visits. */
  readonly size: number
  /** The path from the scope root that the expression reads, if that is known; otherwise its source text. */
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
  /** The path of the value that the statement looks at, if it is a plain path. When a value is found there, it is the one that `evaluate` would give. */
  readonly path: PlainPath | undefined
  readonly kind: number
  readonly write: Write
  readonly list?: List | undefined
  /** Describes the statement's piece of the output for an explanation. */
  readonly writer?: PathWriter | undefined
  readonly assigns: readonly number[]
  /** The bits of the jumps (`Jump.Continue`, `Jump.Break`) that the statement may make to the loop around it. */
  readonly jumps: number
  /** The number of nodes in the statement, without those of the lists inside it, whose cost is counted when they begin. */
  readonly size: number
}

/** A compiled list of statements: text, statement, text, statement … */
export interface List {
  readonly steps: readonly Step[]
  /** The text after the last statement. */
  readonly tail: string
  /** Describes the last text for an explanation, when no statement reports it. */
  readonly tailWriter: Writer | undefined
  /** The cost of running the list, in visits. */
  readonly cost: number
  readonly assigns: readonly number[]
  /** The bits of the jumps (`Jump.Continue`, `Jump.Break`) that a statement of the list may make to the loop around the list. */
  readonly jumps: number
}

/** A statement of a list, and the text before it. */
export interface Step extends Block {
  readonly before: string
  /** Describes the text before the statement for an explanation, when the statement does not report it. */
  readonly beforeWriter: Writer | undefined
}

/**
 * A path that begins with the dot or a variable, and has only names that only data can have. Nearly all values that templates print, test, loop over
 * or pass on are at such paths, and nearly always exist. So there is a fast way to read them: see `readPlain`.
 */
export interface PlainPath {
  /** The slot of the variable with which the path begins; -1 for the dot. */
  readonly slot: number
  readonly names: readonly string[]
  /** Whether the first name of the path (`variables` or `args`) means the caller's variables, if the path begins at the scope root. */
  readonly isOfVariables: boolean
}

/** The slots of the variables in the header of a `range`; -1 for a variable that the header lacks. */
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
  /** The number of its variables, including `$`. */
  slots: number
}
