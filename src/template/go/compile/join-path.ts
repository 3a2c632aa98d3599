/** The path of the member `name` of the value at `path`. `path` is `.` for a dot whose path is not known, and `''` for the scope root. */
export function joinPath (path: string, name: string): string {
  return path === '' ? name : path === '.' ? `.${name}` : `${path}.${name}`
}
