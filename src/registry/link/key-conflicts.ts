import { reject } from '../diagnostic/diagnostic.ts'
import { type EntryProblem } from '../entries/entry-table.ts'
import { type Claimed, type Claims } from './claims.ts'

/** The claims of one kind, with its words for people. */
export interface ContestedKind {
  readonly claims: Claims<Claimed>
  readonly words: {
    readonly name: string
    readonly noun: string
    /** What an entry with a key of its own is called. */
    readonly direct: string
  }
}

/** Entries whose key differs from that of another in `.` and `:` only, so that both have one id. */
export function keyConflicts (contested: readonly ContestedKind[]): EntryProblem[] {
  return contested.flatMap(({ claims }) => [...claims.shadowed()])
    .filter(([, { origin }]) => origin === 'direct')
    .map(([key, { id }, winner]) => ({ key, diagnostics: reject('KEY_TAKEN', `its id ${id} is that of ${winner.key}, which is served in its place`).diagnostics, servesLastGood: false }))
}
