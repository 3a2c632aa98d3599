import { reject } from '../diagnostic/diagnostic.ts'
import { type EntryProblem } from '../entries/entry-table.ts'
import { type Claimed, type Claims } from './claims.ts'

/** One kind of entries, with the claims to its ids (which key has an entry for which id), and the words for the kind in messages. */
export interface ContestedKind {
  readonly claims: Claims<Claimed>
  readonly words: {
    readonly name: string
    readonly noun: string
    /** The word for an entry that has a key of its own, in contrast to one that an extension brings. */
    readonly direct: string
  }
}

/** The problems of entries whose id belongs to another entry, because the two keys differ only in `.` and `:`. */
export function keyConflicts (contested: readonly ContestedKind[]): EntryProblem[] {
  return contested.flatMap(({ claims }) => [...claims.shadowed()])
    .filter(([, { origin }]) => origin === 'direct')
    .map(([key, { id }, winner]) => ({
      key,
      diagnostics: reject('KEY_TAKEN', `its id ${id} is that of ${winner.key}, which is served in its place`).diagnostics,
      servesLastGood: false
    }))
}
