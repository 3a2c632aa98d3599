import { type Json } from '../../../../src/base/json.ts'
import { type Statement, type Syntax } from '../program.ts'
import { type Rules } from './rules.ts'
import { type Root, type Value } from './values.ts'

/** One run of one template. */
export interface Frame {
  readonly syntax: Syntax
  readonly rules: Rules
  readonly root: Root
  /** What it was called with, where that leaves the names of the root reachable: a prompt used as a partial. */
  readonly argument: Value | undefined
  /** Go's stack of variables: a name means the one that was pushed last. */
  readonly variables: Array<{ readonly name: string, value: Value }>
}

/** Where a statement runs. */
export interface Place {
  readonly frame: Frame
  /** The dot or context. */
  readonly context: Value
  /** Go: no `with` or `range` has changed the dot. */
  readonly isInitial: boolean
  /** Handlebars: what `../` means. */
  readonly up: Place | undefined
  readonly data: Readonly<Record<'index' | 'key' | 'first' | 'last', Json>> | undefined
  readonly parameters: ReadonlyMap<string, Value>
  /** Handlebars: what `{{> @partial-block}}` means. */
  readonly block: { readonly body: readonly Statement[], readonly place: Place } | undefined
}

/** The place inside a block that sets the context. */
export function inside (place: Place, context: Value, changes: Partial<Place> = {}): Place {
  return { ...place, context, isInitial: false, up: place, ...changes }
}

/** The place inside the body of a partial's block: where that keeps the context, `../` means what it means around it. */
export function insideBody (place: Place, context: Value, changes: Partial<Place>): Place {
  return { ...inside(place, context, changes), up: context === place.context ? place.up : place }
}

/** Where a template begins. */
export function startOf (frame: Frame, context: Value): Place {
  frame.variables.push({ name: '', value: context })
  return { frame, context, isInitial: true, up: undefined, data: undefined, parameters: new Map(), block: undefined }
}
