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
import { findDefinition, seekDefinition } from '../choose-prompt.ts'
import type { RenderSkill, SkillPrompts } from '../skill-prompts.ts'
import { isForeignPath, type Offers, placeOfSkills, type SkillSource, sourceOfPath } from './offers.ts'
import { type SessionKind, type Starter } from './session-kind.ts'

/** In ms: half an hour without an answer. */
const IDLE = 30 * 60_000

/** In all of one run. */
const TOKENS = 1_000_000

export const MANUAL = 'manual'

export interface SkillRequest {
  /** The id of a registered skill, with `.` or `:` between its parts; or the folder of a skill that is not registered. */
  readonly id: string
  /** As a list of skills shows it: a file's path, or a registered id. It takes precedence over `id`. */
  readonly path?: string | undefined
  readonly source?: SkillSource | undefined
  readonly params: JsonObject
  readonly prompt: string
  /** `manual`, a terminal that the caller owns, or a target. @default the skill's own, else the one that has its file, else `manual` */
  readonly target?: string | undefined
  /** @default the skill's own setting, else `approve` */
  readonly execution?: Execution | undefined
  /** From 1; the skill's own limit counts if it is lower. */
  readonly maxSteps?: number | undefined
  /** After a message to the user, the model's next step does not wait for input. */
  readonly autoContinue: boolean
}

export interface SkillKindOptions {
  readonly operator: OperatorFile
  readonly readPrompts: () => Promise<SkillPrompts>
  readonly offers: Pick<Offers, 'find'>
  /** `undefined` if `id` is none. @throws ROLE_MISSING, TARGET_NOT_FOUND, TERMINAL_UNSUPPORTED, TERMINAL_NOT_FOUND, TERMINAL_GONE */
  readonly terminals: { targetOf (caller: Caller, id: string): Promise<string | undefined> }
  readonly model: string
  readonly renderSkill: RenderSkill
  readonly config: Pick<Config, 'DEFAULT_LANGUAGE'>
}

/** Start also throws TARGET_NOT_FOUND, TARGETS_NOT_OFFERED, TERMINAL_NOT_FOUND, TERMINAL_GONE, and a template's errors of a render. */
export function skillSessions ({ operator, readPrompts, offers, terminals, model, renderSkill, config }: SkillKindOptions): SessionKind<SkillRequest> {
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
      terminal: setting.inTerminal,
      // A step: a question, its repair, commands. A run: the knowledge file, and one more question for an API that refuses functions.
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

  /** @throws ROLE_MISSING, TERMINAL_NOT_FOUND, TERMINAL_GONE for a terminal that the caller does not own */
  async function placeWanted ({ target: asked }: SkillRequest, caller: Caller): Promise<{ readonly wanted: string | undefined, readonly terminal?: string }> {
    const on = asked === undefined ? undefined : await terminals.targetOf(caller, asked)
    return on === undefined ? { wanted: asked } : { wanted: on, terminal: asked as string }
  }

  async function findSkill ({ id, path = '', source }: SkillRequest, caller: Caller, generation: Generation, place: Target | undefined) {
    const isForeign = isForeignPath(path)
    const named = path === '' ? id : path
    const registered = isForeign ? undefined : seekDefinition(generation, skillKind, named)
    if (registered !== undefined) return { skill: registered }
    const from = isForeign ? source ?? sourceOfPath(path) : source
    const foreign = place === undefined || from === undefined ? undefined : await offers.find(place, from, isForeign ? path : id, caller)
    return place === undefined || foreign === undefined ? { skill: findDefinition(generation, skillKind, named) } : { skill: foreign, on: place.name }
  }

  return { name: 'skills', engines: [SKILL], start }
}

function placeOf (target: Target | undefined, terminal: string | undefined, execution: Execution): Pick<SkillSetting, 'terminal' | 'target' | 'inTerminal'> {
  const named = terminal ?? target?.name ?? MANUAL
  if (execution === 'manual') return { terminal: named, target: '' }
  return { terminal: named, target: target?.name ?? '', inTerminal: terminal }
}

function missingTarget (offered: OperatorFile, name: string): Error {
  return offered.targets.size === 0 ? targetsNotOffered(name) : unknownTarget(offered, name)
}

/** Declared ones in the skill's order, then the others in the request's. @throws REQUEST_INVALID when a required one is missing */
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
