import { type TextName } from '../../base/errors.ts'
import { type Json } from '../../base/json.ts'
import { type PathNeed } from '../../template/language.ts'
import { type Position } from '../../template/position.ts'
import { type Prompt } from '../generation/generation.ts'

/** Prompts by id: a generation's, or those with candidates in front. */
export interface PromptLookup { get (id: string): Prompt | undefined }

/** Where something is needed. */
export interface NeedPlace extends Position, Pick<TextName, 'part' | 'member'> {
  /** Which message, from 0, when the prompt has several. */
  readonly messageIndex?: number
  /** The partial whose text it is in; missing for the prompt's own. */
  readonly in?: string
}

/** A value that the caller gives. */
export interface VariableNeed extends Partial<NeedPlace> {
  /** `variables.a.b`; `*` is any name or index. */
  readonly path: string
  readonly use: PathNeed['use']
  /** Whether a render without it is refused, as far as the text tells. */
  readonly required: boolean
  readonly default?: Json
}

/** A shared variable. */
export interface EnvironNeed extends NeedPlace {
  readonly path: string
  readonly use: PathNeed['use']
  /** Whether it is published now, or something around it is. */
  readonly registered: boolean
}

/** A tool or a partial. */
export interface ReferenceNeed extends Partial<NeedPlace> {
  readonly name: string
  /** What it stands for now; missing when nothing answers to the name. */
  readonly id?: string
  /** The argument expressions as written. */
  readonly arguments: readonly string[]
}

/** Everything that a prompt asks for, through all its partials. */
export interface PromptNeeds {
  readonly variables: readonly VariableNeed[]
  readonly environs: readonly EnvironNeed[]
  readonly caller: readonly (NeedPlace & Pick<PathNeed, 'path' | 'use'>)[]
  /** Those that templates call, with their places; then those that the prompt offers its model by name. */
  readonly tools: readonly ReferenceNeed[]
  readonly partials: readonly (ReferenceNeed & NeedPlace)[]
  /** False when there was too much in it, or in its partials, to look at all of it. */
  readonly complete: boolean
}
