/** The path of a member: that of the dot, where it cannot be told, is `.`, and the root's is empty. */
export function joinPath (path: string, name: string): string {
  return path === '' ? name : path === '.' ? `.${name}` : `${path}.${name}`
}
