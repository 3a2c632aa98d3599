import { type Caller } from '../../../access/caller.ts'
import { operatorFor } from '../../../access/operator-view.ts'
import { requestInvalid, targetNotFound, targetsNotOffered } from '../../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../../base/json.ts'
import { type Config } from '../../../config/config.ts'
import { type OperatorFile, type Target } from '../../../config/operator.ts'
import { MAX_CALLS } from '../../../engine/skill/parse-skill-calls.ts'
import { SKILL, type SkillSetting } from '../../../engine/skill/skill-state.ts'
import { nearMatches } from '../../../registry/diagnostic/near-matches.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { skillKind, type SkillDefinition } from '../../../registry/kinds/skill/skill-kind.ts'
import { type Execution, type SkillOptions } from '../../../registry/kinds/skill/skill-options.ts'
import { startWith } from '../../../session/engine.ts'
import { type Start } from '../../../session/model.ts'
import { findDefinition, seekDefinition } from '../../find-definition.ts'
import { type SkillPrompts } from '../../skill-prompts.ts'
import { type ForeignSkills, placeOfSkills } from '../offers/foreign-skills.ts'
import { type RenderSkill } from './render-skill.ts'
import { type SessionKind, type Starter } from './session-kind.ts'
import { isForeignPath, type SkillSource, sourceOfPath } from '../offers/skill-places.ts'

/** A skill that nobody answers ends after half an hour, in ms. */
const IDLE = 30 * 60_000

/** What one run of a skill may use of models. */
const TOKENS = 1_000_000

/** The target's name for commands that the user runs. */
export const MANUAL = 'manual'

/** How somebody wants a skill to be run. */
export interface SkillRequest {
  /** Dotted, or with `:`; of one that is not registered, its folder. */
  readonly id: string
  /** As a list of skills has it: of the file of one that is not registered, or the id of one that is. It goes before `id`. */
  readonly path?: string | undefined
  /** Where it is looked for on the target when it is not registered. */
  readonly source?: SkillSource | undefined
  readonly params: JsonObject
  /** In place of `Execute skill: …`; empty without. */
  readonly prompt: string
  /** `manual`, an open terminal of the caller's own by its id, or a target. @default the skill's own, else where it stands, else `manual` */
  readonly target?: string | undefined
  /** @default the skill's own, else `approve` */
  readonly execution?: Execution | undefined
  /** From 1; never more than the skill's own. */
  readonly maxSteps?: number | undefined
  /** Whether a message is followed by the next step at once. */
  readonly autoContinue: boolean
  /** In place of id and path: the skill, as it was when somebody else began. */
  readonly found?: FoundSkill['skill'] | undefined
  /** Whether another session starts it: nothing runs there unasked for which the operator has no rule. */
  readonly isChild?: true
}

/** The open terminals of callers. */
export interface TerminalTargets {
  /**
   * The target of a terminal of the caller's own; `undefined` for what can be no id of one.
   * @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TERMINAL_NOT_FOUND, TERMINAL_GONE
   */
  targetOf (caller: Caller, id: string): Promise<string | undefined>
}

/** What a skill is started with, apart from its request. */
export interface SkillKindOptions {
  readonly operator: OperatorFile
  /** Reads what the system prompts begin with. */
  readonly readPrompts: () => Promise<SkillPrompts>
  /** Finds skills that are not registered. */
  readonly foreignSkills: Pick<ForeignSkills, 'find'>
  readonly terminals: TerminalTargets
  /** Empty for the service's default. */
  readonly model: string
  readonly renderSkill: RenderSkill
  /** Has the language of those that say none. */
  readonly config: Pick<Config, 'DEFAULT_LANGUAGE'>
}

/**
 * Runs of skills. A start throws TARGET_NOT_FOUND, TARGETS_NOT_OFFERED, TERMINAL_NOT_FOUND and TERMINAL_GONE beside what every kind does; for a body that is a
 * template, what a render throws.
 */
export function skillSessions ({ operator, readPrompts, foreignSkills, terminals, model, renderSkill, config }: SkillKindOptions): SessionKind<SkillRequest> {
  async function start (request: SkillRequest, { caller, generation, requestId }: Starter): Promise<Omit<Start, 'owner'>> {
    const { params, prompt, execution: wish, maxSteps: most, autoContinue, found, isChild } = request
    const { wanted, terminal } = await placeWanted(request, caller)
    const offered = operatorFor(operator, caller)
    const { skill, on } = found === undefined
      ? await findSkill(request, caller, generation, placeOfSkills(offered, wanted === MANUAL ? undefined : wanted))
      : { skill: found, on: undefined }
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
      history: options.history,
      historyMax: options.historyMax
    }
    return {
      ...startWith(SKILL, { skill: setting }),
      definition: `skills/${skill.id}`,
      revision: skill.hash,
      input: {},
      ...(setting.inTerminal === undefined ? {} : { terminal: setting.inTerminal }),
      // Of each step a question, its repair and its commands; one look for what the target knows, and one refusal of functions.
      budget: { steps: (options.protocol === 'tools' ? 2 + MAX_CALLS : 3) * maxSteps + 2, tokens: TOKENS, idle: IDLE },
      ask: [],
      commands: { rules: offered.rules, isAuto: execution === 'auto' && isChild !== true && target?.mayRunUnasked === true }
    }
  }

  async function protocolOf ({ protocol, language }: SkillOptions): Promise<Pick<SkillSetting, 'protocol' | 'base' | 'baseOfCalls' | 'language'>> {
    const { text, tools } = await readPrompts()
    return { protocol, base: text, baseOfCalls: protocol === 'tools' ? tools : '', language: language === '' ? config.DEFAULT_LANGUAGE : language }
  }

  /** @throws ROLE_MISSING, TERMINAL_NOT_FOUND, TERMINAL_GONE for a terminal that is none of the caller's */
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

/** A skill, and the target that has its file if the skill is not registered. */
interface FoundSkill {
  readonly skill: Pick<SkillDefinition, 'id' | 'name' | 'description' | 'body' | 'isTemplate' | 'options' | 'hash'>
  readonly on?: string
}

/** Where commands run. @param terminal that whoever started it has named */
function placeOf (target: Target | undefined, terminal: string | undefined, execution: Execution): Pick<SkillSetting, 'terminal' | 'target' | 'inTerminal'> {
  const named = terminal ?? target?.name ?? MANUAL
  if (execution === 'manual') return { terminal: named, target: '' }
  return { terminal: named, target: target?.name ?? '', ...(terminal === undefined ? {} : { inTerminal: terminal }) }
}

/** Why there is no such target for a caller. */
function missingTarget ({ targets }: OperatorFile, name: string): Error {
  return targets.size === 0 ? targetsNotOffered(name) : targetNotFound(name, nearMatches(name, targets.keys()))
}

/** All that was given, in the order in which the skill declares them, then in that of the request. */
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
