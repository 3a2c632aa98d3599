import { contentHash, type Json, type JsonObject } from '../../../base/json.ts'
import { isObject } from '../../../template/value.ts'
import { entrySchema } from '../../entries/entry-schemas.ts'
import { checkWithFields, lintFields } from '../../entries/misspelt-fields.ts'
import { defineKind } from '../define-kind.ts'
import { type Definition } from '../definition.ts'

const SCHEMA = entrySchema('plan')

/** The limits that a profile may name. The service has a limit of the same name for each. */
export const PLAN_LIMITS = [
  'max_actions', 'max_file_bytes', 'max_total_content_bytes', 'max_context_rounds', 'context_max_files', 'context_max_file_chars',
  'context_max_total_chars', 'context_max_log_chars'
] as const

export type PlanLimit = typeof PLAN_LIMITS[number]

/** What a person agrees to before it is written: each diff, what deletes, or nothing. The strictest first. */
export const PLAN_CONFIRMS = ['diff', 'deletions', 'none'] as const

export type PlanConfirm = typeof PLAN_CONFIRMS[number]

/** When a change is committed: never, when its user asks for it, or once its checks have passed. */
export type PlanCommit = 'never' | 'request' | 'passed'

/** What happens when a check fails, or an answer cannot be taken. */
export interface PlanRepair {
  /** How often the model may mend what it has done since its user spoke last. */
  readonly rounds: number
  /** Whether each round waits for a person; else only one that touches more than was shown, or deletes. */
  readonly confirm: boolean
  /** What becomes of a change whose check still fails when no round is left. */
  readonly then: 'rollback' | 'keep'
}

/** A plan profile: how plans are made and checked. Plain data. */
export interface PlanProfile {
  /** Empty when there is none. */
  readonly description: string
  /** What the model is told beside the engine's own words. */
  readonly prompt?: string
  /** Names of checks that the operator gives the workspace: whoever registers a profile chooses no command. @default all of them */
  readonly checks?: readonly string[]
  /** Of the contract with the model: 1 writes whole files, 2 edits them. */
  readonly schema: 1 | 2
  /** Of the service's own texts, and of its words to the model. @default `DEFAULT_LANGUAGE` */
  readonly language?: 'en' | 'ru'
  readonly confirm: PlanConfirm
  readonly repair: PlanRepair
  /** When a change is committed, where the operator allows that. */
  readonly commit: PlanCommit
  /** A limit of the service that is tighter wins. */
  readonly limits: Readonly<Partial<Record<PlanLimit, number>>>
}

/** A profile as it is registered. */
export interface PlanDefinition extends Definition {
  readonly profile: PlanProfile
}

/** Plan profiles, `shenma:plans:*`. */
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
  return profileFrom(value as GivenProfile)
}

/** A profile as it may be written: all is optional. */
type GivenProfile = Partial<Omit<PlanProfile, 'repair'>> & { readonly repair?: Partial<PlanRepair> }

/** A profile with the defaults of what is left out. */
export function profileFrom (given: GivenProfile): PlanProfile {
  const { description = '', schema = 2, confirm = 'diff', repair, commit = schema === 1 ? 'never' : 'request', limits = {}, ...rest } = given
  return { description, schema, confirm, repair: { rounds: schema === 1 ? 0 : 3, confirm: false, then: 'rollback', ...repair }, commit, limits, ...rest }
}
