import { type TextPlace } from '../base/json.ts'

/** A place in a template's source. */
export type Position = TextPlace
