import { requestInvalid, workspaceNotFound } from '../../base/errors.ts'
import { contentHash, type JsonObject } from '../../base/json.ts'
import { hashOfPublishedSchema, readPublishedSchema } from '../../base/published-schema.ts'
import { type Caller } from '../../access/caller.ts'
import { type Config } from '../../config/config.ts'
import { type OperatorFile, type Workspace } from '../../config/operator.ts'
import { DEFAULT_LIMITS, type PlanLimits, type PlanSetting } from '../../engine/plan/plan-setting.ts'
import { type PlanMode } from '../../engine/plan/route-mode.ts'
import { DEFAULT_WHITELIST, widened } from '../../files/path-rules.ts'
import { nearMatches } from '../../registry/diagnose/near-matches.ts'
import { type Generation } from '../../registry/generation.ts'
import { PLAN_CONFIRMS, PLAN_LIMITS, type PlanConfirm, planKind, type PlanProfile, profileFrom } from '../../registry/kinds/plan/plan-kind.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { type Start } from '../../session/model.ts'
import { missingDefinition, requireLoaded } from '../missing-entries.ts'
import { traceIdOf } from './trace/trace.ts'

/** A plan that somebody wants. */
export interface PlanRequest {
  /** May be left out with `fix`. */
  readonly goal?: string | undefined
  /** Of the operator's. */
  readonly workspace: string
  /** Goes before what the goal's words say. */
  readonly mode?: PlanMode | undefined
  /** Dotted, or with `:`. @default the built-in one */
  readonly profile?: string | undefined
  /** A check of the workspace that runs first; its failure is what the goal is about. */
  readonly fix?: string | undefined
  /** Only what is stricter than operator and profile counts. */
  readonly confirm?: PlanConfirm | undefined
  /** What the goal is about: the output of a test, a log. */
  readonly report?: string | undefined
}

/** Makes what a plan starts with, once its session has an id. @throws WORKSPACE_NOT_FOUND, DEFINITION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE */
export type StartPlan = (caller: Caller, generation: Generation, request: PlanRequest) => (session: string) => Omit<Start, 'owner'>

/** The profile that is there without a registration. */
const DEFAULT_PROFILE = 'default'

const BUDGET = { steps: 500, tokens: 2_000_000, idle: 24 * 60 * 60 * 1000 }

/**
 * What a plan starts with: all that it depends on of profile, operator and configuration as they are now.
 * @throws WORKSPACE_NOT_FOUND, DEFINITION_NOT_FOUND, REQUEST_INVALID, STORE_UNAVAILABLE
 */
export function startOfPlan (generation: Generation, operator: OperatorFile, config: Config, request: PlanRequest, session: string): Omit<Start, 'owner'> {
  const { goal = '', workspace: name, mode, report = '', fix, confirm } = request
  if (goal.trim() === '' && fix === undefined) throw requestInvalid('body: goal: expected words, got none', { part: 'body' })
  const workspace = operator.workspaces.get(name)
  if (workspace === undefined) throw workspaceNotFound(name, nearMatches(name, operator.workspaces.keys()))
  if (fix !== undefined && !workspace.checks.has(fix)) throw requestInvalid(`body: fix: "${fix}" is no check of the workspace "${name}", which has ${[...workspace.checks.keys()].join(', ') || 'none'}`, { part: 'body' })
  const { id, profile, revision } = profileOf(generation, request.profile ?? config.PAPAYU_PROFILE)
  return {
    engine: 'plan/1',
    definition: `plans/${id}`,
    revision,
    setting: settingOf(profile, workspace, config, traceIdOf(session), confirm) as unknown as JsonObject,
    input: { goal: fix === undefined || goal !== '' ? goal : `fix: the check "${fix}" fails`, report, ...(mode === undefined ? {} : { mode }), ...(fix === undefined ? {} : { fix }) },
    budget: BUDGET,
    ask: []
  }
}

function profileOf (generation: Generation, given: string): { readonly id: string, readonly profile: PlanProfile, readonly revision: string } {
  requireLoaded(generation)
  const id = given.replaceAll(':', '.')
  const found = definitionsOf(generation, planKind).get(id)
  if (found !== undefined) return { id, profile: found.profile, revision: found.hash }
  if (id === DEFAULT_PROFILE) return { id, profile: profileFrom({}), revision: contentHash({}) }
  throw missingDefinition(generation, planKind, id)
}

function settingOf ({ prompt = '', checks, limits, schema: version, language, confirm, repair }: PlanProfile, workspace: Workspace, config: Config, traceId: string, asked: PlanConfirm | undefined): PlanSetting {
  const known = [...workspace.checks.keys()]
  const unknown = checks?.find(check => !workspace.checks.has(check))
  if (unknown !== undefined) throw requestInvalid(`body: profile: its check "${unknown}" is none of the workspace "${workspace.name}", which has ${known.length === 0 ? 'none' : known.join(', ')}`, { part: 'body' })
  const schemaFile = version === 1 ? 'plan-response' : 'plan-response-2'
  const { $schema: _dialect, $id: _id, x_schema_version: schemaVersion, title: _title, ...schema } = readPublishedSchema<JsonObject & { readonly x_schema_version: number }>(schemaFile)
  return {
    traceId,
    workspace: workspace.name,
    prompt,
    checks: checks ?? known,
    model: config.PAPAYU_LLM_MODEL,
    temperature: config.PAPAYU_LLM_TEMPERATURE,
    maxTokens: config.PAPAYU_LLM_MAX_TOKENS,
    timeout: config.PAPAYU_LLM_TIMEOUT_SEC * 1000,
    isStrict: config.PAPAYU_LLM_STRICT_JSON === 1,
    schema,
    schemaVersion,
    schemaHash: hashOfPublishedSchema(schemaFile),
    eol: config.PAPAYU_NORMALIZE_EOL,
    language: language ?? config.DEFAULT_LANGUAGE,
    confirm: strictest([workspace.confirm, confirm, asked]),
    repair,
    remembers: config.PAPAYU_MEMORY_AUTOPATCH === 1,
    limits: tightened(limitsOf(config, version), limits),
    whitelist: widened(DEFAULT_WHITELIST, workspace.mayChange ?? [])
  }
}

/** The first of `PLAN_CONFIRMS` that anybody wants. */
function strictest (wanted: ReadonlyArray<PlanConfirm | undefined>): PlanConfirm {
  return PLAN_CONFIRMS.find(confirm => wanted.includes(confirm)) ?? 'diff'
}

/** By schema 2 a model may ask for context twice as often, since it may list folders first. */
function limitsOf (config: Config, version: number): PlanLimits {
  return {
    ...DEFAULT_LIMITS,
    max_context_rounds: config.PAPAYU_MAX_CONTEXT_ROUNDS * (version === 1 ? 1 : 2),
    context_max_files: config.PAPAYU_CONTEXT_MAX_FILES,
    context_max_file_chars: config.PAPAYU_CONTEXT_MAX_FILE_CHARS,
    context_max_total_chars: config.PAPAYU_CONTEXT_MAX_TOTAL_CHARS,
    context_max_log_chars: config.PAPAYU_CONTEXT_MAX_LOG_CHARS
  }
}

/** Whoever registers a profile can make limits only tighter. */
function tightened (limits: PlanLimits, own: PlanProfile['limits']): PlanLimits {
  return Object.fromEntries(PLAN_LIMITS.map(name => [name, Math.min(limits[name], own[name] ?? Infinity)])) as unknown as PlanLimits
}
