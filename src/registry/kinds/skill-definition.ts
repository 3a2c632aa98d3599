import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { yamlToJson } from '../../store/decode-value.ts'
import { isObject } from '../../template/value.ts'
import type { Diagnostic } from '../diagnostic.ts'

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

/** Matches the front matter of a text: YAML between two lines of `---` at its beginning. */
const FRONT_MATTER = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/

/** The contents of a SKILL.md: its front matter (the YAML at the top) and its body. */
interface SkillText {
  /** The fields of the front matter, and the rest of the text as `body`. */
  readonly source: JsonObject
  /** The front matter as it stands, with its lines of `---`; empty where there is none. */
  readonly head: string
  /** The reason why the front matter cannot be read; then `source` has only the body. */
  readonly problem?: Diagnostic
}

/** Reads the text of a SKILL.md. It never throws: a text whose front matter cannot be read gives a `problem` and no fields. */
export function readSkillText (text: string): SkillText {
  const [whole = '', yaml = ''] = FRONT_MATTER.exec(text) ?? []
  const body = text.slice(whole.length)
  const without = (problem: Diagnostic): SkillText => ({ source: { body }, head: whole, problem })
  if (whole === '') return without(unusable(text.startsWith('---') ? 'the front matter is not closed' : 'there is no front matter'))
  if (yaml.trim() === '') return without(unusable('the front matter is empty'))
  const read = yamlToJson(yaml)
  if (read.kind !== 'text') {
    // A line of `---` stands above the YAML, so a line number in the YAML is one too low for the whole text.
    const place = read.kind === 'bad' && read.place !== undefined ? { line: read.place.line + 1, column: read.place.column } : {}
    return without({ ...unusable(`the front matter ${read.kind === 'bad' ? read.reason : 'is empty'}`), ...place })
  }
  const fields: Json = parseJson(read.text)
  if (!isObject(fields)) return without(unusable('the front matter is no map of fields'))
  return { source: { ...fields as JsonObject, body }, head: whole }
}

/** The whole text of a SKILL.md, put together from its parts. @param head the front matter as it is stored; empty for a skill that is stored as JSON */
export function wholeSkillText (head: string, { body, ...fields }: JsonObject): string {
  // JSON is valid YAML, so the values can be written as JSON.
  const lines = Object.entries(fields).map(([name, value]) => `${/^[\w-]+$/.test(name) ? name : stringifyJson(name)}: ${stringifyJson(value)}\n`)
  return `${head === '' ? `---\n${lines.join('')}---\n` : head}${String(body)}`
}

function unusable (message: string): Diagnostic {
  return { severity: 'error', code: 'FRONT_MATTER', message, hint: 'begin with ---, name: and description: in YAML, and --- again' }
}
