import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { checkWithFields, entrySchema, lintFields } from '../entries/entry-schemas.ts'
import { defineKind, type Definition } from './entry-kind.ts'

const SCHEMA = entrySchema('plan')

/** The names of the limits that a plan profile can set. The service has a limit with each of these names, too. */
export const PLAN_LIMITS = [
  'max_actions', 'max_file_bytes', 'max_total_content_bytes', 'max_context_rounds', 'context_max_files', 'context_max_file_chars',
  'context_max_total_chars', 'context_max_log_chars'
] as const

export type PlanLimit = typeof PLAN_LIMITS[number]

/** When a person must confirm a planned change before files are written: always (`diff`), only when it deletes files, or never. The strictest is first. */
export const PLAN_CONFIRMS = ['diff', 'deletions', 'none'] as const

export type PlanConfirm = typeof PLAN_CONFIRMS[number]

/** When a planned change is committed to git: never, when its user asks for it, or once its checks have passed. */
export type PlanCommit = 'never' | 'request' | 'passed'

/** How a plan's work is repaired: when a check of the changed workspace fails, or the model's answer cannot be used, the model is asked again (a round). */
export interface PlanRepair {
  /** The most repairs that the model gets between two messages of the user. */
  readonly rounds: number
  /**
   * With `confirm: diff`: whether each round of repair waits for a person's consent. If not, a round waits only when it touches files that the person
   * has not agreed to before, or when it deletes files.
   */
  readonly confirm: boolean
  /** What happens to the plan's changes when a check still fails after the last repair: they are undone (`rollback`) or stay (`keep`). */
  readonly then: 'rollback' | 'keep'
}

/** A plan profile: how a model plans changes of files, and how the changes are confirmed and checked. Plain data. */
export interface PlanProfile {
  /** The description of the profile; empty when there is none. */
  readonly description: string
  /** Instructions for the model, beside those that the service itself gives. */
  readonly prompt?: string
  /**
   * The names of the checks to run, of those that the operator has set up for the workspace. A profile only names them: its author must not choose
   * commands.
   * @default all of them
   */
  readonly checks?: readonly string[]
  /** The version of the format in which the model answers: in 1 it writes whole files, in 2 it edits them. */
  readonly schema: 1 | 2
  /** The language of the fixed texts that the service itself writes to the user and to the model. @default `DEFAULT_LANGUAGE` */
  readonly language?: 'en' | 'ru'
  readonly confirm: PlanConfirm
  readonly repair: PlanRepair
  /** When a change of files is committed to git. It is never committed where the operator does not allow it. */
  readonly commit: PlanCommit
  /** The limits that the profile sets. Where the service has a tighter limit, the service's limit counts. */
  readonly limits: Readonly<Partial<Record<PlanLimit, number>>>
}

/** A plan profile as a registered entry. */
export interface PlanDefinition extends Definition {
  readonly profile: PlanProfile
}

/** The kind of entries that are plan profiles (how a model plans changes of files, and how the changes are checked), stored under `shenma:plans:*`. */
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

/** Reads a plan profile and fills in its defaults. @throws RejectedEntry when it breaks `jsonschema/plan.json` */
export function parseProfile (value: Json): PlanProfile {
  checkWithFields(() => { SCHEMA.check(value) }, () => isObject(value) ? lintFields(value as JsonObject, SCHEMA.fields) : [])
  return profileFrom(value as GivenProfile)
}

/** A plan profile as its author writes it: every field is optional. */
type GivenProfile = Partial<Omit<PlanProfile, 'repair'>> & { readonly repair?: Partial<PlanRepair> }

/** Fills in the defaults of the fields that a plan profile leaves out. */
export function profileFrom (given: GivenProfile): PlanProfile {
  const { description = '', schema = 2, confirm = 'diff', repair, commit = schema === 1 ? 'never' : 'request', limits = {}, ...rest } = given
  return { description, schema, confirm, repair: { rounds: schema === 1 ? 0 : 3, confirm: false, then: 'rollback', ...repair }, commit, limits, ...rest }
}
