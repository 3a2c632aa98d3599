import { type EnteredPartial, type Frame, type Link } from '../../language.ts'
import { type Run } from '../../run/run.ts'
import { ScopeRoot } from '../../run/scope.ts'
import { type JsonObject } from '../../../base/json.ts'
import { type LazyNode } from '../../value.ts'
import { type BuiltinContext } from '../builtins/builtin.ts'
import { Printer } from '../fmt/printer.ts'
import { type GoValue } from '../value/go-value.ts'
import { Jump } from './jump.ts'
import { type TracedMachine } from './explain/traced-machine.ts'

/** The state of one template in Go's language while the template runs. For a partial it is used again when the partial runs again in the same render. */
export class Machine {
  readonly run: Run
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  /** The caller's variables as plain data, taken from the scope root; `undefined` when the root is of another class than `ScopeRoot`. */
  readonly variablesOfRoot: JsonObject | undefined
  readonly outputLimit: number
  /**
   * The variables of the body that runs, by slot; slot 0 is `$`. A variable is `undefined` until the code that declares it has run. An `and` can skip
   * that code.
   */
  variables: Array<GoValue | undefined>
  /** The jump that the statement which ran last has made. The lists and loops around the statement look at it. */
  jump: number = Jump.None
  /**
   * For each `and` and `or`, by the number that the compiler gave it: the index of the operand that decided its last run. Messages name that operand's
   * place.
   */
  decided: number[] | undefined = undefined
  /** The partials that the template has already run, by their index in `links`. */
  partials: Array<EnteredPartial | undefined> | undefined
  /** Where the machine's values come from, when the render is explained. */
  traced: TracedMachine | undefined = undefined
  #builtins: BuiltinContext | undefined

  constructor (run: Run, { links, root, partials }: Frame, variables: Array<GoValue | undefined>) {
    this.run = run
    this.links = links
    this.root = root
    this.variablesOfRoot = root instanceof ScopeRoot ? root.variables() : undefined
    this.partials = partials
    this.variables = variables
    this.outputLimit = run.limits.output
  }

  /** What the built-in functions can use of the run. */
  get builtins (): BuiltinContext {
    if (this.#builtins === undefined) {
      const { run } = this
      const charge = (visits: number): void => run.charge(visits)
      this.#builtins = { printer: new Printer(charge), charge, now: () => run.now() }
    }
    return this.#builtins
  }
}

/** Tells where a machine's values come from. It is set in every template that is compiled to be explained. */
export function tracedOf ({ traced }: Machine): TracedMachine {
  return traced as TracedMachine
}
