import { isDataName } from '../../data-names.ts'
import { GoByte, GoComplex, GoFloat } from './go-value.ts'

/** Names that Go's own values have as properties; every other own property of a value is a template's data. */
const GO_NAMES: ReadonlySet<string> = new Set([new GoFloat(0), new GoByte(0), new GoComplex(0, 0)].flatMap(Object.getOwnPropertyNames))

/** The same as `isDataName`, of all values that this engine knows. */
export function isGoDataName (name: string): boolean {
  return isDataName(name) && !GO_NAMES.has(name)
}
