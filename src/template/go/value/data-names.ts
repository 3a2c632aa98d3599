import { isDataName } from '../../data-names.ts'
import { GoByte, GoComplex, GoFloat } from './go-value.ts'

/** The names of the properties that Go's own values have. Every other own property of a value is data of a template. */
const GO_NAMES: ReadonlySet<string> = new Set([new GoFloat(0), new GoByte(0), new GoComplex(0, 0)].flatMap(Object.getOwnPropertyNames))

/** Whether a name, as the name of a member, can only be data; like `isDataName`, but for all values of the Go language. */
export function isGoDataName (name: string): boolean {
  return isDataName(name) && !GO_NAMES.has(name)
}
