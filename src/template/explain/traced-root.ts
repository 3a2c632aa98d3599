import { type Run } from '../run/run.ts'
import { type BareNames, RESERVED_NAMES, ScopeRoot } from '../run/scope.ts'
import { type JsonObject } from '../../base/json.ts'
import { Absent, LazyNode, PENDING, type Pending, type Value } from '../value.ts'
import { type Origin } from './origin.ts'
import { placed, type Provenance, type Source } from './provenance.ts'
import { type Trace } from './trace.ts'

const NONE: ReadonlySet<string> = new Set()

/**
 * A scope root (the object with all variables that a template can read) that reports to the trace which of the caller's variables are read from it.
 * `ScopeRoot` itself reports the shared variables.
 */
export class TracedRoot extends ScopeRoot implements Source {
  readonly #trace: Trace
  readonly #filled: ReadonlySet<string>
  readonly #ofVariables = placed('variables', this)

  /** @param filled the names of variables that the caller left out, and that have the default of their parameter @default none */
  constructor (
    run: Run,
    trace: Trace,
    variables: JsonObject,
    caller: JsonObject,
    declared: BareNames | undefined,
    filled: ReadonlySet<string> = NONE
  ) {
    super(run, variables, caller, declared)
    this.#trace = trace
    this.#filled = filled
  }

  /** The provenance of the caller's variables as a whole. */
  ofVariables (): Provenance {
    return this.#ofVariables
  }

  // This is a method and no property, because a template could read a property of the scope root as if it were a variable.
  isCallers (): boolean {
    return true
  }

  originAt (path: string): Origin {
    if (this.#filled.size === 0) return { kind: 'variable', path }
    const [root, name = ''] = path.split('.', 2)
    return { kind: root === 'variables' && this.#filled.has(name) ? 'default' : 'variable', path }
  }

  protected override derive (
    run: Run,
    variables: JsonObject,
    caller: JsonObject,
    declared: BareNames | undefined,
    leftOut: readonly string[]
  ): ScopeRoot {
    const filled = leftOut.length === 0 ? this.#filled : new Set([...this.#filled, ...leftOut])
    return new TracedRoot(run, this.#trace, variables, caller, declared, filled)
  }

  override field (name: string): Value {
    if (name === 'variables' || name === 'args') {
      this.#trace.read(this.#ofVariables)
      return super.field(name)
    }
    const { mark } = this.#trace
    const value = super.field(name)
    const isShared = this.#trace.mark > mark || value instanceof LazyNode
    if (isShared || value instanceof Absent || value === PENDING) return value
    this.#trace.read(placed(RESERVED_NAMES.has(name) ? name : `variables.${name}`, this))
    return value
  }

  override keys (): readonly string[] {
    this.#trace.readBranch('')
    return super.keys()
  }

  override read (): JsonObject | Pending {
    const value = super.read()
    if (value === PENDING) return PENDING
    this.#trace.read(this.#ofVariables)
    const { variables: _variables, args: _args, caller: _caller, ...shared } = value as JsonObject
    this.#trace.readBranch('', shared)
    return value
  }
}
