import type { Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/views.ts'
import { operatorFor, unknownWorkspace } from '../../access/rights.ts'
import { definitionNotFound, requestInvalid } from '../../base/errors.ts'
import { type JsonObject, ownField } from '../../base/json.ts'
import { hashOfPublishedSchema, readPublishedSchema } from '../../schema/published.ts'
import type { Config } from '../../config/config.ts'
import type { OperatorFile, Workspace } from '../../config/operator.ts'
import { LOOP } from '../../engine/dialogue-state.ts'
import type { ResolvedDefinitions } from '../../engine/dialogue.ts'
import { DEFAULT_LIMITS, type PlanLimits, type PlanMode, type PlanSetting } from '../../engine/plan/plan-setting.ts'
import { PLAN } from '../../engine/plan/plan-state.ts'
import { DEFAULT_WHITELIST, widened } from '../../files/path-rules.ts'
import type { Generation } from '../../registry/generation.ts'
import { PLAN_CONFIRMS, PLAN_LIMITS, type PlanConfirm, planKind, type PlanProfile } from '../../registry/kinds/plan-kind.ts'
import { isOf, startedAs, startWith } from '../../session/engine.ts'
import type { Budget, ChildEffect, Spent, Start } from '../../session/model.ts'
import type { Session } from '../../session/session.ts'
import { toPath } from '../../store/store.ts'
import { findDefinition } from '../choose-prompt.ts'
import { disksOf } from './session-storage.ts'
import { type AgentRequest, agentSessions, askOf, seekProfile, startDialogue, withinReach } from './agent-sessions.ts'
import type { SessionKind } from './session-kind.ts'
import { type SkillKindOptions, type SkillRequest, skillSessions } from './skill-sessions.ts'

interface ChildStarter {
  /** With the rights that he has now. */
  readonly caller: Caller
  readonly parent: Session
  readonly effect: ChildEffect
  readonly id: string
}

/**
 * Makes the recorded start of a child session, which another session starts. The child's definition is the one recorded when the first
 * session (the root) began; targets, workspaces and rights are those of now. Whatever needs approval in the parent needs it in the child,
 * too.
 * @param generation the current snapshot of all entries
 * @throws DEFINITION_NOT_FOUND, REQUEST_INVALID, TARGET_NOT_FOUND, WORKSPACE_NOT_FOUND, and errors of the child's kind
 */
export async function startOfChild (kinds: SessionKinds, generation: Generation, starter: ChildStarter): Promise<Start> {
  const { parent, parent: { start }, effect } = starter
  const made = await makeStart(kinds, visibleGeneration(generation, starter.caller), starter)
  const reserved = parent.open.get(effect.id)?.reserved ?? { steps: 0, tokens: 0 }
  const line = [...start.parent?.line ?? [], { session: parent.id, definition: start.definition }]
  return {
    ...made,
    owner: start.owner,
    budget: within(made.budget, reserved),
    ask: [...new Set([...start.ask, ...made.ask])],
    parent: { session: parent.id, effect: effect.id, root: start.parent?.root ?? parent.id, depth: line.length, line }
  }
}

async function makeStart (kinds: SessionKinds, generation: Generation, { caller, parent, effect, id }: ChildStarter): Promise<Omit<Start, 'owner'>> {
  const { definition, input: { text, params = {} }, place } = effect
  const definitions = definitionsIn(parent.start)
  const found = ownField(definitions, definition)
  const by = { caller, generation, session: id, requestId: id, recorded: found }
  switch (found?.kind) {
    case 'agents': {
      const reach = withinReach(definitions, definition)
      const reachable = Object.keys(reach).length === 0 ? {} : { definitions: reach }
      return startDialogue(found, { tools: found.tools, ...reachable, ask: askOf(found.agent, definitions) }, { task: text })
    }
    case 'skills': return await kinds.skills.start({ id: found.id, params, prompt: text, target: place, autoContinue: true }, by)
    case 'plans': return await kinds.plans.start({ goal: text, workspace: place ?? '', mode: 'apply', confirm: 'diff' }, by)
    default: throw definitionNotFound('definition', definition, [])
  }
}

/** Only dialogues with agents have any. */
export function definitionsIn (start: Start): ResolvedDefinitions {
  return isOf(start.engine, LOOP) ? startedAs(start, LOOP).setting.definitions ?? {} : {}
}

function within ({ steps, tokens, idle }: Budget, reserved: Spent): Budget {
  return { steps: Math.min(steps, reserved.steps), tokens: Math.min(tokens, reserved.tokens), idle }
}

export interface SessionKinds {
  readonly agents: SessionKind<AgentRequest>
  readonly skills: SessionKind<SkillRequest>
  readonly plans: SessionKind<PlanRequest>
}

export function sessionKindsOf (options: SkillKindOptions & { readonly config: Config }): SessionKinds {
  return { agents: agentSessions(options.config), skills: skillSessions(options), plans: planSessions(options.operator, options.config) }
}

export interface PlanRequest {
  readonly goal?: string | undefined
  readonly workspace: string
  /** It takes precedence over a mode in the words of the goal. */
  readonly mode?: PlanMode | undefined
  /** With `.` or `:` between its parts. @default the profile that `PAPAYU_PROFILE` names */
  readonly profile?: string | undefined
  /** A check that runs before anything is planned; if it fails, the goal is to make it pass. */
  readonly fix?: string | undefined
  /** It counts only if it is stricter than the operator's file and the profile. */
  readonly confirm?: PlanConfirm | undefined
  readonly report?: string | undefined
}

const BUDGET = { steps: 500, tokens: 2_000_000, idle: 24 * 60 * 60 * 1000 }

/** Their start throws WORKSPACE_NOT_FOUND, too. */
export function planSessions (operator: OperatorFile, config: Config): SessionKind<PlanRequest> {
  const disks = disksOf(config, operator)
  return {
    name: 'plans',
    engines: [PLAN],
    start (request, { caller, generation, session, recorded }) {
      const { goal = '', workspace: name, mode, profile: wanted = config.PAPAYU_PROFILE, report = '', fix, confirm } = request
      if (goal.trim() === '' && fix === undefined) throw requestInvalid('body: goal: expected words, got none', { part: 'body' })
      const offered = operatorFor(operator, caller)
      const workspace = offered.workspaces.get(name)
      if (workspace === undefined) throw unknownWorkspace(offered, name)
      refuseUnknownCheck(fix, workspace)
      const { id, profile, revision } = recorded?.kind === 'plans' ? recorded : seekProfile(generation, toPath(wanted)) ?? profileOf(generation, wanted)
      return {
        ...startWith(PLAN, settingOf(profile, workspace, config, traceIdOf(session), confirm)),
        definition: `plans/${id}`,
        disk: disks?.of(name),
        revision,
        input: {
          goal: fix === undefined || goal !== '' ? goal : `fix: the check "${fix}" fails`,
          report,
          ...(mode === undefined ? {} : { mode }),
          ...(fix === undefined ? {} : { fix })
        },
        budget: BUDGET,
        ask: []
      }
    }
  }
}

/** @throws DEFINITION_NOT_FOUND */
function profileOf (generation: Generation, given: string) {
  const { id, profile, hash } = findDefinition(generation, planKind, given)
  return { id, profile, revision: hash }
}

function refuseUnknownCheck (fix: string | undefined, { name, checks }: Workspace): void {
  if (fix === undefined || checks.has(fix)) return
  const offered = [...checks.keys()].join(', ') || 'none'
  throw requestInvalid(`body: fix: "${fix}" is no check of the workspace "${name}", which has ${offered}`, { part: 'body' })
}

/** The id of the session, written as a UUID. */
export function traceIdOf (session: string): string {
  return session.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function settingOf (profile: PlanProfile, workspace: Workspace, config: Config, traceId: string, asked: PlanConfirm | undefined): PlanSetting {
  const { prompt = '', checks, limits, schema: version, language, confirm, repair, commit } = profile
  const known = [...workspace.checks.keys()]
  const unknown = checks?.find(check => !workspace.checks.has(check))
  if (unknown !== undefined) {
    const offered = known.length === 0 ? 'none' : known.join(', ')
    throw requestInvalid(`body: profile: its check "${unknown}" is none of the workspace "${workspace.name}", which has ${offered}`, { part: 'body' })
  }
  const file = version === 1 ? 'plan-response' : 'plan-response-2'
  const published = readPublishedSchema<JsonObject & { readonly x_schema_version: number }>(file)
  const { $schema: _dialect, $id: _id, x_schema_version: schemaVersion, title: _title, ...schema } = published
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
    schemaHash: hashOfPublishedSchema(file),
    eol: config.PAPAYU_NORMALIZE_EOL,
    language: language ?? config.DEFAULT_LANGUAGE,
    confirm: strictest([workspace.confirm, confirm, asked]),
    repair,
    commit: workspace.mayCommit ? commit : 'never',
    remembers: config.PAPAYU_MEMORY_AUTOPATCH === 1,
    limits: tightened(limitsOf(config, version), limits),
    whitelist: widened(DEFAULT_WHITELIST, workspace.mayChange ?? []),
    keepsUndo: true
  }
}

/** `PLAN_CONFIRMS` begins with the strictest. */
function strictest (wanted: ReadonlyArray<PlanConfirm | undefined>): PlanConfirm {
  return PLAN_CONFIRMS.find(confirm => wanted.includes(confirm)) ?? 'diff'
}

/** Version 2 of the schema may ask for context twice as often, as it may list folders first. */
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

/** A profile cannot loosen the service's limits. */
function tightened (limits: PlanLimits, own: PlanProfile['limits']): PlanLimits {
  return Object.fromEntries(PLAN_LIMITS.map(name => [name, Math.min(limits[name], own[name] ?? Infinity)])) as PlanLimits
}
