import { type TextName } from '../../base/errors.ts'
import { type Json } from '../../base/json.ts'
import { type PathNeed } from '../../template/language.ts'
import { type Position } from '../../template/position.ts'
import { type Prompt } from '../generation/generation.ts'

/** Looks up prompts by id: in a generation, or first among entries that are not stored yet and then in a generation. */
export interface PromptLookup { get (id: string): Prompt | undefined }

/** The place in a prompt's text where something is needed. */
export interface NeedPlace extends Position, Pick<TextName, 'part' | 'member'> {
  /** The index of the message, from 0, when the prompt has several. */
  readonly messageIndex?: number
  /** The partial whose text the place is in; missing for the prompt's own text. */
  readonly in?: string
}

/** A variable that a prompt reads and the caller gives. */
export interface VariableNeed extends Partial<NeedPlace> {
  /** The path, such as `variables.a.b`; `*` is any name or index. */
  readonly path: string
  readonly use: PathNeed['use']
  /** Whether a render without the variable is refused, as far as the text shows. */
  readonly required: boolean
  readonly default?: Json
}

/** A shared variable that a prompt reads. */
export interface EnvironNeed extends NeedPlace {
  readonly path: string
  readonly use: PathNeed['use']
  /** Whether a shared variable is published now at the path, below it or above it. */
  readonly registered: boolean
}

/** A tool or a partial that a prompt names. */
export interface ReferenceNeed extends Partial<NeedPlace> {
  readonly name: string
  /** The id of the entry that the name stands for now; missing when none is registered. */
  readonly id?: string
  /** The argument expressions as they are written. */
  readonly arguments: readonly string[]
}

/** Everything that a prompt needs to be rendered, including all its partials. */
export interface PromptNeeds {
  readonly variables: readonly VariableNeed[]
  readonly environs: readonly EnvironNeed[]
  readonly caller: readonly (NeedPlace & Pick<PathNeed, 'path' | 'use'>)[]
  /** The tools: first those that templates call, with their places; then those that the prompt offers its model by name. */
  readonly tools: readonly ReferenceNeed[]
  readonly partials: readonly (ReferenceNeed & NeedPlace)[]
  /** Whether everything was looked at; false when the prompt and its partials are too large. */
  readonly complete: boolean
}
