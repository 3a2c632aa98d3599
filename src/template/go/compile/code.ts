import { type PathWriter, type Writer } from '../../explain/piece.ts'
import { type Node } from '../syntax/node.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Machine } from './machine.ts'

/** A compiled expression, which gives its value; `PENDING` when the value is not known yet in this pass. */
export type Evaluate = (machine: Machine, dot: GoValue) => GoValue

/** A compiled statement, which is given its value and the text before it, and gives that text with its own behind it. It may set `machine.jump`. */
export type Write = (machine: Machine, dot: GoValue, value: GoValue, before: string) => string

/** The kinds of statements, of which lists handle the first two themselves, because that is faster. */
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
  /** The slots of the variables that the expression may assign. */
  readonly assigns: readonly number[]
  /** The number of its nodes, for the budget. */
  readonly size: number
  /** The path from the scope root that the expression reads, if that is known; otherwise its source text. */
  readonly path: string
  /** Whether Go would hold the value as an interface, because it comes directly from a map or a list. That changes Go's messages. */
  readonly isBoxed: boolean
  /** The node that Go would have evaluated last in the expression, which Go's messages name. */
  readonly last: (machine: Machine) => Node
  /** The offset at which the expression begins, for messages about it. */
  readonly start: number
}

/** A compiled statement: the expression whose value it looks at, and what it does with the value. */
export interface Block {
  readonly evaluate: Evaluate
  /** The path whose value the statement looks at, if it is a plain one. Where it leads to a value, that is the same as `evaluate` gives. */
  readonly path: PlainPath | undefined
  readonly kind: number
  readonly write: Write
  readonly list?: List | undefined
  /** Describes the statement's piece of the output for an explanation. */
  readonly writer?: PathWriter | undefined
  readonly assigns: readonly number[]
  /** `Jump.Continue` and `Jump.Break`, if they may leave the statement. */
  readonly jumps: number
  /** The number of its nodes, without those of the lists inside it, which are paid for when they are entered. */
  readonly size: number
}

/** A compiled list of statements: text, statement, text, statement … */
export interface List {
  readonly steps: readonly Step[]
  /** The text behind the last statement. */
  readonly tail: string
  /** Describes the last text for an explanation, when no statement reports it. */
  readonly tailWriter: Writer | undefined
  /** The cost of running the list, in visits. */
  readonly cost: number
  readonly assigns: readonly number[]
  /** `Jump.Continue` and `Jump.Break`, if they may leave the list. */
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
  /** Whether the path leads to the caller's variables if it begins at the scope root. */
  readonly isOfVariables: boolean
}

/** The slots of the variables in the header of a `range`; -1 for one that it does not have. */
export interface Header {
  readonly key: number
  readonly element: number
  readonly assigns: readonly number[]
  /** Whether the header assigns existing variables, which outlive the loop, and does not declare new ones. */
  readonly isAssignment: boolean
}

/** The compiled body of a template. */
export interface Body {
  list: List
  /** The number of its variables, including `$`. */
  slots: number
}
