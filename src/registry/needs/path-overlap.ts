/**
 * Whether two paths have a value in common: they are equal, or one leads to the other. `*` stands for any one segment.
 * @param a segments of the one path
 * @param b segments of the other
 */
export function overlaps (a: readonly string[], b: readonly string[]): boolean {
  const shared = Math.min(a.length, b.length)
  for (let index = 0; index < shared; index++) {
    if (a[index] !== b[index] && a[index] !== '*' && b[index] !== '*') return false
  }
  return true
}
