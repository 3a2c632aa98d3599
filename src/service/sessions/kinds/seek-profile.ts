import { contentHash } from '../../../base/json.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { definitionsOf } from '../../../registry/generation/offered.ts'
import { planKind, type PlanProfile, profileFrom } from '../../../registry/kinds/plan/plan-kind.ts'

/** The profile that is there without a registration. */
const DEFAULT_PROFILE = 'default'

/** A plan profile as a session begins with it. */
export interface FoundProfile {
  readonly id: string
  readonly profile: PlanProfile
  readonly revision: string
}

/** A plan profile, or the built-in one; `undefined` for one that is not there. @param id dotted */
export function seekProfile (generation: Generation, id: string): FoundProfile | undefined {
  const registered = definitionsOf(generation, planKind).get(id)
  if (registered !== undefined) return { id, profile: registered.profile, revision: registered.hash }
  return id === DEFAULT_PROFILE ? { id, profile: profileFrom({}), revision: contentHash({}) } : undefined
}
