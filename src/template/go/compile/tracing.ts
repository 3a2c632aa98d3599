import { type Position } from '../../language.ts'
import { made, NOWHERE, type Provenance } from '../../trace/provenance.ts'
import { traceOf } from '../../trace/trace-of.ts'
import { type Trace } from '../../trace/trace.ts'
import { LazyNode } from '../../value.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Evaluate, type Write } from './code.ts'
import { type Machine } from './machine.ts'
import { type Header } from './range.ts'

// What a source that is compiled to be explained has around its closures.

/** Where the dot and the variables of the body that runs come from. */
interface State {
  readonly trace: Trace
  /** Whose template it is, if that of a partial. */
  readonly partial: string | undefined
  dot: Provenance
  /** Parallel to `Machine.variables`. */
  slots: Provenance[]
  /** What the header of the `with` has read whose list comes next. */
  header: Provenance
  /** What the innermost `range` that runs goes over. */
  loop: { readonly value: GoValue, readonly provenance: Provenance }
}

const states = new WeakMap<Machine, State>()

function stateOf (machine: Machine): State {
  return states.get(machine) as State
}

/** Begins a body with its argument as dot and `$`: the template itself, or one that it defines. */
export function traceBody (write: Write): Write {
  return (machine, argument) => {
    const state = states.get(machine)
    const trace = traceOf(machine.run)
    const entry = trace.takeEntry()
    const inside = { dot: entry.argument, slots: [entry.argument] }
    if (state === undefined) {
      states.set(machine, { trace, partial: entry.partial, ...inside, header: NOWHERE, loop: { value: undefined, provenance: NOWHERE } })
      return write(machine, argument)
    }
    const { dot, slots, loop } = state
    Object.assign(state, inside)
    const text = write(machine, argument)
    Object.assign(state, { dot, slots, loop })
    return text
  }
}

/** Says what a template is called with. */
export function traceArgument (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const { trace } = stateOf(machine)
    const { mark } = trace
    const value = evaluate(machine, dot)
    trace.hand(trace.take(mark))
    return value
  }
}

/** The template's own text. */
export function traceText (text: string, at: Position): Write {
  return machine => {
    const { trace, partial } = stateOf(machine)
    trace.write(text, at, partial)
    return text
  }
}

/** Makes a statement one that leaves no reads behind. */
export function traceStatement (write: Write): Write {
  return (machine, dot) => {
    const { trace } = stateOf(machine)
    const { mark } = trace
    const text = write(machine, dot)
    trace.drop(mark)
    return text
  }
}

/** Makes a span of what an expression prints. */
export function traceWriting (write: Write, at: Position): Write {
  return (machine, dot) => {
    const { trace, partial } = stateOf(machine)
    const { mark } = trace
    const text = write(machine, dot)
    trace.write(text, at, partial, mark)
    return text
  }
}

/** Keeps what the header of a `with` reads for its list. */
export function traceHeader (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const state = stateOf(machine)
    const { mark } = state.trace
    const value = evaluate(machine, dot)
    state.header = state.trace.take(mark)
    return value
  }
}

/** Says where the dot of a `with` comes from. */
export function traceWith (write: Write): Write {
  return (machine, value) => {
    const state = stateOf(machine)
    const { dot } = state
    state.dot = state.header
    const text = write(machine, value)
    state.dot = dot
    return text
  }
}

/** Keeps the loop that a `range` is in, since its header replaces it. */
export function traceLoop (write: Write): Write {
  return (machine, dot) => {
    const state = stateOf(machine)
    const { loop } = state
    const text = write(machine, dot)
    state.loop = loop
    return text
  }
}

/** Keeps what the header of a `range` reads for the rounds; before the first one its variables hold the list. */
export function traceLoopHeader ({ key, element }: Header, evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const state = stateOf(machine)
    const { mark } = state.trace
    const value = evaluate(machine, dot)
    const provenance = state.trace.take(mark)
    state.loop = { value, provenance }
    if (key >= 0) state.slots[key] = provenance
    if (element >= 0) state.slots[element] = provenance
    return value
  }
}

/** Says where the dot and the variables of a round come from. */
export function traceRound (header: Header, write: Write): (machine: Machine, element: GoValue, key: GoValue) => string {
  return (machine, element, key) => {
    const state = stateOf(machine)
    const { dot } = state
    const provenance = ofElement(state, key)
    state.dot = provenance
    if (header.element >= 0) state.slots[header.element] = provenance
    if (header.key >= 0) state.slots[header.key] = made([provenance])
    const text = write(machine, element)
    state.dot = dot
    return text
  }
}

/** Of what is no list, map or branch, such as a number, the rounds are not members. */
function ofElement ({ trace, loop: { value, provenance } }: State, key: GoValue): Provenance {
  const found = trace.member(provenance, value, String(key))
  return value instanceof LazyNode || found !== provenance ? found : made([provenance])
}

export const traceDot: Evaluate = (machine, value) => {
  const { trace, dot } = stateOf(machine)
  trace.read(dot)
  return value
}

export function traceVariable (slot: number): Evaluate {
  return machine => {
    const { trace, slots } = stateOf(machine)
    trace.read(slots[slot] ?? NOWHERE)
    return machine.variables[slot]
  }
}

/** Keeps where a variable's value comes from. */
export function traceAssignment (slot: number, evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const { trace, slots } = stateOf(machine)
    const { mark } = trace
    const value = evaluate(machine, dot)
    const provenance = trace.take(mark)
    slots[slot] = provenance
    trace.read(provenance)
    return value
  }
}

/** Reads the fields of a value. */
export type ReadFields = (machine: Machine, receiver: GoValue) => GoValue

/** Says which fields of an operand are read. */
export function traceFields (base: Evaluate, names: readonly string[], read: ReadFields): Evaluate {
  return (machine, dot) => {
    const { trace } = stateOf(machine)
    const { mark } = trace
    const receiver = base(machine, dot)
    const provenance = trace.take(mark)
    const value = read(machine, receiver)
    trace.drop(mark)
    trace.follow(provenance, receiver, names)
    return value
  }
}

/** Says what the first field of a path reads, where that may be one of the scope root. */
export function traceStart (name: string, evaluate: Evaluate, isOfRoot: (machine: Machine, dot: GoValue, name: string) => boolean): Evaluate {
  return (machine, dot) => {
    const state = stateOf(machine)
    const { trace } = state
    const { mark } = trace
    const value = evaluate(machine, dot)
    const ofRoot = isOfRoot(machine, dot, name)
    trace.drop(mark)
    if (ofRoot) trace.follow(NOWHERE, machine.root, [name])
    else trace.follow(state.dot, dot, [name])
    return value
  }
}

/** Says that a call's value is made of what its arguments read. */
export function traceMaking (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    const { trace } = stateOf(machine)
    const { mark } = trace
    const value = evaluate(machine, dot)
    trace.seal(mark)
    return value
  }
}

const FALLBACK: Provenance = { ...NOWHERE, origins: [{ kind: 'default' }] }

/** Says that a fallback is used. */
export function traceFallback (evaluate: Evaluate): Evaluate {
  return (machine, dot) => {
    stateOf(machine).trace.read(FALLBACK)
    return evaluate(machine, dot)
  }
}
