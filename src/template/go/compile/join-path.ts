/** The path of a member. The path of a dot that cannot be told is `.`, and the root's path is empty. */
export function joinPath (path: string, name: string): string {
  return path === '' ? name : path === '.' ? `.${name}` : `${path}.${name}`
}
