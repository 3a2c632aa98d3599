import { contentHash } from '../../../base/json.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { definitionsOf } from '../../../registry/generation/offered.ts'
import { planKind, type PlanProfile, profileFrom } from '../../../registry/kinds/plan/plan-kind.ts'

/** The id of the built-in plan profile, which is used if no other is registered under it. */
const DEFAULT_PROFILE = 'default'

/** A plan profile (how plans are made and checked), with the id and the revision that a session records. */
export interface FoundProfile {
  readonly id: string
  readonly profile: PlanProfile
  readonly revision: string
}

/** Finds a plan profile, registered or built in; `undefined` when there is none. @param id the dotted id */
export function seekProfile (generation: Generation, id: string): FoundProfile | undefined {
  const registered = definitionsOf(generation, planKind).get(id)
  if (registered !== undefined) return { id, profile: registered.profile, revision: registered.hash }
  return id === DEFAULT_PROFILE ? { id, profile: profileFrom({}), revision: contentHash({}) } : undefined
}
