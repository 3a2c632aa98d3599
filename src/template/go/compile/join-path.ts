/**
 * The path of the member `name` of the value at `path`. `path` is `.` for a dot whose path is not known, and `''` for the scope root (the object with
 * all variables).
 */
export function joinPath (path: string, name: string): string {
  return path === '' ? name : path === '.' ? `.${name}` : `${path}.${name}`
}
