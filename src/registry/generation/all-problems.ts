import { type EntryProblem } from '../entries/entry-table.ts'

/**
 * Every key that is not served as it is stored, once.
 * @param own what is wrong with keys themselves
 * @param conflicts keys that lost their place to others: for one that is wrong itself, too, the conflict comes last
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
