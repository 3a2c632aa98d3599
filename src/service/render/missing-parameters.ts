import { type MissingPath } from '../../base/errors.ts'
import { type EnvironNames } from '../../registry/needs/path-owner.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'

/**
 * Adds required parameters that are missing to the paths that a failed render found missing, since a render stops before it has read
 * everything. Each parameter gets the place where the prompt or a partial (an included prompt) first reads it.
 */
export function withParameters (
  misses: readonly MissingPath[],
  required: readonly string[],
  prompt: Prompt,
  { everyPrompt }: Generation,
  environs: EnvironNames
): readonly MissingPath[] {
  const unread = required.filter(path => !misses.some(miss => isWithin(miss.path, path)))
  if (unread.length === 0) return misses
  const { variables } = collectNeeds(prompt, everyPrompt, environs)
  return [...misses, ...unread.map((path): MissingPath => {
    const need = variables.find(each => each.line !== undefined && isWithin(each.path, path))
    if (need === undefined) return { path }
    const { use: _use, required: _required, default: _default, ...place } = need
    return { ...place, path }
  })]
}

function isWithin (path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`)
}
