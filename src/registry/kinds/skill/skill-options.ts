import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'

/** How a skill is run, with all its defaults filled in. It is plain data, because a session keeps a copy of it in its log. */
export interface SkillOptions {
  readonly params: readonly SkillParam[]
  /** How much of the dialogue the model is sent. */
  readonly history: 'full' | 'last_n' | 'system_only'
  /** How many messages the model is sent with `last_n`. */
  readonly historyMax: number
  /** Who runs the skill's commands, unless the start of the skill says otherwise; `''` leaves the choice to the service. */
  readonly execution: Execution | ''
  /** The name of the operator's target (a machine) on which commands run, unless the start of the skill names another; `''`: the service chooses. */
  readonly target: string
  readonly maxSteps: number
  /** How the model says what the skill does next (run a command, ask the user, end): by calling a function, or by a text with a tag such as `[CMD]`. */
  readonly protocol: Protocol
  /** The longest time that one command is allowed to run, in seconds. */
  readonly timeout: number
  /** The language of the fixed texts that the service writes to the user and to the model; `''` leaves the choice to the service. */
  readonly language: 'en' | 'ru' | ''
}

export type Protocol = 'tools' | 'text'

/** Who runs a skill's commands. `manual`: the user does. `approve`: the service does, each command after a person has approved it. `auto`: the service. */
export type Execution = 'manual' | 'approve' | 'auto'

/** A parameter of a skill. Whoever starts the skill gives its value; without a required one the start is refused. */
export interface SkillParam {
  readonly name: string
  readonly description: string
  readonly required: boolean
}

/** The greatest number of steps of any skill, and the number for a skill that sets none. */
export const MAX_STEPS = 100

/** The longest time that a command is allowed to run, in seconds: for a skill that sets none, and the most that a skill can set. */
const [TIMEOUT, MAX_TIMEOUT] = [120, 600]

const HISTORY_MODES = ['full', 'last_n', 'system_only'] as const
export const EXECUTIONS = ['manual', 'approve', 'auto'] as const
const PROTOCOLS = ['tools', 'text'] as const
const LANGUAGES = ['en', 'ru'] as const

/**
 * Reads how a skill is run from its fields, or from the fields of its `metadata`. A field with a wrong value gets its default, because the file is
 * perhaps written for other programs, which use the field's name for something else.
 */
export function readSkillOptions (source: JsonObject): SkillOptions {
  const metadata = fieldOf(source, 'metadata')
  const read = (name: string): Json | undefined => fieldOf(source, name) ?? (isJsonObject(metadata) ? fieldOf(metadata, name) : undefined)
  const target = read('target')
  return {
    params: readParams(read('params')),
    history: oneOf(HISTORY_MODES, read('history_mode')) ?? 'full',
    historyMax: integerIn(read('history_max'), 200) ?? 10,
    execution: oneOf(EXECUTIONS, read('execution')) ?? '',
    target: typeof target === 'string' ? target : '',
    maxSteps: integerIn(read('maxSteps'), MAX_STEPS) ?? MAX_STEPS,
    protocol: oneOf(PROTOCOLS, read('protocol')) ?? 'tools',
    timeout: integerIn(read('timeout'), MAX_TIMEOUT) ?? TIMEOUT,
    language: oneOf(LANGUAGES, read('language')) ?? ''
  }
}

/**
 * The value of a field of a skill; `undefined` when the skill lacks the field. Only own properties count, because the name of a field can be
 * `constructor`, which every object inherits.
 */
function fieldOf (source: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(source, name) ? source[name] : undefined
}

function readParams (given: Json | undefined): SkillParam[] {
  if (!Array.isArray(given)) return []
  return given.flatMap((each: Json) => {
    if (!isJsonObject(each)) return []
    const { name, description, required } = each
    if (typeof name !== 'string' || name === '') return []
    return [{ name, description: typeof description === 'string' ? description : '', required: required === true }]
  })
}

function oneOf<T extends string> (allowed: readonly T[], given: Json | undefined): T | undefined {
  return allowed.find(each => each === given)
}

/**
 * An integer from 1 to `most`, or `undefined`. A text with digits is accepted, too, since the Agent Skills specification says that all values of
 * `metadata` are texts.
 */
function integerIn (given: Json | undefined, most: number): number | undefined {
  const number = typeof given === 'string' && /^\d{1,4}$/.test(given) ? Number(given) : given
  return typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= most ? number : undefined
}
