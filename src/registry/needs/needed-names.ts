import { type VariableNeed } from './needs.ts'

/** The names directly below `variables` that a prompt reads, and whether a render without one is refused, in the order of the text. */
export function neededNames (variables: readonly VariableNeed[]): ReadonlyMap<string, boolean> {
  const names = new Map<string, boolean>()
  for (const { path, required } of variables) {
    const name = path.split('.')[1] ?? ''
    if (name !== '' && name !== '*') names.set(name, required || names.get(name) === true)
  }
  return names
}
