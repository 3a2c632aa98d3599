import { DATE_FUNCTIONS } from './date.ts'
import { type TemplateFunction } from './function.ts'
import { JSON_FUNCTIONS } from './json.ts'
import { LIST_FUNCTIONS } from './lists.ts'
import { STRING_FUNCTIONS } from './strings.ts'

/** The functions that both template languages offer, by name. */
export const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map(
  [...STRING_FUNCTIONS, ...LIST_FUNCTIONS, ...JSON_FUNCTIONS, ...DATE_FUNCTIONS].map(each => [each.name, each]))
