/**
 * Changes members of a JSON object, each at its place; a new one goes to the end, and one whose new value is `undefined` is left out. All
 * other members stay, whatever they are.
 */
export function patch (before: Readonly<Record<string, unknown>>, changes: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const members = new Map(Object.entries(before))
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) members.delete(name)
    else members.set(name, value)
  }
  return Object.fromEntries(members)
}
