import { type PathWriter, type Writer } from '../../explain/piece.ts'
import { type Node } from '../syntax/node.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Machine } from './machine.ts'

/** Gives a value; `PENDING` when it is not known yet in this pass. */
export type Evaluate = (machine: Machine, dot: GoValue) => GoValue

/** Gives the text before it with what a statement writes behind it, once its value is known; may set `machine.jump`. */
export type Write = (machine: Machine, dot: GoValue, value: GoValue, before: string) => string

/** What lists do themselves, as far as they can. */
export const Kind = {
  /** Prints its value. */
  Print: 0,
  /** Writes its list if its value is true. */
  If: 1,
  Other: 2
} as const

/** A compiled operand, command or pipeline. */
export interface Expression {
  readonly evaluate: Evaluate
  /** Slots of the variables that it may assign. */
  readonly assigns: readonly number[]
  /** How many nodes it has, for the budget. */
  readonly size: number
  /** The path that it reads from the scope root, where that can be told; else its source text. */
  readonly path: string
  /** Whether Go would hold its value as an interface: it comes straight out of a map or a list. */
  readonly isBoxed: boolean
  /** The node that Go would have evaluated last in it, which its messages name. */
  readonly last: (machine: Machine) => Node
  /** Where it begins, for messages about it. */
  readonly start: number
}

/** A compiled statement: what it looks at, and what it does then. */
export interface Block {
  readonly evaluate: Evaluate
  /** The path that gives the same value wherever it leads to something, if it looks at one. */
  readonly path: PlainPath | undefined
  readonly kind: number
  readonly write: Write
  readonly list?: List | undefined
  /** What its piece of the output is told as. */
  readonly writer?: PathWriter | undefined
  readonly assigns: readonly number[]
  /** `Jump.Continue` and `Jump.Break` that may leave it. */
  readonly jumps: number
  /** How many nodes it has, without those of the lists inside it, which are charged when they are entered. */
  readonly size: number
}

/** A compiled list: a text, a statement, a text, a statement … */
export interface List {
  readonly steps: readonly Step[]
  /** The text behind the last statement. */
  readonly tail: string
  /** What that text is told as, where nothing else tells of it. */
  readonly tailWriter: Writer | undefined
  /** What it costs to run it. */
  readonly cost: number
  readonly assigns: readonly number[]
  /** `Jump.Continue` and `Jump.Break` that may leave it. */
  readonly jumps: number
}

/** A statement of a list and the text before it. */
export interface Step extends Block {
  readonly before: string
  /** What the text before is told as, where the statement does not tell of it. */
  readonly beforeWriter: Writer | undefined
}

/**
 * A path that begins with the dot or a variable and whose names only data has. Nearly every value that templates print, test,
 * loop over and hand on is such a path, and nearly always there. So it has a short way: see `readPlain`.
 */
export interface PlainPath {
  /** The variable that it begins with; -1 for the dot. */
  readonly slot: number
  readonly names: readonly string[]
  /** Whether it leads to the caller's variables if it begins at the scope root. */
  readonly isOfVariables: boolean
}

/** The variables of a range's header; -1 for those that it does not have. */
export interface Header {
  readonly key: number
  readonly element: number
  readonly assigns: readonly number[]
  /** What they were before, when the header assigns and so outlives the loop. */
  readonly isAssignment: boolean
}

/** A compiled template body. */
export interface Body {
  list: List
  /** How many variables it has, with `$`. */
  slots: number
}
