import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import { entrySchema } from '../entries/entry-schemas.ts'
import { defineKind, type Definition } from './entry-kind.ts'

const SCHEMA = entrySchema('plan')

/** The service has a limit with each of these names, too. */
export const PLAN_LIMITS = [
  'max_actions', 'max_file_bytes', 'max_total_content_bytes', 'max_context_rounds', 'context_max_files', 'context_max_file_chars',
  'context_max_total_chars', 'context_max_log_chars'
] as const

export type PlanLimit = typeof PLAN_LIMITS[number]

/** When a person must confirm a change before files are written; the strictest comes first. */
export const PLAN_CONFIRMS = ['diff', 'deletions', 'none'] as const

export type PlanConfirm = typeof PLAN_CONFIRMS[number]

/** Never, when the user asks for it, or once the checks have passed. */
export type PlanCommit = 'never' | 'request' | 'passed'

/** After a failed check or an unusable answer, the model is asked again (a round). */
export interface PlanRepair {
  /** Repairs between two messages of the user. */
  readonly rounds: number
  /** With `confirm: diff`. If not, a round waits only for files not agreed to before, or when it deletes files. */
  readonly confirm: boolean
  /** What happens when a check still fails after the last repair. */
  readonly then: 'rollback' | 'keep'
}

export interface PlanProfile {
  readonly description: string
  readonly prompt?: string
  /** Of the operator's checks; a profile only names them, since its author must not choose commands. @default all of them */
  readonly checks?: readonly string[]
  /** Format of the model's answers: 1 writes whole files, 2 edits them. */
  readonly schema: 1 | 2
  /** Of the service's own fixed texts. @default `DEFAULT_LANGUAGE` */
  readonly language?: 'en' | 'ru'
  readonly confirm: PlanConfirm
  readonly repair: PlanRepair
  /** Nothing is committed where the operator does not allow it. */
  readonly commit: PlanCommit
  /** The service's limit counts where it is tighter. */
  readonly limits: Readonly<Partial<Record<PlanLimit, number>>>
}

/** Stored under `shenma:plans:*`. */
export const planKind = defineKind<Definition & { readonly profile: PlanProfile }>({
  key: 'plans',
  name: 'plans',
  noun: 'plan profile',
  access: 'runs',
  define (id, value, origin) {
    const source = value as JsonObject
    return { id, origin, source, profile: parseProfile(value), diagnostics: [], hash: contentHash(source) }
  }
})

/** @throws RejectedEntry when it breaks `jsonschema/plan.json` */
function parseProfile (value: Json): PlanProfile {
  SCHEMA.check(value)
  return profileFrom(value as GivenProfile)
}

type GivenProfile = Partial<Omit<PlanProfile, 'repair'>> & { readonly repair?: Partial<PlanRepair> }

export function profileFrom (given: GivenProfile): PlanProfile {
  const { description = '', schema = 2, confirm = 'diff', repair, commit = schema === 1 ? 'never' : 'request', limits = {}, ...rest } = given
  return { description, schema, confirm, repair: { rounds: schema === 1 ? 0 : 3, confirm: false, then: 'rollback', ...repair }, commit, limits, ...rest }
}
