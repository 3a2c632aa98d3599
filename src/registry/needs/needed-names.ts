import { type VariableNeed } from './needs.ts'

/**
 * The names of the variables that a prompt reads (the segment after `variables`), in the order of the text, each with whether a render without the
 * variable is refused.
 */
export function neededNames (variables: readonly VariableNeed[]): ReadonlyMap<string, boolean> {
  const names = new Map<string, boolean>()
  for (const { path, required } of variables) {
    const name = path.split('.')[1] ?? ''
    if (name !== '' && name !== '*') names.set(name, required || names.get(name) === true)
  }
  return names
}
