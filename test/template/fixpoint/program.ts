import { type Json } from '../../../src/base/json.ts'

/**
 * What the generators make: a template as plain data. It is printed as Go or Handlebars source for the engines, and
 * interpreted as it is by the reference evaluator.
 */
export interface Program {
  readonly syntax: Syntax
  readonly body: readonly Statement[]
  readonly partials: readonly Partial[]
  readonly world: World
}

export type Syntax = 'go' | 'handlebars'

/** A partial. A local one is a `define` or an inline partial of the template itself, any other a prompt of its own. */
export interface Partial {
  readonly name: string
  readonly isLocal: boolean
  readonly syntax: Syntax
  readonly body: readonly Statement[]
  /** Defaults of its parameters, the only ones that it declares; `undefined` when it declares none. */
  readonly defaults: Readonly<Record<string, Json>> | undefined
}

/** What a program runs over. */
export interface World {
  /** What the tools answer depends on it, so that the same call may fail in one program and not in another. */
  readonly salt: number
  readonly variables: Readonly<Record<string, Json>>
  /** Shared variables by dotted path. */
  readonly environs: readonly Environ[]
}

export interface Environ {
  readonly name: string
  readonly value: Json
  /** In memory from the start, to be fetched, or indexed and yet not there any more. */
  readonly state: 'cached' | 'stored' | 'gone'
}

export type Expression =
  | { readonly type: 'literal', readonly value: string | number | boolean | null }
  | { readonly type: 'dot' }
  /** Go: `$name`, where `$` alone is what the template was called with. Handlebars: a block parameter. */
  | { readonly type: 'variable', readonly name: string }
  /** Handlebars: `@root`, `../` so many times, `@index` and its kin. */
  | { readonly type: 'root' }
  | { readonly type: 'outer', readonly depth: number }
  | { readonly type: 'data', readonly name: 'index' | 'key' | 'first' | 'last' }
  | { readonly type: 'field', readonly base: Expression, readonly names: readonly string[] }
  /** `isPiped` (Go): the last operand is written first, with a pipe behind it. */
  | { readonly type: 'function', readonly name: string, readonly operands: readonly Expression[], readonly isPiped: boolean }
  | { readonly type: 'tool', readonly name: string, readonly operands: readonly Expression[], readonly named: Named, readonly isPiped: boolean }
  /** Go: `($name = value)`. */
  | { readonly type: 'assign', readonly name: string, readonly value: Expression }

/** Named arguments, in the order in which they are written. */
export type Named = ReadonlyArray<{ readonly name: string, readonly value: Expression }>

export type Statement =
  | { readonly type: 'text', readonly text: string }
  | { readonly type: 'print', readonly value: Expression }
  /** Go: `{{$name := value}}` or `{{$name = value}}`. */
  | { readonly type: 'set', readonly name: string, readonly value: Expression, readonly declares: boolean }
  | { readonly type: 'jump', readonly kind: 'break' | 'continue' }
  /** `isNegated`: Handlebars' `unless`. */
  | { readonly type: 'if', readonly condition: Expression, readonly isNegated: boolean } & Branches
  | { readonly type: 'with', readonly value: Expression, readonly variable: string | undefined } & Branches
  /** `range` or `each`; `assigns` (Go): the header assigns to variables that are there. */
  | { readonly type: 'loop', readonly list: Expression, readonly key: string | undefined, readonly element: string | undefined, readonly assigns: boolean } & Branches
  /** Handlebars: `{{#value}}…{{else}}…{{/value}}`. */
  | { readonly type: 'section', readonly value: Expression } & Branches
  /** `block` (Handlebars): the body that the partial has as its `@partial-block`. */
  | { readonly type: 'partial', readonly name: string, readonly argument: Expression | undefined, readonly named: Named, readonly block: readonly Statement[] | undefined }
  /** Handlebars: `{{> @partial-block}}`. */
  | { readonly type: 'block' }

export interface Branches {
  readonly body: readonly Statement[]
  readonly otherwise: readonly Statement[] | undefined
}
