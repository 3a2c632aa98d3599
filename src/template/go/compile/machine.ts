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

/** The state of one pass over one template. */
export class Machine {
  readonly run: Run
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  /** The caller's variables, as the scope root has them. */
  readonly variablesOfRoot: JsonObject | undefined
  readonly outputLimit: number
  /** The variables of the body that runs, by slot; slot 0 is `$`. `undefined` until the code that declares one has run: an `and` may leave it out. */
  variables: Array<GoValue | undefined>
  /** What the node that ran last asks the lists around it to do. */
  jump: number = Jump.None
  /** Which operand decided the last run of each `and`, `or` and `default`, by number; messages name its place. */
  decided: number[] | undefined = undefined
  /** The partials that it has entered before, by slot. */
  partials: Array<EnteredPartial | undefined> | undefined
  /** What a trace knows of it. */
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

  /** What builtins use of this pass. */
  get builtins (): BuiltinContext {
    if (this.#builtins === undefined) {
      const { run } = this
      const charge = (visits: number): void => run.charge(visits)
      this.#builtins = { printer: new Printer(charge), charge, now: () => run.now() }
    }
    return this.#builtins
  }
}

/** What is traced of a machine that runs what is compiled to be explained; the template has put it there. */
export function tracedOf ({ traced }: Machine): TracedMachine {
  return traced as TracedMachine
}
