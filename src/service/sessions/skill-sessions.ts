import { type Caller } from '../../access/caller.ts'
import { operatorFor, unknownTarget } from '../../access/rights.ts'
import { requestInvalid, targetsNotOffered } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Config } from '../../config/config.ts'
import { type OperatorFile, type Target } from '../../config/operator.ts'
import { MAX_CALLS } from '../../engine/skill/skill-calls.ts'
import { SKILL, type SkillSetting } from '../../engine/skill/skill-state.ts'
import { type Generation } from '../../registry/generation.ts'
import { skillKind, type SkillDefinition } from '../../registry/kinds/skill-kind.ts'
import { type Execution, type SkillOptions } from '../../registry/kinds/skill-definition.ts'
import { startWith } from '../../session/engine.ts'
import { type Start } from '../../session/model.ts'
import { findDefinition, seekDefinition } from '../find-entries.ts'
import type { RenderSkill, SkillPrompts } from '../skill-prompts.ts'
import { type ForeignSkills, isForeignPath, placeOfSkills, type SkillSource, sourceOfPath } from './offers.ts'
import { type SessionKind, type Starter } from './session-kind.ts'

/** The longest time that a skill's session waits for an answer before the session expires, in ms: half an hour. */
const IDLE = 30 * 60_000

/** The most tokens of models that one run of a skill uses in all. */
const TOKENS = 1_000_000

/** The name in place of a target (a machine) if the user runs the skill's commands by hand. */
export const MANUAL = 'manual'

/** A request to run a skill (instructions by which a model proposes commands). */
export interface SkillRequest {
  /** The id of a registered skill, with `.` or `:` between its parts; or the folder of a skill that is not registered. */
  readonly id: string
  /** The `path` that a list of skills shows: the path of a skill's file, or the id of a registered skill. It takes precedence over `id`. */
  readonly path?: string | undefined
  /** Where on the target to look for a skill that is not registered: in the project, or in the user's home. */
  readonly source?: SkillSource | undefined
  readonly params: JsonObject
  /** The first message to the model; empty for the default, `Execute skill: …`. */
  readonly prompt: string
  /**
   * Where commands run: `manual` (by hand), the id of an open terminal that the caller owns, or a target (a machine).
   * @default the skill's own target, else the target that has the skill's file, else `manual`
   */
  readonly target?: string | undefined
  /** Who runs commands: the user, or the service with or without approval. @default the skill's own setting, else `approve` */
  readonly execution?: Execution | undefined
  /** The most steps (questions to the model) of the run, from 1. If the skill's own limit is lower, that limit counts. */
  readonly maxSteps?: number | undefined
  /** Whether the model is asked for its next step at once after it has written a message to the user, without waiting for the user's input. */
  readonly autoContinue: boolean
}

/** The open terminals, as far as the start of a skill needs them. */
export interface TerminalTargets {
  /**
   * Finds the target (the machine) of a terminal that the caller owns; `undefined` if `id` cannot be the id of a terminal.
   * @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TERMINAL_NOT_FOUND, TERMINAL_GONE
   */
  targetOf (caller: Caller, id: string): Promise<string | undefined>
}

/** The parts of the service that starting a skill needs. */
export interface SkillKindOptions {
  readonly operator: OperatorFile
  /** Reads the texts that the system prompts of skills begin with. */
  readonly readPrompts: () => Promise<SkillPrompts>
  /** Finds skills that are files on a target (a machine) rather than registered. */
  readonly foreignSkills: Pick<ForeignSkills, 'find'>
  readonly terminals: TerminalTargets
  /** The model that carries out skills; empty for the service's default. */
  readonly model: string
  readonly renderSkill: RenderSkill
  /** The configuration, for the language of skills that set none. */
  readonly config: Pick<Config, 'DEFAULT_LANGUAGE'>
}

/**
 * Makes the kind of sessions that are runs of skills. Their start throws TARGET_NOT_FOUND, TARGETS_NOT_OFFERED, TERMINAL_NOT_FOUND and
 * TERMINAL_GONE, too; for a body that is a template, also the errors of a render.
 */
export function skillSessions ({ operator, readPrompts, foreignSkills, terminals, model, renderSkill, config }: SkillKindOptions): SessionKind<SkillRequest> {
  async function start (request: SkillRequest, { caller, generation, requestId, recorded }: Starter): Promise<Omit<Start, 'owner'>> {
    const { params, prompt, execution: wish, maxSteps: most, autoContinue } = request
    const { wanted, terminal } = await placeWanted(request, caller)
    const offered = operatorFor(operator, caller)
    const { skill, on } = recorded?.kind === 'skills'
      ? { skill: recorded.skill, on: undefined }
      : await findSkill(request, caller, generation, placeOfSkills(offered, wanted === MANUAL ? undefined : wanted))
    const { name, description, options } = skill
    const execution = wish ?? (options.execution === '' ? 'approve' : options.execution)
    const named = wanted ?? (options.target === '' ? on ?? MANUAL : options.target)
    const target = named === MANUAL ? undefined : offered.targets.get(named)
    if (named !== MANUAL && target === undefined) throw missingTarget(offered, named)
    const maxSteps = Math.min(most ?? options.maxSteps, options.maxSteps)
    const parameters = parametersOf(skill, params)
    const setting: SkillSetting = {
      name,
      description,
      body: (await renderSkill(skill, Object.fromEntries(parameters.map(({ name, value }) => [name, value])), { caller, generation, requestId })).trim(),
      ...await protocolOf(options),
      prompt: prompt.trim(),
      parameters,
      model,
      maxSteps,
      timeout: options.timeout,
      ...placeOf(target, terminal, execution),
      autoContinue,
      wholeCommands: true,
      history: options.history,
      historyMax: options.historyMax
    }
    return {
      ...startWith(SKILL, { skill: setting }),
      definition: `skills/${skill.id}`,
      revision: skill.hash,
      input: {},
      ...(setting.inTerminal === undefined ? {} : { terminal: setting.inTerminal }),
      // The budget counts effects (actions of the session). In each step: a question to the model, a second one if the answer must be repaired, and
      // the commands. In the run: reading the target's knowledge file, and one more question for an API that refuses functions.
      budget: { steps: (options.protocol === 'tools' ? 2 + MAX_CALLS : 3) * maxSteps + 2, tokens: TOKENS, idle: IDLE },
      ask: [],
      // Where another session starts the skill, no command runs unasked but by a rule of the operator.
      commands: { rules: offered.rules, isAuto: execution === 'auto' && recorded === undefined && target?.mayRunUnasked === true }
    }
  }

  async function protocolOf ({ protocol, language }: SkillOptions): Promise<Pick<SkillSetting, 'protocol' | 'base' | 'baseOfCalls' | 'language'>> {
    const { text, tools } = await readPrompts()
    return { protocol, base: text, baseOfCalls: protocol === 'tools' ? tools : '', language: language === '' ? config.DEFAULT_LANGUAGE : language }
  }

  /**
   * The target (the machine) that a request names, with the terminal if it names one.
   * @throws ROLE_MISSING, TERMINAL_NOT_FOUND, TERMINAL_GONE for a terminal that the caller does not own
   */
  async function placeWanted ({ target: asked }: SkillRequest, caller: Caller): Promise<{ readonly wanted: string | undefined, readonly terminal?: string }> {
    const on = asked === undefined ? undefined : await terminals.targetOf(caller, asked)
    return on === undefined ? { wanted: asked } : { wanted: on, terminal: asked as string }
  }

  async function findSkill ({ id, path = '', source }: SkillRequest, caller: Caller, generation: Generation, place: Target | undefined): Promise<FoundSkill> {
    const isForeign = isForeignPath(path)
    const named = path === '' ? id : path
    const registered = isForeign ? undefined : seekDefinition(generation, skillKind, named)
    if (registered !== undefined) return { skill: registered }
    const from = isForeign ? source ?? sourceOfPath(path) : source
    const foreign = place === undefined || from === undefined ? undefined : await foreignSkills.find(place, from, isForeign ? path : id, caller)
    return place === undefined || foreign === undefined ? { skill: findDefinition(generation, skillKind, named) } : { skill: foreign, on: place.name }
  }

  return { name: 'skills', engines: [SKILL], start }
}

/** A skill. If the skill is not registered, `on` is the target (the machine) that has its file. */
interface FoundSkill {
  readonly skill: Pick<SkillDefinition, 'id' | 'name' | 'description' | 'body' | 'isTemplate' | 'options' | 'hash'>
  readonly on?: string
}

/** The settings of a skill that say where its commands run. @param terminal the terminal that the request names */
function placeOf (target: Target | undefined, terminal: string | undefined, execution: Execution): Pick<SkillSetting, 'terminal' | 'target' | 'inTerminal'> {
  const named = terminal ?? target?.name ?? MANUAL
  if (execution === 'manual') return { terminal: named, target: '' }
  return { terminal: named, target: target?.name ?? '', ...(terminal === undefined ? {} : { inTerminal: terminal }) }
}

/** The error for a target (a machine) that the caller is not allowed to use, or that does not exist. */
function missingTarget (offered: OperatorFile, name: string): Error {
  return offered.targets.size === 0 ? targetsNotOffered(name) : unknownTarget(offered, name)
}

/**
 * The parameters of a skill as texts: first those that the skill declares, in its order, then the others in the order of the request.
 * @throws REQUEST_INVALID when a required one is missing
 */
function parametersOf ({ options: { params } }: Pick<SkillDefinition, 'options'>, given: JsonObject): SkillSetting['parameters'] {
  const missing = params.filter(({ name, required }) => required && textOf(given, name).trim() === '').map(({ name }) => name)
  if (missing.length > 0) {
    const names = missing.map(name => `"${name}"`).join(', ')
    throw requestInvalid(`body: params: expected ${names}, which the skill requires`, { part: 'body', missing })
  }
  const declared = params.map(({ name }) => name).filter(name => Object.hasOwn(given, name))
  return [...new Set([...declared, ...Object.keys(given)])].map(name => ({ name, value: textOf(given, name) }))
}

function textOf (given: JsonObject, name: string): string {
  const value: Json = Object.hasOwn(given, name) ? given[name] ?? '' : ''
  return typeof value === 'string' ? value : stringifyJson(value)
}
