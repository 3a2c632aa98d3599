import { contentHash, type Json, type JsonObject } from '../../../base/json.ts'
import { isObject } from '../../../template/value.ts'
import { checkPlan, FIELDS } from '../../entries/entry-schemas.ts'
import { checkWithFields, lintFields } from '../../entries/misspelt-fields.ts'
import { defineKind } from '../definition/define-kind.ts'
import { type Definition } from '../definition/definition.ts'

/** A profile of plans: how they are made and checked. Plain data. */
export interface PlanProfile {
  /** Empty when there is none. */
  readonly description: string
  /** What the model is told beside the engine's own words. */
  readonly prompt?: string
  readonly checks: readonly PlanCheck[]
  /** By name; a limit of the service that is tighter wins. The names come from strangers: read it with `Object.hasOwn`. */
  readonly limits: Readonly<Record<string, number>>
}

/** A command that tells whether a change is good. */
export interface PlanCheck {
  readonly name: string
  readonly command: string
  /** Whether it may run again when nobody knows how it ended. */
  readonly repeatable: boolean
}

/** A profile as it is registered. */
export interface PlanDefinition extends Definition {
  readonly profile: PlanProfile
}

/** What the schema lets through. */
type PlanSource = Partial<Omit<PlanProfile, 'checks'>> & { readonly checks?: ReadonlyArray<Omit<PlanCheck, 'repeatable'> & Partial<PlanCheck>> }

/** Profiles of plans, `shenma:plans:*`. */
export const planKind = defineKind<PlanDefinition>({
  key: 'plans',
  name: 'plans',
  noun: 'plan profile',
  access: 'unrestricted',
  define (id, value, origin) {
    const source = value as JsonObject
    return { id, origin, source, profile: parseProfile(value), diagnostics: [], hash: contentHash(source) }
  }
})

/** Reads a profile, with its defaults. @throws RejectedEntry when it breaks `jsonschema/plan.json` */
export function parseProfile (value: Json): PlanProfile {
  checkWithFields(() => { checkPlan(value) }, () => isObject(value) ? lintFields(value as JsonObject, FIELDS.plan) : [])
  const { description = '', prompt, checks = [], limits = {} } = value as unknown as PlanSource
  return { description, ...(prompt === undefined ? {} : { prompt }), checks: checks.map(({ repeatable = false, ...check }) => ({ ...check, repeatable })), limits }
}
