import { definitionNotFound, definitionNotUsable, type ServiceError } from '../base/errors.ts'
import { inWords } from '../registry/diagnostic/diagnostic.ts'
import { placed } from '../registry/diagnostic/diagnostic-table.ts'
import { nearMatches } from '../registry/diagnostic/near-matches.ts'
import { type Generation } from '../registry/generation/generation.ts'
import { type DefinitionKind } from '../registry/kinds/kind.ts'
import { type Definition } from '../registry/kinds/definition.ts'
import { definitionsOf } from '../registry/generation/offered.ts'
import { toPath } from '../store/keys.ts'
import { requireLoaded } from './missing-entries.ts'

/**
 * Finds a definition (an agent, a skill or a plan profile) by its id.
 * @param id with `.` or `:` between its parts
 * @throws DEFINITION_NOT_FOUND with the reason, STORE_UNAVAILABLE
 */
export function findDefinition<D extends Definition> (generation: Generation, kind: DefinitionKind<D>, id: string): D {
  const found = seekDefinition(generation, kind, id)
  if (found === undefined) throw missingDefinition(generation, kind, toPath(id))
  return found
}

/**
 * Finds a definition (an agent, a skill or a plan profile); `undefined` if there is none, for callers that then look in another place.
 * @throws STORE_UNAVAILABLE before the store was first read
 */
export function seekDefinition<D extends Definition> (generation: Generation, kind: DefinitionKind<D>, id: string): D | undefined {
  requireLoaded(generation)
  return definitionsOf(generation, kind).get(toPath(id))
}

/** The error for an agent, skill or plan profile that is not served: it says why the stored one is not usable or, if none is stored, lists similar ids. */
function missingDefinition (generation: Generation, kind: DefinitionKind, path: string): ServiceError {
  const rejected = generation.findRejected(kind, path)
  if (rejected === undefined) return definitionNotFound(kind.noun, path, nearMatches(path, definitionsOf(generation, kind).keys()))
  const { key, diagnostics } = rejected
  return definitionNotUsable(kind.noun, path, key, diagnostics.map(inWords), diagnostics.map(placed))
}
