import { type TextPlace } from '../base/json.ts'

/** A place in the source of a template. */
export type Position = TextPlace
