import { type EntryProblem } from '../entries/entry-table.ts'

/**
 * The problems of all keys that are not served as they are stored, one problem for each key.
 * @param own the problems of the keys' own values
 * @param conflicts the problems of keys whose id or function name belongs to another key. When a key is in both lists, its two problems become one,
 * with the diagnostics of the conflict at the end.
 */
export function allProblems (own: readonly EntryProblem[], conflicts: readonly EntryProblem[]): EntryProblem[] {
  const lost = new Map(conflicts.map(conflict => [conflict.key, conflict]))
  const merged = own.map(problem => {
    const conflict = lost.get(problem.key)
    if (conflict === undefined) return problem
    lost.delete(problem.key)
    return { ...conflict, diagnostics: [...problem.diagnostics, ...conflict.diagnostics] }
  })
  return [...merged, ...lost.values()]
}
