import { type TextName } from '../../base/errors.ts'
import { type Json } from '../../base/json.ts'
import { type PathNeed } from '../../template/language.ts'
import { type Position } from '../../template/position.ts'
import { type Prompt } from '../generation/generation.ts'

/** Prompts by id: a generation's, or those with candidates in front. */
export interface PromptLookup { get (id: string): Prompt | undefined }

/** The place where a prompt needs something. */
export interface NeedPlace extends Position, Pick<TextName, 'part' | 'member'> {
  /** The index of the message, from 0, when the prompt has several. */
  readonly messageIndex?: number
  /** The partial whose text the place is in; missing for the prompt's own text. */
  readonly in?: string
}

/** A variable that the caller gives. */
export interface VariableNeed extends Partial<NeedPlace> {
  /** The path, such as `variables.a.b`; `*` is any name or index. */
  readonly path: string
  readonly use: PathNeed['use']
  /** Whether a render without the variable is refused, as far as the text tells. */
  readonly required: boolean
  readonly default?: Json
}

/** A shared variable that a prompt reads. */
export interface EnvironNeed extends NeedPlace {
  readonly path: string
  readonly use: PathNeed['use']
  /** Whether the variable is published now, or a part of it, or a value around it. */
  readonly registered: boolean
}

/** A tool or a partial that a prompt names. */
export interface ReferenceNeed extends Partial<NeedPlace> {
  readonly name: string
  /** The id that the name stands for now; missing when nothing registered has the name. */
  readonly id?: string
  /** The argument expressions as they are written. */
  readonly arguments: readonly string[]
}

/** Everything that a prompt asks for, through all its partials. */
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
