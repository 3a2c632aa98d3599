import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'

/** How a skill is run, with all its defaults, as plain data: a session keeps it in its log. */
export interface SkillOptions {
  readonly params: readonly SkillParam[]
  /** How much of the dialogue the model is sent. */
  readonly history: 'full' | 'last_n' | 'system_only'
  /** How many messages the model is sent with `last_n`. */
  readonly historyMax: number
  /** Who runs commands, where whoever starts it says nothing else; `''` leaves it to the service. */
  readonly execution: Execution | ''
  /** The operator's target, where the start of the skill names no other; `''` leaves the choice to the service. */
  readonly target: string
  readonly maxSteps: number
  /** How the model says what it wants: by calls of functions, or by texts that begin with a tag. */
  readonly protocol: Protocol
  /** How long a command may run, in seconds. */
  readonly timeout: number
  /** The language of the service's own words; `''` leaves the choice to the service. */
  readonly language: 'en' | 'ru' | ''
}

export type Protocol = 'tools' | 'text'

/** `manual`: the user runs commands. `approve`: the service, each after a person's approval. `auto`: the service. */
export type Execution = 'manual' | 'approve' | 'auto'

/** What whoever starts a skill is asked for. */
export interface SkillParam {
  readonly name: string
  readonly description: string
  readonly required: boolean
}

/** Steps of a skill that says nothing else, and of any skill. */
export const MAX_STEPS = 100

/** How long a command may run unless its skill says so, and at most, in seconds. */
const [TIMEOUT, MAX_TIMEOUT] = [120, 600]

const HISTORY_MODES = ['full', 'last_n', 'system_only'] as const
export const EXECUTIONS = ['manual', 'approve', 'auto'] as const
const PROTOCOLS = ['tools', 'text'] as const
const LANGUAGES = ['en', 'ru'] as const

/**
 * Reads from a skill's fields, or from its `metadata`, how the skill is run. A field with a wrong value gets its default: the same file is
 * written for other programs too, which may use that name for something else.
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

/** A field's value. Only own properties count, because other programs may write a name such as `constructor`. */
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

/** The values of `metadata` are texts, as the Agent Skills specification has it. */
function integerIn (given: Json | undefined, most: number): number | undefined {
  const number = typeof given === 'string' && /^\d{1,4}$/.test(given) ? Number(given) : given
  return typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= most ? number : undefined
}
