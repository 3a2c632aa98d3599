/** The path of a member. The path of a dot that is not known is `.`, and the path of the root is empty. */
export function joinPath (path: string, name: string): string {
  return path === '' ? name : path === '.' ? `.${name}` : `${path}.${name}`
}
