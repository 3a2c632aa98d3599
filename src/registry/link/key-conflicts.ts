import { reject } from '../diagnose/diagnostic.ts'
import { type EntryProblem } from '../entries/entry-table.ts'
import { type PromptClaims } from '../kinds/prompt/prompt-claims.ts'

/** Prompts whose key differs from that of another in `.` and `:` only, so that both have one id. */
export function keyConflicts (claims: PromptClaims): EntryProblem[] {
  return [...claims.shadowed()]
    .filter(([, { origin }]) => origin === 'direct')
    .map(([key, { id }, winner]) => ({ key, diagnostics: reject('KEY_TAKEN', `its id ${id} is that of ${winner.key}, which is served in its place`).diagnostics, servesLastGood: false }))
}
