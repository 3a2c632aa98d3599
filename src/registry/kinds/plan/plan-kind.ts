import { contentHash, type Json, type JsonObject } from '../../../base/json.ts'
import { isObject } from '../../../template/value.ts'
import { entrySchema } from '../../entries/entry-schemas.ts'
import { checkWithFields, lintFields } from '../../entries/misspelt-fields.ts'
import { defineKind } from '../definition/define-kind.ts'
import { type Definition } from '../definition/definition.ts'

const SCHEMA = entrySchema('plan')

/** The limits that a profile may name; each of them is one of the service's. */
export const PLAN_LIMITS = ['max_actions', 'max_file_bytes', 'max_total_content_bytes', 'max_context_rounds', 'context_max_files', 'context_max_file_chars', 'context_max_total_chars', 'context_max_log_chars'] as const

export type PlanLimit = typeof PLAN_LIMITS[number]

/** A profile of plans: how they are made and checked. Plain data. */
export interface PlanProfile {
  /** Empty when there is none. */
  readonly description: string
  /** What the model is told beside the engine's own words. */
  readonly prompt?: string
  /** Names of checks that the operator gives the workspace: whoever registers a profile chooses no command. @default all of them */
  readonly checks?: readonly string[]
  /** A limit of the service that is tighter wins. */
  readonly limits: Readonly<Partial<Record<PlanLimit, number>>>
}

/** A profile as it is registered. */
export interface PlanDefinition extends Definition {
  readonly profile: PlanProfile
}

/** Profiles of plans, `shenma:plans:*`. */
export const planKind = defineKind<PlanDefinition>({
  key: 'plans',
  name: 'plans',
  noun: 'plan profile',
  access: 'runs',
  define (id, value, origin) {
    const source = value as JsonObject
    return { id, origin, source, profile: parseProfile(value), diagnostics: [], hash: contentHash(source) }
  }
})

/** Reads a profile, with its defaults. @throws RejectedEntry when it breaks `jsonschema/plan.json` */
export function parseProfile (value: Json): PlanProfile {
  checkWithFields(() => { SCHEMA.check(value) }, () => isObject(value) ? lintFields(value as JsonObject, SCHEMA.fields) : [])
  const { description = '', prompt, checks, limits = {} } = value as unknown as Partial<PlanProfile>
  return { description, ...(prompt === undefined ? {} : { prompt }), ...(checks === undefined ? {} : { checks }), limits }
}
